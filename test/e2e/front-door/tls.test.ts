// TLS on HTTP, over both listeners, with curl and openssl: certificates, versions, ALPN, mutual
// TLS, files reloaded while connections stay, and bytes that are not TLS.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, Agent } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { after, before, it } from 'node:test';
import { Certificates, type Pair } from '../support/certificates.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const LIVE = '/v2/health/live';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const PREDICT = '/v1/models/half_plus_three:predict';

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.on('error', () => undefined); // the child need not read it
    child.stdin?.end(input);
  });
}

/** Sends bytes on this connection; returns the first line of the response. */
function asked(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (data: Buffer) =>
      resolve(data.toString('latin1').split('\r\n', 1)[0] ?? ''),
    );
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed without an answer')));
    socket.write(`GET ${LIVE} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}

function opened(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ...options });
    socket.once('error', reject);
    socket.once('secureConnect', () => resolve(socket));
  });
}

overListeners('TLS on HTTP', (flags, kind) => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const { authority } = certificates;
  const ca = readFileSync(authority.certificate);
  const served = certificates.signed('first', authority);
  const servers: ServalProcess[] = [];
  let models = '';
  let server: ServalProcess;
  let port = 0;

  const started = async (...more: readonly string[]): Promise<ServalProcess> => {
    const one = await startServer([models, '--exec-mode', 'inline', ...more]);
    servers.push(one);
    return one;
  };
  const files = ({ certificate, key }: Pair): readonly string[] => [
    ...['--tls-cert', certificate],
    ...['--tls-key', key],
  ];
  const curl = (at: number, ...args: readonly string[]): Promise<Ran> =>
    run('curl', [
      ...['--silent', '--show-error', '--cacert', authority.certificate],
      ...[...args, `https://127.0.0.1:${at}${LIVE}`],
    ]);
  const client = (at: number, ...args: readonly string[]): Promise<Ran> =>
    run(
      'openssl',
      ['s_client', '-connect', `127.0.0.1:${at}`, '-CAfile', authority.certificate, ...args],
      'Q\n',
    );
  /** The name in the certificate that new connections get. */
  const nameShown = async (): Promise<string> => {
    const socket = await opened(port, { ca });
    const { CN = '' } = socket.getPeerCertificate().subject;
    socket.destroy();
    return String(CN);
  };

  before(async () => {
    models = folders.repository('tls', ['half_plus_three', 'identity_fp32']);
    server = await started(...files(served), ...flags);
    port = server.httpPort;
  });
  after(async () => {
    await Promise.all(servers.map((one) => one.stop()));
    folders.remove();
    certificates.remove();
  });

  it('answers curl, which checks the certificate', async () => {
    const good = await curl(port, '--http1.1');
    assert.deepEqual([good.code, good.stdout], [0, '{"live":true}'], good.stderr);
    const offersH2 = await curl(port, '--http2');
    assert.deepEqual([offersH2.code, offersH2.stdout], [0, '{"live":true}'], offersH2.stderr);
    const url = `https://127.0.0.1:${port}${PREDICT}`;
    const ca = ['--silent', '--cacert', authority.certificate];
    const predicted = await run('curl', [...ca, '--data-binary', ROWS, url]);
    assert.deepEqual(JSON.parse(predicted.stdout), { predictions: [3.5, 4, 5.5] });
  });

  it('is not trusted where another authority is asked for', async () => {
    const { certificate } = certificates.stranger;
    const bad = await run('curl', [
      '--silent',
      '--cacert',
      certificate,
      `https://127.0.0.1:${port}/v2`,
    ]);
    assert.equal(bad.code, 60); // CURLE_PEER_FAILED_VERIFICATION
  });

  it('carries large bodies both ways', async () => {
    const tensor = Buffer.from(Float32Array.from({ length: 1_000_000 }, (_, i) => i).buffer);
    const json = Buffer.from(
      JSON.stringify({
        inputs: [
          {
            name: 'input',
            datatype: 'FP32',
            shape: [1, 1_000_000],
            parameters: { binary_data_size: tensor.length },
          },
        ],
        outputs: [{ name: 'output', parameters: { binary_data: true } }],
      }),
    );
    const agent = new Agent({ ca, keepAlive: true });
    for (let i = 0; i < 3; i += 1) {
      const answer = await new Promise<Buffer>((resolve, reject) => {
        const parts: Buffer[] = [];
        const asking = request(
          {
            ...{ host: '127.0.0.1', port, agent, method: 'POST' },
            path: '/v2/models/identity_fp32/infer',
            headers: {
              'Content-Length': json.length + tensor.length,
              'Inference-Header-Content-Length': json.length,
            },
          },
          (response) => {
            response.on('data', (part: Buffer) => parts.push(part));
            response.on('end', () => resolve(Buffer.concat(parts)));
          },
        );
        asking.once('error', reject);
        asking.end(Buffer.concat([json, tensor]));
      });
      assert.ok(answer.subarray(-tensor.length).equals(tensor));
    }
    agent.destroy();
  });

  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    for (const version of ['1.2', '1.3']) {
      const { stdout } = await client(port, `-tls${version.replace('.', '_')}`);
      assert.match(stdout, new RegExp(`New, TLSv${version}, `));
      assert.match(stdout, /Verify return code: 0 \(ok\)/);
    }
    const old = await client(port, '-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0');
    assert.match(old.stdout, /New, \(NONE\)/);
  });

  it('agrees on a protocol that is offered', {
    skip: kind === 'uws' && 'it has no ALPN',
  }, async () => {
    for (const [offered, agreed] of [
      ['http/1.1', 'http/1.1'],
      ['h2', 'h2'],
      ['h2,http/1.1', 'h2'],
    ] as const) {
      const { stdout } = await client(port, '-alpn', offered);
      assert.ok(stdout.includes(`ALPN protocol: ${agreed}\n`), offered);
    }
    const none = await client(port, '-alpn', 'smtp');
    assert.doesNotMatch(none.stdout, /ALPN protocol:/);
  });

  it('survives connections that are not TLS, or end in the middle', async () => {
    for (const bytes of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', '\x16\x03\x01\x02\x00\x01', '']) {
      await new Promise<void>((resolve) => {
        const socket = connectPlain(port, '127.0.0.1', () => {
          socket.write(bytes, () => socket.destroy());
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
      });
    }
    assert.equal((await curl(port)).stdout, '{"live":true}');
  });

  it('applies new files when they change and on SIGHUP, and drops no connection', async () => {
    const socket = await opened(port, { ca });
    assert.equal(await asked(socket), 'HTTP/1.1 200 OK');
    assert.equal(await nameShown(), 'first');
    certificates.replace(served, certificates.signed('second', authority));
    const read = 'HTTP certificates reloaded';
    await server.printed(({ stderr }) => stderr.includes(read));
    // A connection at the very moment of the port's handover may be reset.
    const shown = await nameShown().catch(() => nameShown());
    assert.equal(shown, 'second');
    assert.equal(await asked(socket), 'HTTP/1.1 200 OK');
    server.signal('SIGHUP');
    await server.printed(({ stderr }) => stderr.split(read).length > 2);
    assert.equal(await asked(socket), 'HTTP/1.1 200 OK');
    assert.equal(await nameShown(), 'second');
    socket.destroy();
  });

  it('keeps the current certificate if new files are invalid, and says why', async () => {
    const socket = await opened(port, { ca });
    writeFileSync(served.key, 'no key');
    const problem = `HTTP cannot use TLS: key file ${served.key}`;
    await server.printed(({ stderr }) => stderr.includes(problem));
    assert.equal(await asked(socket), 'HTTP/1.1 200 OK');
    assert.equal(await nameShown(), 'second');
    certificates.replace(served, certificates.signed('third', authority));
    // A connection at the very moment of the port's handover may be reset.
    const name = (): Promise<boolean> =>
      nameShown().then(
        (shown) => shown === 'third',
        () => false,
      );
    const until = Date.now() + 60_000;
    while (!(await name())) assert.ok(Date.now() < until, 'the third certificate never came');
    assert.equal(await asked(socket), 'HTTP/1.1 200 OK');
    socket.destroy();
  });

  it('asks clients for certificates where it has to, on the addon alone', async () => {
    const mutual = [...files(certificates.server), '--tls-client-ca', authority.certificate];
    if (kind === 'uws') {
      const { code, stderr } = await runServal(['serve', models, ...mutual, ...flags]);
      assert.equal(code, 1);
      assert.match(stderr, /--http-listener: expected native with client certificates/);
    }
    const { httpPort } = await started(...mutual, ...(kind === 'uws' ? [] : flags));
    assert.notEqual((await curl(httpPort)).code, 0);
    const { client: known, stranger } = certificates;
    const shows = ({ certificate, key }: Pair) => ['--cert', certificate, '--key', key];
    assert.notEqual((await curl(httpPort, ...shows(stranger))).code, 0);
    assert.equal((await curl(httpPort, ...shows(known))).stdout, '{"live":true}');
  });

  it('takes TLS 1.3 only where it has to, on the addon alone', async () => {
    const least = [...files(certificates.server), '--tls-min-version', '1.3'];
    const { httpPort, grpcPort } = await started(...least, ...(kind === 'uws' ? [] : flags));
    for (const at of [httpPort, grpcPort]) {
      assert.match((await client(at, '-tls1_3', '-alpn', 'h2,http/1.1')).stdout, /New, TLSv1\.3, /);
      assert.match((await client(at, '-tls1_2')).stdout, /New, \(NONE\)/);
    }
  });

  it('comes from TensorFlow Serving files too, and can be left out', async () => {
    const pem = (path: string): string => JSON.stringify(readFileSync(path, 'utf8'));
    const { certificate, key } = certificates.server;
    const file = join(certificates.folder, 'ssl.config');
    writeFileSync(file, `server_key: ${pem(key)}\nserver_cert: ${pem(certificate)}\n`);
    const both = await started('--ssl_config_file', file, ...flags);
    assert.equal((await curl(both.httpPort)).stdout, '{"live":true}');
    assert.match((await client(both.grpcPort, '-alpn', 'h2')).stdout, /ALPN protocol: h2/);
    const plain = await started('--ssl_config_file', file, '--http-use-ssl=false', ...flags);
    const answer = await run('curl', ['--silent', `http://127.0.0.1:${plain.httpPort}${LIVE}`]);
    assert.equal(answer.stdout, '{"live":true}');
  });

  it('refuses to start with files that are no good', async () => {
    const { server: good, client: other } = certificates;
    for (const [args, problem] of [
      [['--tls-cert', good.certificate], /--tls-cert: expected --tls-key FILE with it/],
      [['--tls-key', good.key], /--tls-key: expected --tls-cert FILE with it/],
      [files({ ...good, key: other.key }), /(HTTP|gRPC) cannot use TLS: key file .*client\.key: /],
      [
        files({ ...good, certificate: '/no/file' }),
        /certificate file \/no\/file: (ENOENT|No such file)/,
      ],
      [['--tls-min-version', '1.3'], /--tls-min-version: expected --tls-cert/],
    ] as const) {
      const ended = await runServal([
        'serve',
        models,
        '--http-port',
        '0',
        '--grpc-port',
        '0',
        ...args,
        ...flags,
      ]);
      assert.notEqual(ended.code, 0);
      assert.match(ended.stderr, problem);
    }
  });
});
