// Triton's perf_analyzer, which test/env/perf-analyzer.sh fetches. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../../ts/package-files.js';

/** The program, or why there is none. */
export function findPerfAnalyzer(): { readonly program: string; readonly missing: string } {
  const script = join(packageRoot(), 'test', 'env', 'perf-analyzer.sh');
  const { status, stdout, stderr } = spawnSync(script, { encoding: 'utf8' });
  if (status === 0) return { program: stdout.trim(), missing: '' };
  assert.equal(status, 77, stderr);
  return { program: '', missing: stderr.trim() };
}
