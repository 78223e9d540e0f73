// The client of the package against a real server on bad days: aborts, deadlines, restarts, keys,
// TLS, unix sockets, and a process that ends by itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../../ts/base/package-files.js';
import { ClientError, GrpcClient, V2Client } from '../../../ts/client/client.js';
import { Certificates } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders, slowModel } from '../support/model-folders.js';
import { DEADLINE_MS, ServalProcess, startServer } from '../support/serval-process.js';

const run = promisify(execFile);
const SLOW = { input: Float32Array.of(1) };
/** Less than the model needs. */
const SLOW_MS = 8_000;

describe('serval/client on bad days', () => {
  const folders = new ModelFolders();
  let repository = '';
  let server: ServalProcess;
  let clients: readonly (V2Client | GrpcClient)[] = [];

  const both = ({ httpPort, grpcPort }: ServalProcess) =>
    [
      new V2Client(`http://127.0.0.1:${httpPort}`),
      new GrpcClient(`grpc://127.0.0.1:${grpcPort}`),
    ] as const;

  before(async () => {
    repository = folders.repository('transport', ['half_plus_three']);
    folders.add(repository, 'slow', slowModel(512, 2000));
    server = await startServer(['--model-repository', repository]);
    clients = both(server);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('ends at the deadline and by the signal, and the connection stays usable', async () => {
    for (const client of clients) {
      const before = performance.now();
      const late = client.infer('slow', SLOW, { timeoutMs: 150 });
      await assert.rejects(late, { code: 'DEADLINE_EXCEEDED' });
      const abort = new AbortController();
      const ended = client.infer('slow', SLOW, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error('enough')), 100);
      await assert.rejects(ended, (error: ClientError) => {
        assert.equal(error.code, 'CANCELLED');
        return (error.cause as Error).message === 'enough';
      });
      assert.ok(performance.now() - before < SLOW_MS, 'neither waits for the model');
      const aborted = client.infer('half_plus_three', { x: [1] }, { signal: abort.signal });
      await assert.rejects(aborted, { code: 'CANCELLED' });
      const { outputs } = await client.infer('half_plus_three', { x: [1] });
      assert.equal(outputs['y']?.data[0], 3.5);
    }
  });

  it('cancels a stream at its deadline and by its signal', async () => {
    const client = clients[1] as GrpcClient;
    const requests = [{ model: 'slow', inputs: SLOW }];
    const read = async (options: { timeoutMs?: number; signal?: AbortSignal }) => {
      for await (const { model } of client.streamInfer(requests, options)) assert.ok(model);
    };
    await assert.rejects(read({ timeoutMs: 150 }), { code: 'DEADLINE_EXCEEDED' });
    await assert.rejects(read({ signal: AbortSignal.timeout(100) }), { code: 'CANCELLED' });
  });

  it('repeats calls while a server restarts', async () => {
    const [httpPort, grpcPort] = [await freePort(), await freePort()];
    const args = ['serve', '--model-repository', repository, '--host', '127.0.0.1'];
    args.push('--http-port', String(httpPort), '--grpc-port', String(grpcPort));
    args.push('--log-format', 'json');
    const start = async () => {
      const started = new ServalProcess(args);
      await started.printed(({ stdout }) => stdout.includes('\n'));
      return started;
    };
    const retries = { attempts: 1000, initialMs: 50, maxMs: 200, budget: 10_000 };
    const rest = new V2Client(`http://127.0.0.1:${httpPort}`, { retries });
    const grpc = new GrpcClient(`grpc://127.0.0.1:${grpcPort}`, { retries });
    const warnings: Error[] = [];
    process.on('warning', (warning) => warnings.push(warning));
    const call = async (client: V2Client | GrpcClient) => {
      const { outputs } = await client.infer('half_plus_three', { x: [1] });
      assert.equal(outputs['y']?.data[0], 3.5);
    };
    let first = await start();
    try {
      await Promise.all([call(rest), call(grpc)]);
      await first.stop();
      const once = { retries: { attempts: 1 } };
      for (const client of [rest, grpc]) {
        await assert.rejects(
          client.infer('half_plus_three', { x: [1] }, once),
          (error: ClientError) => {
            assert.equal(error.attempts, 1);
            return error.code === 'UNAVAILABLE' && /no response/.test(error.message);
          },
        );
      }
      const waiting = [call(rest), call(grpc)];
      first = await start();
      await Promise.all(waiting);
      assert.deepEqual(warnings, []);
    } finally {
      grpc.close();
      await first.stop();
    }
  });

  it('sends keys, and trusts a given authority over TLS', async () => {
    const certificates = new Certificates();
    const { stdout, stderr } = await run(process.execPath, [
      join(packageRoot(), 'bin', 'serval.mjs'),
      ...['key', 'tester', 'inference,metadata'],
    ]);
    const keys = join(certificates.folder, 'keys');
    writeFileSync(keys, stdout);
    const apiKey = stderr.trim().split(' ').at(-1) ?? '';
    const { certificate, key } = certificates.server;
    const secured = await startServer([
      ...['--model-repository', repository, '--api-key-file', keys],
      ...['--tls-cert', certificate, '--tls-key', key],
      ...['--grpc-use-ssl=true', '--grpc-server-cert', certificate, '--grpc-server-key', key],
    ]);
    try {
      const tls = { ca: readFileSync(certificates.authority.certificate) };
      const [http, grpc] = [
        `https://127.0.0.1:${secured.httpPort}`,
        `grpcs://127.0.0.1:${secured.grpcPort}`,
      ];
      const once = { retries: { attempts: 1 } };
      for (const client of [
        new V2Client(http, { tls, apiKey }),
        new GrpcClient(grpc, { tls, apiKey }),
      ]) {
        const { outputs } = await client.infer('half_plus_three', { x: [1] });
        assert.equal(outputs['y']?.data[0], 3.5);
      }
      for (const client of [new V2Client(http, { tls }), new GrpcClient(grpc, { tls })]) {
        await assert.rejects(client.infer('half_plus_three', { x: [1] }), {
          code: 'UNAUTHENTICATED',
        });
      }
      for (const client of [new V2Client(http, once), new GrpcClient(grpc, once)]) {
        await assert.rejects(client.infer('half_plus_three', { x: [1] }), (error: ClientError) => {
          return error.code === 'UNAVAILABLE' && /certificate/.test(error.message);
        });
      }
    } finally {
      await secured.stop();
      certificates.remove();
    }
  });

  it('waits as long as Retry-After says, and then repeats', async () => {
    const times: number[] = [];
    const proxy = createServer((request, reply) => {
      request.resume();
      times.push(performance.now());
      if (times.length === 1)
        reply.writeHead(429, { 'retry-after': '1' }).end('{"error":"slow down"}');
      else reply.end('{"name":"proxy","version":"1","extensions":[]}');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as AddressInfo;
      const client = new V2Client(`http://127.0.0.1:${port}`);
      assert.equal((await client.serverMetadata()).name, 'proxy');
      assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 990, times.join());
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('reports a server that speaks neither protocol', async () => {
    const other = createServer((request, reply) => {
      request.resume();
      reply.end('<html>');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = other.address() as AddressInfo;
      const rest = new V2Client(`http://127.0.0.1:${port}`);
      await assert.rejects(rest.infer('m', { x: [1] }), {
        code: 'INTERNAL',
        message: /expected JSON, got "<html>"/,
      });
      const grpc = new GrpcClient(`127.0.0.1:${port}`, { retries: { attempts: 1 } });
      await assert.rejects(grpc.infer('m', { x: [1] }), { code: 'UNAVAILABLE' });
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });

  it('closes a connection whose pings are not answered, and connects again', async () => {
    let isSilent = false;
    const proxy = createTcpServer((socket) => {
      const upstream = connect(server.grpcPort, '127.0.0.1');
      for (const [from, to] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        from.on('data', (bytes) => {
          if (!isSilent) to.write(bytes);
        });
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const keepalive = { intervalMs: 100, timeoutMs: 300 };
    const client = new GrpcClient(`127.0.0.1:${port}`, { keepalive, retries: { attempts: 1 } });
    const call = () => client.infer('half_plus_three', { x: [1] });
    try {
      await call();
      isSilent = true;
      await assert.rejects(call(), {
        code: 'UNAVAILABLE',
        message: /no response: no response to a ping in 300 ms/,
      });
      isSilent = false;
      assert.equal((await call()).outputs['y']?.data[0], 3.5);
    } finally {
      client.close();
      proxy.close();
    }
  });

  it('does not keep a finished program running', async () => {
    const module = pathToFileURL(join(packageRoot(), 'dist', 'bundle', 'client.js')).href;
    const code = `import { GrpcClient, V2Client } from '${module}';
      const grpc = new GrpcClient('grpc://127.0.0.1:${server.grpcPort}', { keepalive: { intervalMs: 50 } });
      const rest = new V2Client('http://127.0.0.1:${server.httpPort}', { keepAliveMs: 60_000 });
      for (const client of [grpc, rest]) {
        const { outputs } = await client.infer('half_plus_three', { x: [1] });
        process.stdout.write(outputs.y.data[0] + '\\n');
      }`;
    const args = ['--input-type=module', '-e', code];
    const { stdout } = await run(process.execPath, args, { timeout: DEADLINE_MS });
    assert.equal(stdout, '3.5\n3.5\n');
  });
});
