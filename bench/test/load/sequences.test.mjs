// Loads of sequences: which messages a client sends when the server has the state, and when the
// client carries it; failures. The server is one of this process, which counts.
import assert from 'node:assert/strict';
import { createServer } from 'node:http2';
import { test } from 'node:test';
import { bytesOf, floatsOf } from '../../bodies.mjs';
import { grpcFrame } from '../../load/h2load.mjs';
import { sequenceLoad } from '../../load/sequence-load.mjs';
import { bytesField, fieldsOf } from '../../wire.mjs';
import { testContext } from '../support.mjs';

const SPEC = { model: 'm', width: 2, state: 1, sequences: 3, steps: 4, connections: 2 };
const RAW_INPUTS = 7;
const RAW_OUTPUTS = 6;
const PARAMETERS = 4;

/** Answers each message by `answer(message)`: a response, or a gRPC status. */
async function openServer(t, answer) {
  const server = createServer();
  const sockets = new Set();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('stream', (stream) => {
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => {
      const result = answer(Buffer.concat(chunks).subarray(5));
      const isStatus = typeof result === 'number';
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () =>
        stream.sendTrailers({ 'grpc-status': isStatus ? String(result) : '0' }),
      );
      stream.end(isStatus ? undefined : grpcFrame(result));
    });
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: '127.0.0.1', port: server.address().port, pid: process.pid };
}

test('sequences: the server has the state: ids, starts and ends', async (t) => {
  const steps = new Map();
  const server = await openServer(t, (message) => {
    const parameters = fieldsOf(message, PARAMETERS);
    assert.equal(fieldsOf(message, RAW_INPUTS).length, 1);
    assert.equal(parameters.length, 3);
    const [id, start, end] = parameters.map((one) => fieldsOf(one, 2)[0].at(-1));
    const seen = steps.get(id) ?? [];
    steps.set(id, [...seen, [start, end]]);
    return bytesField(RAW_OUTPUTS, bytesOf(Float32Array.of(1)));
  });
  const sample = await sequenceLoad(testContext(t), server, { ...SPEC, keeps: true })(0.3);
  assert.ok(sample.requests > 0 && sample.p50Us > 0);
  assert.deepEqual([...steps.keys()].sort(), [1, 2, 3]);
  for (const seen of steps.values()) {
    assert.deepEqual(seen[0], [1, 0]);
    assert.equal(seen.at(-1)[1], 1, 'the last sequence is ended');
    for (const [at, [, end]] of seen.slice(0, -1).entries()) {
      assert.equal(seen[at + 1][0], end, 'a step starts a sequence exactly after an end');
    }
  }
});

test('sequences: the client carries the state', async (t) => {
  const counts = [];
  const server = await openServer(t, (message) => {
    const [, h, c] = fieldsOf(message, RAW_INPUTS).map((bytes) => floatsOf(bytes)[0]);
    counts.push(h);
    assert.deepEqual([c + h, fieldsOf(message, PARAMETERS)], [0, []]);
    return Buffer.concat(
      [h + 1, -h - 1].map((value) => bytesField(RAW_OUTPUTS, bytesOf(Float32Array.of(value)))),
    );
  });
  await sequenceLoad(testContext(t), server, { ...SPEC, keeps: false })(0.3);
  assert.deepEqual([...new Set(counts)].sort(), [0, 1, 2, 3]);
});

test('sequences: a failed step fails the load', async (t) => {
  const server = await openServer(t, () => 13);
  const load = sequenceLoad(testContext(t), server, { ...SPEC, keeps: true });
  await assert.rejects(load(0.2), /load: step: 13/);
});
