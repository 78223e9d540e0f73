// The input of the load generators, and how their output is read.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { closedLoopLoad, requestBytes } from '../load/closed-loop.mjs';
import { grpcFrame, parseH2load } from '../load/h2load.mjs';
import { parseOpenLoop } from '../load/open-loop.mjs';
import { parseWrk, wrkScript } from '../load/wrk.mjs';
import { testContext } from './support.mjs';

const wrkLine = (changes) =>
  JSON.stringify({
    requests: 1000,
    us: 2_000_000,
    bytes: 64_000,
    p50: 10,
    p99: 20,
    p999: 30,
    errors: { connect: 0, read: 0, write: 0, status: 0, timeout: 0, ...changes },
  });

test('wrk: the summary line becomes a sample', () => {
  const sample = parseWrk(`Running 2s test\n${wrkLine({})}\n`);
  assert.equal(sample.perSecond, 500);
  assert.equal(sample.usPerRequest, 2000);
  assert.equal(sample.bytesPerAnswer, 64);
  assert.equal(sample.p999Us, 30);
});

test('wrk: failed requests and silence are errors', () => {
  assert.throws(() => parseWrk(wrkLine({ status: 3 })), /failed requests: .*"status":3/);
  assert.throws(() => parseWrk('Running'), /no summary/);
  const none = JSON.stringify({ ...JSON.parse(wrkLine({})), requests: 0 });
  assert.throws(() => parseWrk(none), /no request was answered/);
});

test('wrk: the script quotes its values', () => {
  const script = wrkScript({ method: 'POST', headers: { A: "it's \\" }, body: 'x' }, '/tmp/b');
  assert.match(script, /wrk\.headers\['A'\] = 'it\\'s \\\\'/);
  assert.match(script, /io\.open\('\/tmp\/b', 'rb'\)/);
});

test('wrk: a request without a body reads no file', () => {
  const get = wrkScript({ method: 'GET' }, '/tmp/b');
  assert.doesNotMatch(get, /io\.open/);
  assert.match(get, /^wrk\.method = 'GET'/);
  assert.match(wrkScript({ method: 'POST', body: '' }, '/tmp/b'), /io\.open/);
});

const h2 = ({ failed = 0, others = 0, bytes = 650 } = {}) =>
  [
    'finished in 1.00s, 10.00 req/s, 1.01MB/s',
    'requests: 10 total, 12 started, 10 done, 10 succeeded, ' +
      `${failed} failed, 0 errored, 0 timeout`,
    `status codes: 10 2xx, 0 3xx, 0 4xx, ${others} 5xx`,
    'traffic: 1.01MB (1057408) total, 52.55KB (53812) headers (space savings 96.37%), ' +
      `650B (${bytes}) data`,
  ].join('\n');
const log = Array.from({ length: 10 }, (_, index) => `1795\t200\t${index + 1}\n`).join('');

test('h2load: the summary and the log become a sample', () => {
  const sample = parseH2load(h2(), log, 60);
  assert.equal(sample.perSecond, 10);
  assert.equal(sample.usPerRequest, 100_000);
  assert.equal(sample.p50Us, 5.5);
  assert.equal(sample.requests, 10);
});

test('h2load: failures, other statuses and responses of another length are errors', () => {
  assert.throws(() => parseH2load(h2({ failed: 1 }), log, 60), /failed requests/);
  assert.throws(() => parseH2load(h2({ others: 1 }), log, 60), /failed requests/);
  assert.throws(
    () => parseH2load(h2({ bytes: 0 }), log, 60),
    /responses of 0 bytes .* expected 65/,
  );
  assert.throws(() => parseH2load('oops', log, 60), /no line like/);
});

test('a gRPC frame is a zero byte, a big-endian length and the message', () => {
  assert.deepEqual([...grpcFrame(Buffer.from('ab'))], [0, 0, 0, 0, 2, 97, 98]);
});

test('closed loop: the request becomes bytes', () => {
  const request = { method: 'POST', path: '/x', headers: { A: 'b' }, body: Buffer.from('hello') };
  assert.equal(
    requestBytes('h', request).toString(),
    'POST /x HTTP/1.1\r\nHost: h\r\nA: b\r\nContent-Length: 5\r\n\r\nhello',
  );
});

test('a closed loop of several connections counts requests in flight at the end of its time', async (t) => {
  const answers = [];
  const server = createServer((socket) => {
    socket.on('data', () => {
      answers.push(
        setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), 300),
      );
    });
    socket.on('error', () => {});
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const request = { method: 'POST', path: '/', headers: {}, body: Buffer.from('x') };
  const address = { host: '127.0.0.1', port: server.address().port, pid: process.pid };
  const sample = await closedLoopLoad(testContext(t), address, request, 5)(0.1);
  assert.equal(sample.requests, 5);
  assert.equal(answers.length, 5);
  assert.ok(sample.perSecond < 5 / 0.25, String(sample.perSecond));
});

test('open loop: responses are counted by status, with rate and tail', () => {
  const line = JSON.stringify({
    elapsedUs: 2_000_000,
    sent: 5,
    skipped: 1,
    failures: 0,
    different: 0,
    answers: {
      200: { count: 3, latenciesUs: [10, 20, 30] },
      503: { count: 2, latenciesUs: [1, 3] },
    },
  });
  const { answers, sent, skipped } = parseOpenLoop(`noise\n${line}\n`);
  assert.deepEqual([sent, skipped], [5, 1]);
  assert.deepEqual(
    [answers['200'].perSecond, answers['200'].p50Us, answers['200'].maxUs],
    [1.5, 20, 30],
  );
  assert.equal(answers['503'].count, 2);
  assert.throws(() => parseOpenLoop('{"error":"refused"}'), /open loop: refused/);
  assert.throws(() => parseOpenLoop('nothing'), /no result/);
});
