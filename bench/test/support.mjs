// A workload's context for tests: cores, a folder that is removed with the test, numbers.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickCores } from '../machine.mjs';

/** `more`: additional members. */
export function testContext(t, more = {}) {
  const tempDir = mkdtempSync(join(tmpdir(), 'serval-bench-test-'));
  t.after(() => rmSync(tempDir, { recursive: true, force: true }));
  let id = 0;
  const nextId = () => {
    id += 1;
    return id;
  };
  return { cores: pickCores(), tempDir, nextId, ...more };
}
