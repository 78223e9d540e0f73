// Plans from the importers' builder, read and run by C++.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFlatTable } from '../../../../ts/model/flat-table.js';
import {
  call,
  columnRef,
  constant,
  encodePlan,
  PlanBuilder,
} from '../../../../ts/importers/plan/builder.js';
import type { ClassifyAttributes } from '../../../../ts/importers/plan/generated/stages.js';
import { PLAN } from '../../../../ts/importers/plan/generated/flat-tables.js';
import { addPick } from '../../../../ts/importers/plan/forest.js';
import { PlanError, runPlan } from './run-plan.js';

// x unchanged, and the result of `pick` for i.
function picking() {
  const builder = new PlanBuilder('spark', 'a test');
  const x = builder.field({ name: 'x', type: 'double' });
  const i = builder.field({ name: 'i', type: 'int32' });
  const same = builder.derive('same', 'double', columnRef(x), 'stage 0');
  const word = builder.column('word', 'string');
  addPick(builder, i, { texts: ['zero', 'one'] }, word, 'stage 1');
  const pair = builder.column('pair', 'vector');
  addPick(builder, i, { reals: Float64Array.of(0, 0.5, 1, 1.5), width: 2 }, pair, 'stage 2');
  builder.output({ name: 'same', column: same, type: 'double' });
  builder.output({ name: 'word', column: word, type: 'string' });
  builder.output({ name: 'pair', column: pair, type: 'vector', size: 2, extra: true });
  return builder;
}

test('columns, expressions and tables run as they were built', () => {
  const answer = runPlan(picking().finish(), {
    x: [1.5, null, Number.NaN, Number.NEGATIVE_INFINITY],
    i: [1, 0, null, 7],
  });
  assert.deepEqual(answer.columns, {
    same: [1.5, null, Number.NaN, Number.NEGATIVE_INFINITY],
    word: ['one', 'zero', null, null],
    pair: [[1, 1.5], [0, 0.5], null, null],
  });
  assert.deepEqual(answer.types['pair'], { type: 'Vector', element: 'Any', scale: 0 });
});

test('a frame of no rows has outputs of no rows', () => {
  const { columns } = runPlan(picking().finish(), { x: [], i: [] });
  assert.deepEqual(columns, { same: [], word: [], pair: [] });
});

test('a plan is the same when it was written and read', () => {
  const plan = picking().finish();
  const again = readFlatTable(PLAN, encodePlan(plan));
  assert.equal(again.producer, 'a test');
  assert.deepEqual(
    again.block.stages.map(({ kind, place }) => [kind, place]),
    [
      ['derive', 'stage 0'],
      ['pick', 'stage 1'],
      ['pick', 'stage 2'],
    ],
  );
  const [, , last] = again.block.stages;
  assert.deepEqual(last?.attributes[0], { name: 'reals', reals: Float64Array.of(0, 0.5, 1, 1.5) });
  assert.deepEqual(encodePlan(again), encodePlan(plan));
});

test('constants keep every bit', () => {
  const values = [
    { type: 'int64', integer: 2n ** 63n - 1n },
    { type: 'int64', integer: -(2n ** 63n) },
    { type: 'double', real: -0 },
    { type: 'double', real: 5e-324 },
    { type: 'decimal', integer: -1n, high: -1n, precision: 38, scale: 2 },
    { type: 'string', text: 'naïve\u0000' },
  ] as const;
  const builder = new PlanBuilder('mleap', '');
  values.forEach((value, i) => {
    const column = builder.derive(`${i}`, value.type, constant(value), 'here');
    builder.output({ name: `${i}`, column, type: value.type });
  });
  const { columns } = runPlan(builder.finish(), {}, { rows: 1 });
  assert.deepEqual(columns, {
    0: ['9223372036854775807'],
    1: ['-9223372036854775808'],
    2: [-0],
    3: [5e-324],
    4: ['-1'],
    5: ['naïve\u0000'],
  });
});

