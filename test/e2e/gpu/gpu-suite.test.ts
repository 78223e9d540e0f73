// `make test-gpu` without a GPU: it says so and does not pass; and all of its tests run over
// stand-ins for NVIDIA's libraries.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { noCompiler } from './fake-libraries.js';

const RUN = join(packageRoot(), 'test', 'gpu', 'run.mjs');
const NO_GPU = 2;
const MS_MAX = 240_000;

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const options = { encoding: 'utf8', timeout: MS_MAX, env: { ...process.env, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [RUN, '--compiled', ...args],
    options,
  );
  return { status, output: `${stdout}${stderr}` };
}

describe('the suite for GPUs', () => {
  it('does not pass where nothing is installed for one', () => {
    const empty = mkdtempSync(join(tmpdir(), 'serval-no-gpu-'));
    const { status, output } = run([], { SERVAL_GPU_FOLDER: empty });
    rmSync(empty, { recursive: true });
    assert.equal(status, NO_GPU, output);
    assert.match(output, /^NOT TESTED, there is no GPU to test on: ./m);
  });

  it('runs, over libraries that stand in', { skip: noCompiler }, () => {
    const { status, output } = run(['--fake']);
    assert.equal(status, 0, output);
    assert.match(output, /^stand-ins, no GPU/m);
    assert.match(output, /^ℹ fail 0$/m);
  });
});
