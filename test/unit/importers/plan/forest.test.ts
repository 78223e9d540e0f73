// Forests written by importers: attributes of the stage, and its results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, PlanBuilder } from '../../../../ts/importers/plan/builder.js';
import {
  addForest,
  addPick,
  type ForestOptions,
  TreeMissing,
  TreeTest,
} from '../../../../ts/importers/plan/forest.js';
import { runPlan } from './run-plan.js';

type Trees = Omit<ForestOptions, 'features'>;

function planOf(trees: (builder: PlanBuilder) => Trees, types: readonly ('double' | 'string')[]) {
  const builder = new PlanBuilder('pmml', '');
  const features = types.map((type, i) => builder.field({ name: `x${i}`, type }));
  addForest(builder, { features, ...trees(builder) }, 'line 1');
  return builder;
}

const STUMP = {
  nodes: {
    feature: Int32Array.of(0),
    threshold: Float64Array.of(0.1),
    left: Int32Array.of(~0),
    right: Int32Array.of(~1),
  },
  roots: Int32Array.of(0),
  leaves: Float64Array.of(10, 20),
  width: 1,
};

function output(builder: PlanBuilder, name: string, column: Column) {
  builder.output({ name, column, type: builder.typeOf(column) });
}

test('one tree answers its value, and its leaf picks what hangs on it', () => {
  const builder = planOf(
    (plan) => ({
      ...STUMP,
      values: plan.column('value', 'double'),
      leaf: plan.column('leaf', 'int32'),
    }),
    ['double'],
  );
  const { stages } = builder.finish().block;
  const [value, leaf] = (stages[0]?.outputs ?? []) as Column[];
  const word = builder.column('word', 'string');
  assert.ok(value !== undefined && leaf !== undefined);
  addPick(builder, leaf, { texts: ['low', 'high'] }, word, 'line 2');
  output(builder, 'value', value);
  output(builder, 'leaf', leaf);
  output(builder, 'word', word);
  assert.deepEqual(runPlan(builder.finish(), { x0: [0.1, 0.2, null] }).columns, {
    value: [10, 20, 20],
    leaf: [0, 1, 1],
    word: ['low', 'high', 'high'],
  });
});

test('a feature that is rounded to float, and one of text', () => {
  const builder = planOf(
    (plan) => {
      const values = plan.column('value', 'double');
      return {
        nodes: {
          feature: Int32Array.of(0, 1),
          threshold: Float64Array.of(Math.fround(0.1), 0),
          left: Int32Array.of(~0, ~2),
          right: Int32Array.of(~1, ~3),
          test: Uint8Array.of(TreeTest.Less, TreeTest.InSet),
          missing: Uint8Array.of(TreeMissing.Left, TreeMissing.NoAnswer),
        },
        roots: Int32Array.of(0, 1),
        leaves: Float64Array.of(1, 2, 10, 20),
        width: 1,
        sets: { offsets: Int32Array.of(0, 2), members: Int32Array.of(0, 2) },
        categories: new Map([[1, ['a', 'b', 'c']]]),
        roundToFloat: [true, false],
        sum: 'mean',
        noAnswer: 'skip',
        values,
      };
    },
    ['double', 'string'],
  );
  output(builder, 'value', 2 as Column);
  const { columns } = runPlan(builder.finish(), {
    x0: [0.1, 0.09, null, 5],
    x1: ['a', 'b', 'no such', null],
  });
  assert.deepEqual(columns['value'], [(2 + 10) / 2, (1 + 20) / 2, (1 + 20) / 2, 2]);
});

test('trees that do not fit together are refused when the plan is read', () => {
  const builder = planOf(
    (plan) => ({ ...STUMP, width: 2, values: plan.column('value', 'double') }),
    ['double'],
  );
  output(builder, 'value', 1 as Column);
  assert.throws(
    () => runPlan(builder.finish(), { x0: [1] }),
    /line 1 \(forest\): leaf 1 does not exist/,
  );
});
