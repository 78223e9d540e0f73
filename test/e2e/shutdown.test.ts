// The end of the server: the first signal drains, the second one ends it at once.
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { after, before, it, type TestContext } from 'node:test';
import { RawClient, encode, messageTypes } from '../unit/protocols/raw-client.js';
import { overListeners } from './support/http-listeners.js';
import { ModelFolders, slowModel } from './support/model-folders.js';
import { RawConnection, errorOf, exchange, jsonOf, requestBytes } from './support/raw-http.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const SLOW = '/v2/models/slow_second/infer';
const ENDLESS = '/v2/models/endless/infer';
const ONE = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1],"data":[7]}]}';
const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const types = messageTypes();

const grpcRequest = (model: string): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    inputs: [{ name: 'input', datatype: 'FP32', shape: [1], contents: { fp32_contents: [7] } }],
  });

/** Settles with true when the port accepts no more connections. */
async function refuses(port: number): Promise<boolean> {
  for (;;) {
    const refused = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.once('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code === 'ECONNREFUSED');
      });
      socket.once('connect', () => {
        socket.destroy();
        resolve(false);
      });
    });
    if (refused) return true;
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

overListeners('shutdown', (flags) => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('shutdown', ['half_plus_three', 'identity_fp32']);
    folders.add(models, 'slow_second', slowModel(1024, 12));
    folders.add(models, 'endless', slowModel(2048, 1000));
  });
  after(() => folders.remove());

  const started = async (context: TestContext, ...args: string[]): Promise<ServalProcess> => {
    const server = await startServer([models, ...flags, ...args]);
    context.after(() => server.stop());
    return server;
  };

  /** A connection on which this request runs: the model has begun, or waits for its thread. */
  const running = async (server: ServalProcess, path: string): Promise<RawConnection> => {
    const connection = await RawConnection.open(server.httpPort);
    await connection.write(requestBytes('POST', path, ONE));
    // It follows on the same listener: everything sent before has been read.
    await exchange(server.httpPort, 'GET', '/v2/health/live');
    return connection;
  };

  it('finishes running requests, refuses new ones, exits 0', async (context) => {
    const server = await started(context);
    const waiting = await Promise.all(Array.from({ length: 4 }, () => running(server, SLOW)));
    const idle = await RawConnection.open(server.httpPort);
    server.signal('SIGTERM');
    assert.ok(await refuses(server.httpPort));
    assert.ok(await refuses(server.grpcPort));
    for (const connection of waiting) {
      const response = await connection.response();
      assert.equal(response.status, 200);
      const { outputs } = jsonOf(response) as { outputs: [{ data: number[] }] };
      assert.deepEqual(outputs[0].data, [7]);
      assert.equal(await connection.rest(), '');
    }
    assert.equal(await idle.rest(), '');
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  it('says that it is not ready to those who are still connected', async (context) => {
    const server = await started(context);
    const waiting = await running(server, SLOW);
    const kept = await RawConnection.open(server.httpPort);
    await kept.write(requestBytes('GET', '/v2/health/ready'));
    assert.deepEqual(jsonOf(await kept.response()), { ready: true });
    server.signal('SIGTERM');
    assert.ok(await refuses(server.httpPort));
    await kept.write(requestBytes('GET', '/v2/health/ready'));
    const response = await kept.response();
    assert.equal(response.status, 400);
    assert.deepEqual(jsonOf(response), { ready: false, error: 'the server is shutting down' });
    assert.equal(await kept.rest(), '');
    assert.equal((await waiting.response()).status, 200);
    assert.equal((await server.ended).code, 0);
  });

  it('sends an answer that is on its way to its end', async (context) => {
    const server = await started(context);
    const values = new Float32Array(4_000_000).fill(1.25);
    const bytes = Buffer.from(values.buffer);
    const json = Buffer.from(
      JSON.stringify({
        inputs: [
          {
            name: 'input',
            datatype: 'FP32',
            shape: [1, values.length],
            parameters: { binary_data_size: bytes.length },
          },
        ],
        parameters: { binary_data_output: true },
      }),
    );
    const connection = await RawConnection.open(server.httpPort);
    await connection.write(
      requestBytes('POST', '/v2/models/identity_fp32/infer', Buffer.concat([json, bytes]), [
        `Inference-Header-Content-Length: ${json.length}`,
      ]),
    );
    await new Promise((resolve) => connection.socket.once('data', resolve));
    connection.socket.pause();
    server.signal('SIGTERM');
    assert.ok(await refuses(server.httpPort));
    connection.socket.resume();
    const response = await connection.response();
    const length = Number(response.headers.get('inference-header-content-length'));
    assert.ok(response.body.subarray(length).equals(bytes));
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  it('finishes gRPC calls and streams, and refuses new ones as SHUTTING_DOWN', async (context) => {
    const server = await started(context);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const stream = client.stream(STREAM);
    stream.call.write(grpcRequest('identity_fp32'));
    await stream.reply(0);
    const call = client.unary(INFER, grpcRequest('slow_second'));
    stream.call.write(grpcRequest('slow_second'));
    // It follows both on their connection.
    const live = '/inference.GRPCInferenceService/ServerLive';
    assert.equal((await client.unary(live, Buffer.alloc(0))).code, 0);
    server.signal('SIGTERM');
    assert.ok(await refuses(server.grpcPort));
    assert.equal((await call).code, 0);
    assert.ok((await stream.reply(1)).length > 0);
    const { code, details } = await stream.ended;
    assert.deepEqual([code, details], [14, 'the server is shutting down']);
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    it(`exits at once with ${code} on a second ${signal}, whatever runs`, async (context) => {
      const server = await started(context, '--drain-seconds', '3600');
      const client = new RawClient(server.grpcPort);
      context.after(() => client.close());
      const waiting = await running(server, ENDLESS);
      const call = client.unary(INFER, grpcRequest('endless'));
      server.signal(signal);
      assert.ok(await refuses(server.httpPort));
      assert.ok(server.running);
      server.signal(signal);
      assert.deepEqual(await server.ended, { code, signal: null });
      assert.equal(await waiting.rest(), '');
      assert.notEqual((await call).code, 0);
    });
  }

  it('reports the calls that it cut and exits 1 when --drain-seconds are over', async (context) => {
    const server = await started(context, '--drain-seconds', '1');
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const waiting = await running(server, ENDLESS);
    const call = client.unary(INFER, grpcRequest('endless'));
    const live = '/inference.GRPCInferenceService/ServerLive';
    assert.equal((await client.unary(live, Buffer.alloc(0))).code, 0);
    server.signal('SIGINT');
    assert.deepEqual(await server.ended, { code: 1, signal: null });
    assert.equal(await waiting.rest(), '');
    assert.notEqual((await call).code, 0);
    assert.match(
      server.stderr,
      /"message":"stopped before all requests were answered","httpRequests":1,"grpcRequests":1,/,
    );
    assert.match(server.stderr, /"grpcRequests":1,"models":"endless: 2"/);
  });

  // An hour to drain: each of these would delay the server for all of it.
  const silent: readonly (readonly [string, (server: ServalProcess) => Promise<unknown>])[] = [
    ['a silent HTTP connection', (server) => RawConnection.open(server.httpPort)],
    ['a silent gRPC connection', (server) => RawConnection.open(server.grpcPort)],
    [
      'half a head',
      async (server) => {
        const connection = await RawConnection.open(server.httpPort);
        await connection.write('POST /v2/models/identity_fp32/infer HTTP/1.1\r\nHost: x\r\n');
      },
    ],
    [
      'half a body',
      async (server) => {
        const connection = await RawConnection.open(server.httpPort);
        const whole = requestBytes('POST', '/v2/models/identity_fp32/infer', ONE);
        await connection.write(whole.subarray(0, whole.length - 10));
      },
    ],
    [
      'half an HTTP/2 preface',
      async (server) => {
        const connection = await RawConnection.open(server.grpcPort);
        await connection.write('PRI * HTTP/2.0\r\n');
      },
    ],
    [
      'an idle HTTP/2 connection',
      async (server) => {
        const session = connectHttp2(`http://127.0.0.1:${server.grpcPort}`);
        session.on('error', () => undefined);
        await new Promise((resolve) => {
          session.once('remoteSettings', resolve);
        });
      },
    ],
    [
      'half a gRPC message',
      async (server) => {
        const session = connectHttp2(`http://127.0.0.1:${server.grpcPort}`);
        session.on('error', () => undefined);
        const stream = session.request({
          ':method': 'POST',
          ':path': INFER,
          'content-type': 'application/grpc',
          te: 'trailers',
        });
        stream.on('error', () => undefined);
        await new Promise((resolve) => {
          stream.write(Buffer.from([0, 0, 0, 1, 0, 1]), resolve);
        });
      },
    ],
  ];
  for (const [what, begin] of silent) {
    it(`does not wait for ${what}`, async (context) => {
      const server = await started(context, '--drain-seconds', '3600');
      await begin(server);
      assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live')).status, 200);
      server.signal('SIGTERM');
      assert.deepEqual(await server.ended, { code: 0, signal: null });
    });
  }

  it('exits 0 with nothing to do, and the port is free for the next one', async (context) => {
    const first = await started(context);
    const port = first.httpPort;
    assert.equal((await exchange(port, 'GET', '/v2/health/live')).status, 200);
    first.signal('SIGTERM');
    assert.deepEqual(await first.ended, { code: 0, signal: null });
    const second = await startServer([models, ...flags, '--http-port', String(port)]);
    context.after(() => second.stop());
    assert.equal(second.httpPort, port);
    const response = await exchange(port, 'POST', '/v2/models/nope/infer', ONE);
    assert.deepEqual(
      [response.status, errorOf(response)],
      [404, "Request for unknown model: 'nope' is not found"],
    );
  });
});
