// `make bench-gpu` without a GPU: it says so and measures nothing; and one scaled-down model, over
// stand-ins for NVIDIA's libraries: both sides give the same results, and each row has figures.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { noCompiler } from '../gpu/fake-libraries.js';

const RUN = join(packageRoot(), 'bench', 'gpu', 'run.mjs');
const NO_GPU = 2;
const MS_MAX = 280_000;
// The tools that scripts/ensure-tools.sh installs for benchmarks.
const TOOLS = ['wrk', 'h2load', 'taskset', 'cmake'];

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const options = { encoding: 'utf8', timeout: MS_MAX, env: { ...process.env, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], options);
  return { status, output: `${stdout}${stderr}` };
}

const isOnPath = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));

function obstacle(): string | false {
  if (noCompiler !== false) return noCompiler;
  const missing = TOOLS.filter((name) => !isOnPath(name));
  if (missing.length > 0) return `no ${missing.join(', ')} on PATH`;
  return existsSync('/usr/include/nghttp2/nghttp2.h') ? false : 'no libnghttp2-dev';
}

interface Sample {
  readonly perSecond: number;
  readonly p50Us: number;
}
interface Row {
  readonly id: string;
  readonly error?: string;
  readonly got: number;
  readonly rounds: readonly { readonly reference: Sample; readonly serval: Sample }[];
}

describe('the benchmark on a GPU', () => {
  it('measures nothing without GPU libraries', () => {
    const empty = mkdtempSync(join(tmpdir(), 'serval-no-gpu-'));
    const { status, output } = run([], { SERVAL_GPU_FOLDER: empty });
    rmSync(empty, { recursive: true });
    assert.equal(status, NO_GPU, output);
    assert.match(output, /^NOT MEASURED, there is no GPU to measure on: ./m);
  });

  it('runs on stand-in libraries', { skip: obstacle() }, () => {
    const out = mkdtempSync(join(tmpdir(), 'serval-bench-gpu-'));
    const chosen = ['--quick', '--paths', 'rest,grpc', '--batches', '1', '--kinds', 'plain'];
    const where = ['--only', 'bert-base', '--out', out];
    const { status, output } = run(['--fake', '--compiled', ...chosen, ...where]);
    const read = (name: string): string => readFileSync(join(out, name), 'utf8');
    assert.equal(status, 0, output);
    const { rows, machine, verdicts } = JSON.parse(read('latest.gpu.json')) as {
      rows: readonly Row[];
      machine: { readonly isFake: boolean };
      verdicts: readonly string[];
    };
    const page = read('latest.gpu.md');
    rmSync(out, { recursive: true });
    const sides = ['grpc-none', 'grpc-isolated', 'rest-none', 'rest-isolated'];
    const all = [...sides, 'grpc-isolation', 'rest-isolation'];
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['x1', 'x16'].flatMap((load) => all.map((side) => `bert-base-b1-${load}-${side}`)),
    );
    for (const { id, error, got, rounds } of rows) {
      assert.equal(error, undefined, id);
      assert.ok(Number.isFinite(got), id);
      for (const { perSecond, p50Us } of rounds.flatMap((one) => [one.reference, one.serval])) {
        assert.ok(perSecond > 0 && p50Us > 0, id);
      }
    }
    assert.equal(verdicts.length, 6);
    assert.equal(machine.isFake, true);
    assert.match(page, /Over stand-ins, without a GPU: this is not a measurement/);
    assert.match(page, /^\| BERT-base \| 1 \| 16 \| REST binary \| isolated \| \d/m);
    assert.match(output, /worst .*BERT-base b1 x16/);
  });

  it('measures graphs, batching, shared memory and several load processes', {
    skip: obstacle(),
  }, () => {
    const out = mkdtempSync(join(tmpdir(), 'serval-bench-gpu-'));
    const chosen = ['--quick', '--kinds', 'graphs,batching,shared,processes', '--only', 'mlp'];
    const { status, output } = run(['--fake', '--compiled', ...chosen, '--out', out]);
    assert.equal(status, 0, output);
    const text = readFileSync(join(out, 'latest.gpu.json'), 'utf8');
    rmSync(out, { recursive: true });
    const { rows } = JSON.parse(text) as { rows: readonly Row[] };
    const groups = ['graphs-b1-x1', 'batching-b1-x64', 'shared-b1-x16', 'processes-b1-x16'];
    const sides = ['none', 'isolated', 'isolation'];
    assert.deepEqual(
      rows.map(({ id }) => id),
      groups.flatMap((group) => sides.map((side) => `mlp-${group}-grpc-${side}`)),
    );
    for (const { id, error, got, rounds } of rows) {
      assert.equal(error, undefined, id);
      assert.ok(Number.isFinite(got), id);
      for (const { perSecond } of rounds.flatMap((one) => [one.reference, one.serval])) {
        assert.ok(perSecond > 0, id);
      }
    }
    assert.match(
      output,
      /^estimated: \d+ s for 4 groups \(limit 240 s\), without the time to make/m,
    );
    assert.match(output, /^- dynamic batching, throughput, isolated, >= 0\.800: /m);
  });
});
