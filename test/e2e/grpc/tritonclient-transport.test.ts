// tritonclient's gRPC clients, unmodified, over what gRPC can be carried by: TLS, certificates of
// clients, certificates that change, unix sockets, connections that are pinged and retired. Every
// test of test/e2e/python/transport is a test here, over each listener.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Certificates } from '../support/certificates.js';
import { ModelFolders } from '../support/model-folders.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { startServer } from '../support/serval-process.js';

/** Class of test_connections.py -> the flags of its server. */
const CONNECTIONS: Readonly<Record<string, readonly string[]>> = {
  Pings: [
    ...['--grpc-keepalive-permit-without-calls', 'true'],
    ...['--grpc-http2-min-recv-ping-interval-without-data', '10'],
  ],
  Strikes: ['--grpc-http2-max-ping-strikes', '1'],
  ServerPings: [
    ...['--grpc-keepalive-time', '100', '--grpc-http2-max-pings-without-data', '0'],
    ...['--grpc-keepalive-permit-without-calls', 'true'],
  ],
  Ages: ['--grpc-max-connection-age', '200'],
  Packed: ['--grpc-infer-response-compression-level', 'high'],
};
const HANDSHAKE_FAILED =
  /"a TLS handshake with a gRPC client failed","peer":"127\.0\.0\.1:\d+","reason":"[^"]+"/;

describe('tritonclient', () => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const { python, missing } = findPython();
  const skip = missing !== '' && missing;
  let models = '';
  before(() => {
    models = folders.repository('transport', ['half_plus_three', 'identity_fp32']);
  });
  after(() => {
    folders.remove();
    certificates.remove();
  });

  const { authority, server: own } = certificates;
  const files = (pair = own): readonly string[] => [
    ...['--grpc-server-cert', pair.certificate, '--grpc-server-key', pair.key],
  ];
  const secured = { SERVAL_TLS: certificates.folder };
  const suite = (
    name: string,
    module: string,
    args: () => readonly string[],
    env: NodeJS.ProcessEnv,
    ...logged: readonly RegExp[]
  ): void => {
    it(name, { skip }, async (context) => {
      const server = await startServer([models, ...args()]);
      context.after(() => server.stop());
      const { pid } = server.ready ?? {};
      await runPythonSuite(context, python, module, server, { ...env, SERVAL_PID: String(pid) });
      assert.ok(server.running, server.stderr);
      for (const line of logged) assert.match(server.stderr, line);
    });
  };

  suite(
    'over TLS',
    'transport.test_tls',
    () => ['--grpc-use-ssl=true', ...files()],
    secured,
    HANDSHAKE_FAILED,
  );
  suite(
    'with certificates of its own',
    'transport.test_mutual_tls',
    () => ['--grpc-use-ssl-mutual=true', ...files(), '--grpc-root-cert', authority.certificate],
    secured,
    HANDSHAKE_FAILED,
  );
  suite(
    'while certificates change',
    'transport.test_certificates',
    () => ['--grpc-use-ssl=true', ...files(certificates.copied(own, 'live'))],
    secured,
    /"message":"gRPC certificates reloaded"/,
    /"level":"error".*"failed to reload gRPC certificates".*live\.key/,
  );
  const path = join(certificates.folder, 'grpc.socket');
  suite('over a unix socket', 'transport.test_sockets', () => ['--grpc-socket-path', path], {
    SERVAL_UNIX: path,
    SERVAL_PYTHON_TESTS: 'Plain.',
  });
  suite(
    'over a unix socket with TLS',
    'transport.test_sockets',
    () => ['--grpc-socket-path', path, '--grpc-use-ssl=true', ...files()],
    { ...secured, SERVAL_UNIX: path, SERVAL_PYTHON_TESTS: 'Secured.' },
  );
  for (const [name, args] of Object.entries(CONNECTIONS)) {
    const only = { SERVAL_PYTHON_TESTS: `.${name}.` };
    suite(`with the flags of ${name}`, 'transport.test_connections', () => args, only);
  }
});
