// The reference servers: they echo requests, in one chunk and in many, and end on command.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callOnce, expectBytes, sendOnce } from '../check.mjs';
import { runToEnd, startServer } from '../children.mjs';
import { startGrpcEcho, startUwsEcho } from '../contenders/echoes.mjs';
import { closedLoopLoad } from '../load/closed-loop.mjs';
import { beginOpenLoop } from '../load/open-loop.mjs';
import { pickCores } from '../machine.mjs';
import { runWorkload } from '../runner.mjs';
import { testContext } from './support.mjs';

function makeContext(t) {
  const options = { seconds: 0.01, rounds: 2, limitSeconds: 100 };
  return testContext(t, { options, elapsedSeconds: () => 0 });
}

const post = (body) => ({ method: 'POST', path: '/any', headers: { A: 'b' }, body });

test('the HTTP echo returns small and large bodies', async (t) => {
  const echo = await startUwsEcho(makeContext(t));
  t.after(echo.stop);
  for (const size of [1, 100, 602_112, 3_000_000]) {
    const body = Buffer.alloc(size, `${size} bytes `);
    expectBytes(`${size}`, (await sendOnce(echo, post(body))).body, body);
  }
  await assert.rejects(sendOnce(echo, { method: 'GET', path: '/' }), /404/);
});

test('the HTTP echo returns the body as an event at generate_stream', async (t) => {
  const echo = await startUwsEcho(makeContext(t));
  t.after(echo.stop);
  const request = { ...post(Buffer.from('{}')), path: '/v2/models/m/generate_stream' };
  const { headers, body } = await sendOnce(echo, request);
  assert.equal(headers.get('content-type'), 'text/event-stream');
  expectBytes('event', body, Buffer.from('data: {}\n\n'));
});

test('the gRPC echo returns the message', async (t) => {
  const echo = await startGrpcEcho(makeContext(t));
  t.after(echo.stop);
  const message = Buffer.from([1, 2, 3]);
  const answer = await callOnce(echo, '/inference.GRPCInferenceService/ModelInfer', message);
  expectBytes('echo', answer, message);
  await assert.rejects(callOnce(echo, '/a.B/C', message), /UNIMPLEMENTED/);
});

test('the closed loop measures whole responses', async (t) => {
  const context = makeContext(t);
  const echo = await startUwsEcho(context);
  t.after(echo.stop);
  const body = Buffer.alloc(602_112, 'x');
  const sample = await closedLoopLoad(context, echo, post(body))(0.05);
  assert.ok(sample.requests >= 1 && sample.bytesPerAnswer === body.length);
  assert.ok(sample.p50Us > 0 && sample.cpuUs > 0);
  const get = closedLoopLoad(context, echo, { ...post(body), method: 'PUT' });
  await assert.rejects(get(0.05), /load: status 404/);
});

test('the open loop keeps its rate, compares responses and ends on command', async (t) => {
  const context = makeContext(t);
  const echo = await startUwsEcho(context);
  t.after(echo.stop);
  const load = (seconds) =>
    beginOpenLoop(context, echo, post(Buffer.from('hello')), { rate: 500, seconds });
  const whole = await load(0.2).result();
  // The last tick may be late.
  const due = 500 * (whole.elapsedUs / 1e6) + 1;
  assert.ok(whole.sent > 50 && whole.sent <= due, `${whole.sent} sent at 500/s, ${due} due`);
  assert.equal(whole.answers['200'].count, whole.sent);
  assert.deepEqual([whole.failures, whole.different], [0, 0]);
  const began = performance.now();
  const cut = await load(600).stop();
  assert.ok(performance.now() - began < 20_000 && cut.failures === 0);
  const closed = { host: '127.0.0.1', port: 1 };
  const nobody = await beginOpenLoop(context, closed, post(Buffer.from('x')), {
    rate: 100,
    seconds: 0.05,
  }).result();
  assert.deepEqual([nobody.answers, nobody.failures], [{}, nobody.sent]);
});

test('a pair alternates, and a failure becomes a row with the reason', async (t) => {
  const context = makeContext(t);
  const calls = [];
  const side = (name, perSecond) => async () => ({
    measure: async () => {
      calls.push(name);
      return { perSecond };
    },
    close: async () => {
      calls.push(`${name} closed`);
    },
  });
  const workload = {
    id: 'w',
    title: 'W',
    reference: 'r',
    metric: 'rate',
    target: { relation: '>=', limit: 0.7 },
    openServal: side('serval', 8),
    openReference: side('echo', 10),
  };
  const [row] = await runWorkload(context, workload);
  assert.equal(row.got, 0.8);
  assert.deepEqual(calls, [
    'echo',
    'serval',
    'echo',
    'serval',
    'echo',
    'serval',
    'echo closed',
    'serval closed',
  ]);
  const broken = { ...workload, openReference: () => Promise.reject(new Error('no echo')) };
  assert.deepEqual(
    (await runWorkload(context, broken)).map(({ ok, error }) => [ok, error]),
    [[false, 'no echo']],
  );
  assert.equal(calls.at(-1), 'serval closed');
  const died = async () => ({
    measure: () => Promise.reject(new Error('refused')),
    ended: () => 'the server ended with SIGSEGV',
    close: async () => {},
  });
  assert.equal(
    (await runWorkload(context, { ...workload, openServal: died }))[0].error,
    'refused\nthe server ended with SIGSEGV',
  );
  const late = { ...context, elapsedSeconds: () => 99 };
  assert.match((await runWorkload(late, workload))[0].error, /over the limit of 100 s/);
});

test('a server that dies before it is ready, and a failing command, report the reason', async () => {
  const cores = pickCores().all;
  const die = ['-e', 'process.stderr.write("because\\n"); process.exit(3)'];
  const why = /ended with 3.*because/s;
  await assert.rejects(
    startServer(process.execPath, die, cores, () => true),
    why,
  );
  await assert.rejects(runToEnd(process.execPath, die, cores, 10_000), why);
});
