// Boosters whose configuration is of Triton's FIL backend: its one output, and categories as
// numbers. Source: docs/model_config.md of the FIL backend.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import type { FilAnswer } from '../../../../ts/model/booster-answer.js';
import { runPlan } from '../plan/run-plan.js';
import { documentOf, jsonOf, LIGHTGBM, ownOutputs, TREE } from './support.js';

const FIL: FilAnswer = { server: 'fil', isClass: false, threshold: 0.5, hasBoth: false };
const { fround } = Math;
const sigmoid = (margin: number): number => fround(1 / fround(fround(Math.exp(-margin)) + 1));
const ROWS = { f0: [1, 0, 0], f1: [0, 0, 3] };

function answers(
  file: Buffer,
  answer: Partial<FilAnswer>,
  columns: Readonly<Record<string, readonly unknown[]>> = ROWS,
): readonly unknown[] {
  const { plan } = importBytes(file, 'model', { ...FIL, ...answer });
  assert.deepEqual(
    ownOutputs(plan).map(({ name, element }) => [name, element]),
    [['output__0', 'float']],
  );
  assert.equal(plan.matrix, true);
  return runPlan(plan, columns).columns['output__0'] ?? [];
}

describe("the output of Triton's FIL backend", () => {
  const two = jsonOf(documentOf({ objective: 'binary:logistic' }));
  const [high, low, middle] = [sigmoid(1.5), sigmoid(-0.25), sigmoid(0.75)];

  test('two classes: the probability, both, the class', () => {
    assert.deepEqual(answers(two, {}), [[high], [low], [middle]]);
    const both = [high, low, middle].map((one) => [fround(1 - one), one]);
    assert.deepEqual(answers(two, { hasBoth: true }), both);
    assert.deepEqual(answers(two, { isClass: true }), [[1], [0], [1]]);
    assert.deepEqual(answers(two, { isClass: true, threshold: 0.7 }), [[1], [0], [0]]);
    assert.deepEqual(answers(two, { isClass: true, threshold: high }), [[0], [0], [0]]);
  });

  test('several classes: their probabilities, the class', () => {
    const many = (objective: string): Buffer =>
      jsonOf(
        documentOf({
          objective,
          parameters: { num_class: '2' },
          trees: [TREE, { ...TREE, split_conditions: [0.5, 2, -9, 9, 9] }],
          groups: [0, 1],
        }),
      );
    for (const objective of ['multi:softprob', 'multi:softmax']) {
      assert.deepEqual(answers(many(objective), { isClass: true }), [[0], [1], [1]]);
      const [[first = 0, second = 0] = []] = answers(many(objective), {}) as number[][];
      assert.ok(first > 0.9 && second < 0.1 && Math.abs(first + second - 1) < 1e-6);
    }
  });

  test('values: a regression, several targets', () => {
    assert.deepEqual(answers(jsonOf(documentOf()), {}), [[2], [0.25], [1.25]]);
    const targets = { parameters: { num_target: '2' }, trees: [TREE, TREE], groups: [0, 1] };
    assert.deepEqual(answers(jsonOf(documentOf(targets)), {})[0], [2, 2]);
  });

  test('LightGBM answers floats; categories are numbers', () => {
    const words = Array.from({ length: 34 }, (_, i) => `w${i}`);
    const frame = LIGHTGBM.replace(
      'pandas_categorical:null',
      `pandas_categorical:${JSON.stringify([words])}`,
    );
    const columns = { a: [1, 1], b: [0, 0], c: [33, 1] };
    const want = [2, 1].map((margin) => [fround(1 / (1 + Math.exp(-margin)))]);
    assert.deepEqual(answers(Buffer.from(frame), {}, columns), want);
    assert.deepEqual(answers(Buffer.from(frame), { isClass: true }, columns), [[1], [1]]);
  });
});
