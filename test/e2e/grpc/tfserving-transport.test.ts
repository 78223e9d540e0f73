// TensorFlow Serving's stubs, unmodified, over TLS of --ssl_config_file and over the unix socket of
// --grpc_socket_path: test/e2e/python/transport/test_tf_transport.py, over each listener. Source:
// tfserving.md 3.8.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Certificates } from '../support/certificates.js';
import { ModelFolders } from '../support/model-folders.js';
import { findTensorFlowPython, runPythonSuite } from '../support/python-suites.js';
import { startServer } from '../support/serval-process.js';

describe("TensorFlow Serving's stubs", () => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const { python, missing } = findTensorFlowPython();
  const skip = missing !== '' && missing;
  let models = '';
  before(() => {
    models = folders.repository('transport', ['half_plus_three']);
  });
  after(() => {
    folders.remove();
    certificates.remove();
  });

  /** A text proto that contains the PEM text. */
  const sslConfig = (isMutual: boolean): string => {
    const { server, authority } = certificates;
    const field = (name: string, path: string): string =>
      `${name}: ${JSON.stringify(readFileSync(path, 'utf8'))}\n`;
    const file = join(certificates.folder, `ssl-${isMutual}.config`);
    const own = field('server_key', server.key) + field('server_cert', server.certificate);
    const ca = field('custom_ca', authority.certificate);
    writeFileSync(file, isMutual ? `${own}${ca}client_verify: true\n` : own);
    return file;
  };
  const local = (name: string): string => join(certificates.folder, `${name}.socket`);
  /** Class of test_tf_transport.py -> the flags of its server. */
  const servers: Readonly<Record<string, () => readonly string[]>> = {
    Tls: () => [`--ssl_config_file=${sslConfig(false)}`],
    Mutual: () => [`--ssl_config_file=${sslConfig(true)}`],
    Unix: () => [
      `--grpc_socket_path=${local('Unix')}`,
      '--grpc_channel_arguments=grpc.max_concurrent_streams=100,grpc.keepalive_time_ms=10000',
    ],
    UnixTls: () => [
      `--grpc_socket_path=${local('UnixTls')}`,
      `--ssl_config_file=${sslConfig(false)}`,
    ],
  };

  // One process for all, because loading TensorFlow takes seconds.
  it('over TLS and unix sockets', { skip }, async (context) => {
    const addresses: Record<string, string> = {};
    const started = await Promise.all(
      Object.entries(servers).map(async ([name, args]) => {
        const server = await startServer([models, ...args()]);
        context.after(() => server.stop());
        const tcp = `127.0.0.1:${server.grpcPort}`;
        const isUnix = name.startsWith('Unix');
        addresses[name] = isUnix ? `unix:${local(name)}` : tcp;
        if (isUnix) addresses[`${name}sTcp`] = tcp;
        return server;
      }),
    );
    const [first] = started;
    assert.ok(first);
    await runPythonSuite(context, python, 'transport.test_tf_transport', first, {
      SERVAL_SERVERS: JSON.stringify(addresses),
      SERVAL_TLS: certificates.folder,
      TF_CPP_MIN_LOG_LEVEL: '3',
    });
    for (const server of started) assert.ok(server.running, server.stderr);
  });
});
