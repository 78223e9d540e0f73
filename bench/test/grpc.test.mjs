// Loads from the project's own client and the C++ echo: which requests are measured, from when, and
// which responses invalidate a run. The echo is built first; if its libraries are missing, its
// tests are skipped.
import assert from 'node:assert/strict';
import { createServer } from 'node:http2';
import { before, test } from 'node:test';
import { callOnce, expectBytes, streamOnce } from '../check.mjs';
import { startCppGrpcEcho, startGrpcEcho } from '../contenders/echoes.mjs';
import { buildProgram, hasTarget } from '../context.mjs';
import { grpcLoad, holdGrpc, oneAtATime } from '../load/grpc-load.mjs';
import { grpcFrame } from '../load/h2load.mjs';
import { nativeLoad, parseLoad, scheduleOf } from '../load/native-load.mjs';
import { pickCores } from '../machine.mjs';
import { Skipped } from '../runner.mjs';
import { testContext } from './support.mjs';

const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const CORES = pickCores();
const MESSAGE = Buffer.from('hello');
const CALL = { path: INFER, message: MESSAGE, answerBytes: MESSAGE.length };

/** Name -> path, or the reason why it can't be built. */
const programs = new Map();

before(async () => {
  programs.set(
    'grpc_echo',
    await buildProgram('grpc_echo', CORES).catch((error) => {
      if (error instanceof Skipped) return error;
      throw error;
    }),
  );
});

/** Makes a context with the programs; returns undefined and skips the test if one is missing. */
function makeContext(t, ...names) {
  const missing = names.map((name) => programs.get(name)).find((path) => path instanceof Error);
  if (missing !== undefined) {
    t.skip(missing.message);
    return undefined;
  }
  return testContext(t, { cores: CORES, program: async (name) => programs.get(name) });
}

async function openEcho(t, start, ...names) {
  const context = makeContext(t, ...names);
  if (context === undefined) return {};
  const echo = await start(context);
  t.after(echo.stop);
  return { context, echo };
}

/**
 * Starts a server in this process that answers each call by `answer(stream, cut)`; cut() closes all
 * sockets.
 */
async function openServer(t, answer) {
  const server = createServer();
  const sockets = new Set();
  const cut = () => sockets.forEach((socket) => socket.destroy());
  server.on('connection', (socket) => sockets.add(socket));
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.resume();
    stream.on('end', () => answer(stream, cut));
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    cut();
    server.close();
  });
  return { host: '127.0.0.1', port: server.address().port, pid: process.pid };
}

