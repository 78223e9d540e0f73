// Every operator against TensorFlow's own results, over a grid of types, shapes and attributes,
// through Serval's own engine, as gRPC Predict requests. SERVAL_TF_GOLDENS: the golden folder; if
// it is not set, the fixture script makes it. SERVAL_TF_OPS: only these operators, separated by
// commas.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OPERATORS } from '../../../ts/importers/tensorflow/ops/index.js';
import { EngineRunner } from './support/engine-run.js';
import { goldenFolder } from '../golden-folder.js';
import { goldenNames, NO_GOLDENS, readGoldens } from './support/golden-files.js';
import { type CaseResult, type Outcome, runGoldens } from './support/golden-runner.js';
import { KNOWN_DIFFERENCES, knownDifference } from './support/known-differences.js';

const goldens = goldenFolder('tensorflow');
const chosen = process.env['SERVAL_TF_OPS']?.split(',');

const PORTABLE = [
  'BroadcastTo',
  'FloorDiv',
  'GatherNd',
  'GatherV2',
  'InvertPermutation',
  'Max',
  'MaxPool',
  'Pad',
  'Range',
  'Slice',
  'Sum',
  'TensorScatterMax',
  'TopKV2',
];

const count = (results: readonly CaseResult[], outcome: Outcome): number =>
  results.filter((one) => one.outcome === outcome).length;

function summary(name: string, results: readonly CaseResult[]): string {
  const outcomes = (['passed', 'failed', 'unsupported'] as const).map(
    (outcome) => `${count(results, outcome)} ${outcome}`,
  );
  return `${name}: ${outcomes.join(', ')}`;
}

/**
 * Differences from TensorFlow that are not known. Known differences that no longer occur count as
 * well.
 */
function unexpected(name: string, results: readonly CaseResult[]): string[] {
  const met = new Set<unknown>();
  const wrong = results.filter(({ outcome, text }) => {
    if (outcome === 'passed') return false;
    const known = knownDifference(name, outcome, text);
    met.add(known);
    return known === undefined;
  });
  const stale = KNOWN_DIFFERENCES.filter((one) => one.group === name && !met.has(one));
  return [
    ...wrong.map(({ outcome, text }) => `${outcome}: ${text}`),
    ...stale.map(({ why }) => `a known difference that is none: ${why}`),
  ];
}

describe('operators against TensorFlow', { skip: goldens === undefined && NO_GOLDENS }, () => {
  const folder = goldens ?? '';
  const names = goldens === undefined ? [] : (chosen ?? goldenNames(folder));
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  for (const name of names) {
    test(name, async (t) => {
      const results = await runGoldens(readGoldens(folder, name), OPERATORS, engine);
      t.diagnostic(summary(name, results));
      assert.notEqual(results.length, 0);
      assert.deepEqual(unexpected(name, results), []);
    });
  }

  // Operators whose graphs contain our operators, which ONNX's replace in exported files.
  for (const name of PORTABLE.filter((one) => names.includes(one))) {
    test(`${name} in a file for other runtimes`, async () => {
      const group = readGoldens(folder, name);
      const results = await runGoldens(group, OPERATORS, engine, { portable: true });
      assert.deepEqual(unexpected(name, results), []);
    });
  }

  test('the grid sees a wrong lowering, a wrong shape and a missing operator', async () => {
    const group = readGoldens(folder, 'Sub');
    const { Add, Sub, ...rest } = OPERATORS;
    assert.ok(Add !== undefined && Sub !== undefined);
    const wrong = await runGoldens(group, { ...rest, Sub: Add }, engine);
    assert.ok(count(wrong, 'failed') > wrong.length / 2);
    const misshapen = await runGoldens(
      group,
      {
        ...rest,
        Sub: { lower: (cx) => ({ ...cx.op('Sub', cx.tensors()), shape: [7, 7, 7] }) },
      },
      engine,
    );
    assert.ok(misshapen.every(({ outcome, text }) => outcome !== 'passed' || text === ''));
    assert.ok(count(misshapen, 'failed') > misshapen.length / 2);
    const missing = await runGoldens(group, rest, engine);
    assert.equal(count(missing, 'unsupported'), missing.length - 2);
  });
});
