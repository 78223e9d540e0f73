// The gRPC load generator and the C++ echo: what is measured, from when, and which answers end a
// run. Both programs are built first; where their libraries are missing, the tests are skipped.
import assert from 'node:assert/strict';
import { createServer } from 'node:http2';
import { before, test } from 'node:test';
import { callOnce, expectBytes, streamOnce } from '../check.mjs';
import { startCppGrpcEcho, startGrpcEcho } from '../contenders/echoes.mjs';
import { buildProgram, hasTarget } from '../context.mjs';
import { grpcLoad, holdGrpc, oneAtATime, parseGrpcLoad } from '../load/grpc-load.mjs';
import { grpcFrame } from '../load/h2load.mjs';
import { pickCores } from '../machine.mjs';
import { Skipped } from '../runner.mjs';
import { testContext } from './support.mjs';

const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const CORES = pickCores();
const MESSAGE = Buffer.from('hello');
const CALL = { path: INFER, message: MESSAGE, answerBytes: MESSAGE.length };

/** Name -> its path, or why it can't be built. */
const programs = new Map();

before(async () => {
  for (const name of ['grpc_load', 'grpc_echo']) {
    programs.set(
      name,
      await buildProgram(name, CORES).catch((error) => {
        if (error instanceof Skipped) return error;
        throw error;
      }),
    );
  }
});

/** A context of the programs, or undefined where one is missing: then the test is skipped. */
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

/** A server in this process that answers each call by `answer(stream, cut)`; cut() closes the
 * sockets of all. */
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

test('the line of grpc_load becomes a sample; a late generator is told', () => {
  const line = { requests: 500, elapsedUs: 1e6, p50Us: 10, p99Us: 40, p999Us: 90, lateUs: 4 };
  const sample = parseGrpcLoad(`${JSON.stringify(line)}\n`);
  assert.deepEqual([sample.perSecond, sample.usPerRequest, sample.p999Us], [500, 2000, 90]);
  assert.equal('lateUs' in sample, false);
  assert.equal(parseGrpcLoad(JSON.stringify({ ...line, lateUs: 5 })).lateUs, 5);
  assert.throws(() => parseGrpcLoad('{"error":"refused"}'), /grpc_load: refused/);
  assert.throws(() => parseGrpcLoad(''), /no result/);
  assert.throws(() => parseGrpcLoad(JSON.stringify({ ...line, requests: 0 })), /no call was/);
});

test('a program without its libraries is no target of the build', () => {
  assert.equal(hasTarget('... all\n... grpc_load\n', 'grpc_load'), true);
  assert.equal(hasTarget('grpc_load: phony\n', 'grpc_load'), true);
  assert.equal(hasTarget('... grpc_load_other\n', 'grpc_load'), false);
});

test('the C++ echo answers whole messages, and each one of a stream', async (t) => {
  const { echo } = await openEcho(t, startCppGrpcEcho, 'grpc_echo');
  if (echo === undefined) return;
  for (const size of [0, 1, 602_112, 5_000_000]) {
    const message = Buffer.alloc(size, `${size} bytes `);
    expectBytes(`${size}`, await callOnce(echo, INFER, message), message);
  }
  expectBytes('stream', await streamOnce(echo, STREAM, MESSAGE), MESSAGE);
});

test('calls in flight, streams and a fixed rate are measured', async (t) => {
  const { context, echo } = await openEcho(t, startCppGrpcEcho, 'grpc_load', 'grpc_echo');
  if (echo === undefined) return;
  const measure = (plan, call = CALL) => grpcLoad(context, echo, call, plan)(0.2);
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
  // The echo takes longer than this: all are counted, and the time ends with the last.
  const whole = await grpcLoad(context, echo, call, { how: 'whole', connections: 4, count: 16 })(
    1e-6,
  );
  assert.ok(whole.requests === 16 && whole.usPerRequest * 16 > whole.p50Us, `${whole.requests}`);
  const many = await measure({ how: 'closed', connections: 200, count: 64 });
  assert.ok(many.requests > 64);
});

test('grpc-js is loaded the same way; held connections end when told', async (t) => {
  const { context, echo } = await openEcho(t, startGrpcEcho, 'grpc_load');
  if (echo === undefined) return;
  assert.ok((await oneAtATime(context, echo, CALL)(0.1)).requests >= 1);
  const held = await holdGrpc(context, echo, CALL, 50);
  await held.close();
  await assert.rejects(holdGrpc(context, echo, { ...CALL, path: '/a.B/C' }, 3), /gRPC status 12/);
  await assert.rejects(
    grpcLoad(context, { ...echo, port: 1 }, CALL, { how: 'open', connections: 1, count: 1 })(0.1),
    /grpc_load: connect: Connection refused/,
  );
});

test('wrong answers end the run and say what came', async (t) => {
  const context = makeContext(t, 'grpc_load');
  if (context === undefined) return;
  const run = async (answer) => {
    const server = await openServer(t, answer);
    return grpcLoad(context, server, CALL, { how: 'closed', connections: 1, count: 2 })(0.1);
  };
  assert.ok((await run((stream) => respond(stream))).requests >= 2);
  const cases = [
    [
      (stream) => respond(stream, { message: Buffer.from('hell') }),
      /answer of 4 bytes, expected 5/,
    ],
    [(stream) => respond(stream, { grpcStatus: '8' }), /gRPC status 8/],
    [(stream) => respond(stream, { httpStatus: 404 }), /HTTP status 404/],
    [(stream) => stream.close(2), /the stream was reset, error 2/],
    [(stream) => stream.respond({ ':status': 200 }, { endStream: true }), /no gRPC status came/],
    [
      (stream) => stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true }),
      /0 answers came, expected 1/,
    ],
    [(_, cut) => cut(), /the server closed a connection|Connection reset/],
  ];
  for (const [answer, why] of cases) await assert.rejects(run(answer), why);
});

test('a server that stalls is charged for every call that was due meanwhile', async (t) => {
  const context = makeContext(t, 'grpc_load');
  if (context === undefined) return;
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
  // Of 200 calls about 60 were due in the stall: the slowest two waited for nearly all of it.
  assert.ok(sample.p99Us > STALL_MS * 800, `p99 ${sample.p99Us} us`);
});
