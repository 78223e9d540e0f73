// The threads of a server's listeners: numbers, auto, and the limits of auto.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseServeConfig } from '../../../ts/config/config.js';
import { sharedThreads, threadRange } from '../../../ts/listeners/threads.js';
import { listenerThreads } from '../../../ts/server/listener-threads.js';
import { cgroupCores } from '../../../ts/server/usable-cores.js';

const of = async (flags: readonly string[], cores: number, growthMax?: number) =>
  listenerThreads(await parseServeConfig(['m', ...flags], '/'), growthMax, cores);

test('auto starts with one thread and may reach half of the cores', async () => {
  const grows = { threads: 1, threadsMax: 8, cores: 16 };
  assert.deepEqual(await of([], 16), { workers: 1, http: grows, grpc: grows, growth: 14 });
  assert.deepEqual(threadRange('auto', 5), { threads: 1, threadsMax: 2, cores: 5 });
});

test('auto is always one thread on one to three cores', async () => {
  for (const cores of [1, 2, 3]) {
    const one = { threads: 1 };
    assert.deepEqual(await of([], cores), { workers: 1, http: one, grpc: one, growth: 0 });
  }
});

test('a number is fixed', async () => {
  const { http, grpc, growth } = await of(['--http-threads=4', '--grpc-threads=AUTO'], 8);
  assert.deepEqual([http, grpc.threadsMax, growth], [{ threads: 4 }, 4, 3]);
});

test('uWebSockets.js has a worker for each thread and adds none', async () => {
  const { workers, http } = await of(['--http-listener=uws'], 16);
  assert.deepEqual([workers, http], [1, { threads: 1 }]);
  assert.equal((await of(['--http-listener=uws', '--http-threads=3'], 16)).workers, 3);
});

test('a disabled listener has no threads', async () => {
  assert.deepEqual((await of(['--allow-grpc=false'], 16)).grpc, { threads: 0 });
  assert.deepEqual((await of(['--allow-http=false'], 16)).http, { threads: 1 });
});

test('a shared port has the larger number, and is auto without one', async () => {
  assert.equal(sharedThreads('auto', 'auto'), 'auto');
  assert.equal(sharedThreads(2, 'auto'), 2);
  assert.equal(sharedThreads('auto', 3), 3);
  assert.equal(sharedThreads(2, 3), 3);
  const shares = ['--http-port=9000', '--grpc-port=9000'];
  const { http, grpc, growth } = await of(shares, 16);
  assert.deepEqual([http, growth], [grpc, 7]);
  assert.deepEqual((await of([...shares, '--grpc-threads=3'], 16)).http, { threads: 3 });
});

test('the listeners share the threads that may be added', async () => {
  const { http, grpc, growth } = await of([], 16, 5);
  assert.deepEqual([http.threadsMax, grpc.threadsMax, growth], [3, 3, 4]);
  assert.deepEqual((await of([], 16, 1)).http, { threads: 1 });
});

test("a cgroup's quota limits the cores", () => {
  const root = mkdtempSync(join(tmpdir(), 'serval-cgroup-'));
  try {
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/cpu.max'), '250000 100000\n');
    writeFileSync(join(root, 'a/b/cpu.max'), 'max 100000\n');
    assert.equal(cgroupCores(root, '0::/a/b\n'), 2.5);
    assert.equal(cgroupCores(root, '0::/\n'), Infinity);
    mkdirSync(join(root, 'cpu/c'), { recursive: true });
    writeFileSync(join(root, 'cpu/c/cpu.cfs_quota_us'), '400000\n');
    writeFileSync(join(root, 'cpu/c/cpu.cfs_period_us'), '100000\n');
    assert.equal(cgroupCores(root, '4:cpu,cpuacct:/c\n'), 4);
    writeFileSync(join(root, 'cpu/c/cpu.cfs_quota_us'), '-1\n');
    assert.equal(cgroupCores(root, '4:cpu,cpuacct:/c\n'), Infinity);
  } finally {
    rmSync(root, { recursive: true });
  }
});
