// The rows for the HTTP listener: each has its reference and target, and an open loop has a row for
// each percentile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scheduleOf } from '../load/native-load.mjs';
import { selectWorkloads } from '../workloads/index.mjs';

const rows = (only) =>
  selectWorkloads(only).map(({ id, reference, target }) => [
    id,
    reference,
    target === null ? '' : `${target.relation} ${target.limit}`,
  ]);

test('the rows of the HTTP listener name their references and targets', () => {
  assert.deepEqual(rows('http-open,http2-json,http-threads,http-listener,tls-http,tls-http-v1'), [
    ['http-open-8000', 'uWS echo', '<= 1'],
    ['http-open-32000', 'uWS echo', '<= 1'],
    ['http2-json', 'HTTP/1.1, 64 connections', '>= 1.5'],
    ['http-threads-2', '--http-threads 1', ''],
    ['http-listener-uws-v1', '--http-listener native', ''],
    ['http-listener-uws-v2', '--http-listener native', ''],
    ['tls-http-v1', 'nginx (TLS) + plain Serval', '>= 2.5'],
    ['tls-http', 'nginx (TLS) + plain Serval', '>= 2.5'],
  ]);
  for (const id of ['v1-json-16', 'v1-json-64', 'v2-json-16', 'v2-json-64']) {
    assert.deepEqual(rows(id)[0], [id, 'uWS echo', '>= 0.85']);
  }
  assert.deepEqual(rows('v2-binary-large'), [['v2-binary-large', 'uWS echo', '<= 1']]);
  assert.deepEqual(rows('grpc-large').slice(0, 1), [
    ['grpc-large', 'C++ gRPC callback echo', '>= 1'],
  ]);
});

test('schedules say whether responses after the end count, and whether the load sleeps', () => {
  const open = scheduleOf({ how: 'open', connections: 64, count: 8000 });
  assert.deepEqual([open.loop, open.rate, open.spins, open.countsLate], ['open', 8000, true, true]);
  const closed = scheduleOf({ how: 'closed', connections: 4, count: 64 });
  assert.deepEqual([closed.concurrency, closed.spins, closed.countsLate], [64, false, false]);
  assert.equal(scheduleOf({ how: 'closed', connections: 1, count: 1 }).countsLate, true);
  assert.equal(scheduleOf({ how: 'whole', connections: 4, count: 16 }).countsLate, true);
  assert.equal(scheduleOf({ how: 'awake', connections: 1, count: 1 }).spins, true);
});