test('a column is filled once, and before it is read', () => {
  const early = new PlanBuilder('spark', '');
  const x = early.column('x', 'double');
  early.derive('y', 'double', columnRef(x), 'stage 1');
  assert.throws(() => early.finish(), /derive at stage 1 reads column 'x' before it is filled/);
  const twice = new PlanBuilder('spark', '');
  const z = twice.field({ name: 'z', type: 'double' });
  twice.stage('coalesce', [], [z], {}, 'stage 2');
  assert.throws(() => twice.finish(), /stage 2 fills column 'z', which is filled already/);
  const same = new PlanBuilder('spark', '');
  same.field({ name: 'a', type: 'double' });
  same.field({ name: 'a', type: 'double' });
  assert.throws(() => same.finish(), /two fields are named 'a'/);
});

test('an expression that is too deep is an error, not a crash', () => {
  let deep = constant(1);
  for (let i = 0; i < 100_000; i += 1) deep = call('sql.negative', deep);
  const builder = new PlanBuilder('spark', '');
  assert.throws(
    () => builder.derive('x', 'double', deep, 'p'),
    /at most 200 nested calls, got \d+/,
  );
});

test('reports all errors of stages at once', () => {
  const builder = new PlanBuilder('pmml', '');
  const x = builder.field({ name: 'x', type: 'double' });
  const y = builder.column('y', 'double');
  const z = builder.column('z', 'double');
  // @ts-expect-error: proto/stages has no such kind.
  builder.stage('no_such_kind', [x], [y], {}, 'line 3');
  const misspelt = { reals: Float64Array.of(1), typo: 1 };
  // @ts-expect-error: the kind has no such attribute, also in a variable.
  builder.stage('pick', [x], [z], misspelt, 'line 4');
  // @ts-expect-error: the kind requires an attribute.
  builder.stage('normalizer', [x], [builder.column('v', 'vector')], {}, 'line 5');
  // @ts-expect-error: the attribute has no such word.
  const link = { link: 'softmacks', roles: [] } satisfies ClassifyAttributes;
  builder.stage('classify', [x], [], link as unknown as ClassifyAttributes, 'line 6');
  builder.output({ name: 'z', column: z, type: 'double' });
  assert.throws(
    () => runPlan(builder.finish(), { x: [1] }),
    (error: PlanError) => {
      assert.equal(error.code, 'ModelInvalid');
      assert.match(error.message, /4 faults: line 3 \(no_such_kind\): unknown kind of stage/);
      assert.match(error.message, /line 4 \(pick\): unknown attribute 'typo'/);
      assert.match(error.message, /line 5 \(normalizer\): required attribute 'p' is missing/);
      const words =
        /line 6 \(classify\): attribute 'link': unknown word 'softmacks', expected one of/;
      assert.match(error.message, words);
      return true;
    },
  );
});

test('refuses a function that proto/stages does not have', () => {
  // @ts-expect-error: there is no such function.
  const misspelt = call('sql.negatve', constant(1));
  const builder = new PlanBuilder('spark', '');
  const column = builder.derive('x', 'double', misspelt, 'line 1');
  builder.output({ name: 'x', column, type: 'double' });
  assert.throws(() => runPlan(builder.finish(), {}, { rows: 1 }), /sql\.negatve/);
});

test('refuses a plan of another version', () => {
  const plan = { ...picking().finish(), version: 1 };
  assert.throws(
    () => runPlan(plan, { x: [1], i: [1] }),
    /has plan version 1; this build reads version \d+: import the model again/,
  );
});

test('a damaged plan is refused', () => {
  const bytes = encodePlan(picking().finish());
  const broken = readFlatTable(PLAN, bytes);
  assert.throws(
    () => runPlan({ ...broken, columns: [] }, { x: [1], i: [0] }),
    /field 'x': column 0 is missing or already in use/,
  );
});