function respond(stream, { message = MESSAGE, grpcStatus = '0', httpStatus = 200 } = {}) {
  stream.respond(
    { ':status': httpStatus, 'content-type': 'application/grpc' },
    { waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': grpcStatus }));
  stream.end(grpcFrame(message));
}

test("the client's line becomes a sample; a late client is reported", () => {
  const line = { requests: 500, elapsedUs: 1e6, p50Us: 10, p99Us: 40, p999Us: 90, lateUs: 4 };
  const sample = parseLoad(`${JSON.stringify(line)}\n`);
  assert.deepEqual([sample.perSecond, sample.usPerRequest, sample.p999Us], [500, 2000, 90]);
  assert.equal('lateUs' in sample, false);
  assert.equal(parseLoad(JSON.stringify({ ...line, lateUs: 5 })).lateUs, 5);
  assert.throws(() => parseLoad('{"error":"refused"}'), /load: refused/);
  assert.throws(() => parseLoad(''), /no result/);
  assert.throws(() => parseLoad(JSON.stringify({ ...line, requests: 0 })), /no request was/);
});

test('a program without its libraries is not a target of the build', () => {
  assert.equal(hasTarget('... all\n... grpc_echo\n', 'grpc_echo'), true);
  assert.equal(hasTarget('grpc_echo: phony\n', 'grpc_echo'), true);
  assert.equal(hasTarget('... grpc_echo_other\n', 'grpc_echo'), false);
});

test('the C++ echo returns whole messages, and each message of a stream', async (t) => {
  const { echo } = await openEcho(t, startCppGrpcEcho, 'grpc_echo');
  if (echo === undefined) return;
  for (const size of [0, 1, 602_112, 5_000_000]) {
    const message = Buffer.alloc(size, `${size} bytes `);
    expectBytes(`${size}`, await callOnce(echo, INFER, message), message);
  }
  expectBytes('stream', await streamOnce(echo, STREAM, MESSAGE), MESSAGE);
});

test('calls in flight, streams and a fixed rate are measured', async (t) => {
  const { context, echo } = await openEcho(t, startCppGrpcEcho, 'grpc_echo');
  if (echo === undefined) return;
  const measure = (schedule, call = CALL) => grpcLoad(context, echo, call, schedule)(0.2);
  const closed = await measure({ how: 'closed', connections: 3, count: 8 });
  assert.ok(closed.requests > 8 && closed.cpuUs > 0 && closed.p50Us <= closed.p99Us);
  const few = await measure({ how: 'awake', connections: 1, count: 1 });
  assert.ok(few.requests > 1 && few.p50Us > 0);
  const stream = { ...CALL, path: STREAM };
  const streams = await measure({ how: 'streams', connections: 2, count: 4 }, stream);
  assert.ok(streams.requests > 4);
  const open = await measure({ how: 'open', connections: 16, count: 1000 });
  assert.equal(open.requests, 200);
  const large = Buffer.alloc(602_112, 'x');
  const call = { ...CALL, message: large, answerBytes: large.length };
  assert.ok((await measure({ how: 'closed', connections: 4, count: 4 }, call)).requests >= 4);
  // The echo outlasts this time: all requests are counted, and the time ends with the last one.
  const whole = await grpcLoad(context, echo, call, { how: 'whole', connections: 4, count: 16 })(
    1e-6,
  );
  assert.ok(whole.requests === 16 && whole.usPerRequest * 16 > whole.p50Us, `${whole.requests}`);
  const many = await measure({ how: 'closed', connections: 200, count: 64 });
  assert.ok(many.requests > 64);
});

test('grpc-js can be loaded the same way; held connections end on command', async (t) => {
  const { context, echo } = await openEcho(t, startGrpcEcho);
  if (echo === undefined) return;
  assert.ok((await oneAtATime(context, echo, CALL)(0.1)).requests >= 1);
  const held = await holdGrpc(context, echo, CALL, 50);
  await held.close();
  await assert.rejects(holdGrpc(context, echo, { ...CALL, path: '/a.B/C' }, 3), /gRPC status 12/);
  await assert.rejects(
    grpcLoad(context, { ...echo, port: 1 }, CALL, { how: 'open', connections: 1, count: 1 })(0.1),
    /load: .*connect: Connection refused/,
  );
});

test('wrong responses end the run with an error that describes them', async (t) => {
  const context = makeContext(t);
  const run = async (answer) => {
    const server = await openServer(t, answer);
    return grpcLoad(context, server, CALL, { how: 'closed', connections: 1, count: 2 })(0.1);
  };
  assert.ok((await run((stream) => respond(stream))).requests >= 2);
  const cases = [
    [
      (stream) => respond(stream, { message: Buffer.from('hell') }),
      /response of 4 bytes, expected 5/,
    ],
    [(stream) => respond(stream, { grpcStatus: '8' }), /gRPC status 8/],
    [(stream) => respond(stream, { httpStatus: 404 }), /status 404/],
    [(stream) => stream.close(2), /the server reset the stream \(2\)/],
    [
      (stream) => stream.respond({ ':status': 200 }, { endStream: true }),
      /no gRPC response, status 200/,
    ],
    [
      (stream) => stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true }),
      /0 messages came, expected 1/,
    ],
    [(_, cut) => cut(), /the server closed the connection/],
  ];
  for (const [answer, why] of cases) await assert.rejects(run(answer), why);
});

test('a stalled server is charged for every call that was due during the stall', async (t) => {
  const context = makeContext(t);
  const STALL_MS = 300;
  let calls = 0;
  const server = await openServer(t, (stream) => {
    calls += 1;
    if (calls === 50) {
      const until = performance.now() + STALL_MS;
      while (performance.now() < until);
    }
    respond(stream);
  });
  const sample = await grpcLoad(context, server, CALL, { how: 'open', connections: 4, count: 200 })(
    1,
  );
  assert.equal(sample.requests, 200);
  // About 60 of 200 calls were due during the stall: the slowest two waited for nearly all of it.
  assert.ok(sample.p99Us > STALL_MS * 800, `p99 ${sample.p99Us} us`);
});

test('REST can be loaded over HTTP/2 and HTTP/1.1, and a refusal gives the reason', async (t) => {
  const context = makeContext(t);
  const { createServer: createHttp1 } = await import('node:http');
  const body = Buffer.from('{"a":1}');
  const answer = (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const isRight = request.headers['x-key'] === 'k' && request.url === '/v1/x';
      response.writeHead(isRight ? 200 : 400);
      response.end(Buffer.concat(chunks));
    });
  };
  for (const [http2, server] of [
    [true, createServer(answer)],
    [false, createHttp1(answer)],
  ]) {
    await new Promise((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    t.after(() => server.close());
    const address = { host: '127.0.0.1', port: server.address().port, pid: process.pid };
    const request = { method: 'POST', path: '/v1/x', headers: { 'X-Key': 'k' }, body };
    const schedule = scheduleOf({ how: 'closed', connections: 2, count: http2 ? 8 : 2 });
    const sample = await nativeLoad(context, address, request, { http2, schedule })(0.1);
    assert.ok(sample.requests > 8, `${http2}: ${sample.requests}`);
    assert.equal(sample.bytesPerAnswer, body.length);
    const wrong = nativeLoad(context, address, { ...request, path: '/' }, { http2, schedule })(0.1);
    await assert.rejects(wrong, /load: status 400: \{"a":1\}/);
  }
});
