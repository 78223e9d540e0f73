// The maximum number of connections: what the open-file limit allows, or fewer if configured.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS_MAX } from '../../../../ts/base/limits.js';
import { connectionLimits } from '../../../../ts/server/workers/connection-limits.js';

const threads = (http: number, growth = 0) => ({ http: { threads: http }, growth });

test('half of the files that are left for each port, shared by the threads of HTTP', () => {
  assert.deepEqual(connectionLimits(1096 + 8 * 2, threads(2), 0), { http: 250, native: 500 });
  assert.deepEqual(connectionLimits(Infinity, threads(1), 0), {
    http: CONNECTIONS_MAX,
    native: CONNECTIONS_MAX,
  });
  assert.deepEqual(connectionLimits(10, threads(4), 0), { http: 1, native: 1 });
});

test('--max-connections counts for each port, and not beyond the files', () => {
  assert.deepEqual(connectionLimits(Infinity, threads(2), 40), { http: 20, native: 40 });
  assert.deepEqual(connectionLimits(1096 + 8, threads(1), 400), { http: 400, native: 400 });
  assert.deepEqual(connectionLimits(1096 + 8, threads(1), 4000), { http: 500, native: 500 });
  assert.deepEqual(connectionLimits(Infinity, threads(8), 3), { http: 1, native: 3 });
});

test('keeps files for the threads that listeners may add', () => {
  assert.deepEqual(connectionLimits(1096 + 8 * 7, threads(1, 6), 0), { http: 500, native: 500 });
});
