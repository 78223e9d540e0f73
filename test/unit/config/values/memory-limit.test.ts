// The default of --memory-limit. Source: Linux cgroups v1 and v2.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MEMORY_LIMIT_MIN } from '../../../../ts/base/limits.js';
import {
  cgroupLimit,
  defaultMemoryLimit,
  readMemoryFacts,
} from '../../../../ts/config/values/memory-limit.js';

const GIB = 2 ** 30;
const FACTS = {
  cgroupBytes: Infinity,
  machineBytes: 16 * GIB,
  addressBytes: Infinity,
  residentBytes: GIB,
  mappedBytes: 2 * GIB,
};

describe('the default memory limit', () => {
  it('is half of what is left of the tightest limit', () => {
    assert.equal(defaultMemoryLimit(FACTS), 7.5 * GIB);
    assert.equal(defaultMemoryLimit({ ...FACTS, cgroupBytes: 3 * GIB }), GIB);
    assert.equal(defaultMemoryLimit({ ...FACTS, addressBytes: 4 * GIB }), GIB);
    assert.equal(defaultMemoryLimit({ ...FACTS, cgroupBytes: GIB }), MEMORY_LIMIT_MIN);
  });

  it('takes the smallest limit of the cgroup and its parents, v2 and v1', () => {
    const root = mkdtempSync(join(tmpdir(), 'serval-cgroup-'));
    try {
      mkdirSync(join(root, 'pods', 'a'), { recursive: true });
      mkdirSync(join(root, 'memory', 'b'), { recursive: true });
      writeFileSync(join(root, 'pods', 'memory.max'), '1000\n');
      writeFileSync(join(root, 'pods', 'a', 'memory.max'), 'max\n');
      writeFileSync(join(root, 'memory', 'b', 'memory.limit_in_bytes'), '500\n');
      assert.equal(cgroupLimit(root, '0::/pods/a\n'), 1000);
      assert.equal(cgroupLimit(root, '4:cpu,memory:/b\n0::/\n'), 500);
      assert.equal(cgroupLimit(root, '4:memory:/outside/of/here\n'), Infinity);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('is found on this machine', () => {
    const facts = readMemoryFacts();
    assert.ok(facts.machineBytes < Infinity && facts.residentBytes > 0);
    assert.ok(defaultMemoryLimit(facts) < facts.machineBytes);
  });
});
