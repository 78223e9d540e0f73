// PMML's stage kinds refuse plans whose attributes do not fit together, because a plan is a file
// that need not come from the importer. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Column,
  type Expression,
  PlanBuilder,
  call,
  columnRef,
  constant,
} from '../../../../ts/importers/plan/builder.js';
import type { AttributeValue } from '../../../../ts/importers/plan/attributes.js';
import type { Type } from '../../../../ts/importers/plan/generated/plan.js';
import { PlanError, runPlan } from '../plan/run-plan.js';

type Attributes = Readonly<Record<string, AttributeValue>>;

// A plan of one stage over fields x (double) and s (string).
function run(
  kind: string,
  inputs: readonly ('x' | 's' | 'v')[],
  outputs: readonly Type[],
  attributes: Attributes | ((columns: Readonly<Record<string, Column>>) => Attributes),
) {
  const plan = new PlanBuilder('pmml', 'test');
  const columns: Record<string, Column> = {
    x: plan.field({ name: 'x', type: 'double' }),
    s: plan.field({ name: 's', type: 'string' }),
    v: plan.field({ name: 'v', type: 'vector' }),
  };
  const made = outputs.map((type, i) => {
    return plan.column(`out${i}`, type, type === 'list' ? 'string' : undefined);
  });
  const given = typeof attributes === 'function' ? attributes(columns) : attributes;
  // Not typed: the tests break what the types hold together.
  const stage = plan.stage.bind(plan) as (
    kind: string,
    inputs: readonly Column[],
    outputs: readonly Column[],
    attributes: Attributes,
    place: string,
  ) => void;
  stage(
    kind,
    inputs.map((each) => columns[each] as Column),
    made,
    given,
    'here',
  );
  for (const [i, column] of made.entries()) {
    const type = plan.typeOf(column);
    plan.output({
      name: `out${i}`,
      column,
      type,
      ...(type === 'list' ? { element: 'string' } : {}),
    });
  }
  return runPlan(plan.finish(), { x: [1], s: ['a'], v: [[1, 2]] });
}

function refused(...plan: Parameters<typeof run>): void {
  assert.throws(
    () => run(...plan),
    (error) => error instanceof PlanError && /here/.test(error.message),
    `${plan[0]} ${JSON.stringify(plan[3])}`,
  );
}

const ints = (...values: number[]) => Int32Array.from(values);
const reals = (...values: number[]) => Float64Array.from(values);
const texts = (...values: string[]) => ({
  values: values.map((text) => ({ type: 'string' as const, text })),
});

const TREE: Attributes = {
  first_child: ints(1, -1, -1),
  next_sibling: ints(-1, 2, -1),
  input: ints(0, 0, 0),
  test: ints(0, 3, 4),
  number: reals(0, 1, 1),
  scored: ints(1, 1, 1),
  texts: [],
  on_missing: 'none',
  no_child_last: false,
  penalty: { real: 1 },
};

test('a tree whose nodes refer to what is not there, or to each other', () => {
  assert.deepEqual(run('pmml.tree', ['x'], ['int32'], TREE).columns['out0'], [1]);
  const bad: readonly Attributes[] = [
    { first_child: ints(1, 0, -1) },
    { first_child: ints(0, -1, -1) },
    { next_sibling: ints(-1, 1, -1) },
    { first_child: ints(3, -1, -1) },
    { next_sibling: ints(-1, -2, -1) },
    { input: ints(0, 1, 0) },
    { input: ints(0, -1, 0) },
    { test: ints(0, 99, 4) },
    { test: ints(0, 10, 4) },
    { test: ints(0, 12, 4) },
    {
      test: ints(0, 14, 4),
      number: reals(0, 0.5, 1),
      real_offsets: ints(0, 1),
      set_reals: reals(1),
    },
    { test: ints(0, 14, 4), number: reals(0, 0, 1), real_offsets: ints(0, 5), set_reals: reals(1) },
    { test: ints(0, 16, 4) },
    { test: ints(0, 17, 4) },
    { number: reals(0) },
    { scored: ints() },
    { default_child: ints(9, -1, -1) },
    { default_child: ints(1) },
    { on_missing: 'guess' },
    { on_missing: 'weighted' },
    { answers: ints(1) },
    {
      first_child: ints(),
      next_sibling: ints(),
      input: ints(),
      test: ints(),
      scored: ints(),
      number: reals(),
    },
    { unknown: 1 },
  ];
  for (const each of bad) refused('pmml.tree', ['x'], ['int32'], { ...TREE, ...each });
  refused('pmml.tree', ['x'], ['int32', 'vector'], { ...TREE, width: 2, scores: reals(1) });
  refused('pmml.tree', ['v'], ['int32'], TREE);
});

test('tables that are not whole', () => {
  const two = { orig: reals(0, 1), norm: reals(0, 1) };
  assert.deepEqual(run('pmml.norm_continuous', ['x'], ['double'], two).columns['out0'], [1]);
  refused('pmml.norm_continuous', ['x'], ['double'], { orig: reals(0), norm: reals(0) });
  refused('pmml.norm_continuous', ['x'], ['double'], { orig: reals(1, 0), norm: reals(0, 1) });
  refused('pmml.norm_continuous', ['x'], ['double'], { orig: reals(0, 1), norm: reals(0) });
  refused('pmml.norm_continuous', ['x'], ['string'], two);
  refused('pmml.norm_continuous', ['s'], ['double'], two);
  refused('pmml.norm_discrete', ['x'], ['double'], { value: texts('a') });
  refused('pmml.norm_discrete', ['s'], ['double'], { value: texts('a', 'b') });
  refused('pmml.discretize', ['x'], ['string'], { intervals: reals(0, 1, 0), results: texts('a') });
  refused('pmml.discretize', ['x'], ['double'], {
    intervals: reals(0, 1, 0, 0),
    results: texts('a'),
  });
  refused('pmml.map_values', ['s'], ['string'], { keys: texts('a'), results: texts() });
  refused('pmml.map_values', ['x'], ['string'], { keys: texts('a'), results: texts('b') });
  refused('pmml.field', ['x'], ['double'], { field: 'x', invalid: 'guess' });
  refused('pmml.field', ['x'], ['double'], { field: 'x', invalid: 'replace' });
  refused('pmml.field', ['x'], ['double'], { field: 'x', valid: texts('a') });
  refused('pmml.field', ['s'], ['string'], { field: 's', outliers: 'as_missing', low: 0, high: 1 });
  refused('pmml.field', ['s'], ['double'], { field: 's' });
});

test('vectors, ranks and votes that do not fit', () => {
  assert.deepEqual(
    run('pmml.classify', ['v'], ['string'], { labels: texts('a', 'b') }).columns['out0'],
    ['b'],
  );
  refused('pmml.classify', ['x'], ['string'], { labels: texts('a') });
  refused('pmml.classify', ['v'], ['double'], { labels: texts('a') });
  refused('pmml.pick', ['v'], ['double', 'double'], { index: ints(0) });
  refused('pmml.pick', ['x'], ['double'], { index: ints(0) });
  assert.deepEqual(run('pmml.pick', ['v'], ['double'], { index: ints(-1) }).columns['out0'], [0]);
  refused('pmml.ranked', ['v'], ['string'], { labels: ['a'], rank: 0, largest: true });
  refused('pmml.element', ['x'], ['double'], { rank: 1 });
  refused('pmml.vector', ['s'], ['vector'], {});
  const ensemble = {
    method: 'sum',
    weights: reals(1),
    mask_of: ints(-1),
    weight_of: ints(-1),
    on_missing: 'continue',
    threshold: { real: 1 },
  };
  assert.deepEqual(run('pmml.combine', ['x'], ['double'], ensemble).columns['out0'], [1]);
  refused('pmml.combine', ['x'], ['double'], { ...ensemble, method: 'guess' });
  refused('pmml.combine', ['x'], ['double'], { ...ensemble, weights: reals(1, 1) });
  refused('pmml.combine', ['x'], ['double'], { ...ensemble, mask_of: ints(7) });
  refused('pmml.combine', ['x'], ['double'], { ...ensemble, on_missing: 'guess' });
  refused('pmml.combine', ['s'], ['double'], ensemble);
  refused('pmml.blend', ['v'], ['vector'], {
    ...ensemble,
    method: 'average',
    maps: ints(0),
    width: 2,
  });
  refused('pmml.vote', ['s'], ['vector', 'double'], {
    ...ensemble,
    method: 'majorityVote',
    labels: texts('a'),
  });
  const votes = { label_of: ints(5), weights: reals(1), labels: texts('a') };
  refused('pmml.leaf_votes', ['v'], ['vector', 'string'], votes);
});

test('rules and scorecards that do not fit', () => {
  const yes: Expression = constant(true);
  const rules = {
    predicates: { expressions: [yes] },
    label_of: ints(0),
    weights: reals(1),
    confidences: reals(1),
    ids: ['r'],
    labels: texts('a'),
    method: 'firstHit',
    default_label: -1,
    default_confidence: { real: 0 },
  };
  const outputs = ['string', 'vector', 'string'] as const;
  assert.deepEqual(run('pmml.rules', [], outputs, rules).columns['out0'], ['a']);
  refused('pmml.rules', [], outputs, { ...rules, label_of: ints(1) });
  refused('pmml.rules', [], outputs, { ...rules, weights: reals() });
  refused('pmml.rules', [], outputs, { ...rules, method: 'best' });
  refused('pmml.rules', [], outputs, { ...rules, default_label: 4 });
  refused('pmml.rules', [], ['string'], rules);
  const card = {
    offsets: ints(0, 1),
    predicates: { expressions: [yes] },
    partial: reals(3),
    complex_of: ints(-1),
    reasons: ['r'],
    baselines: reals(5),
    initial: { real: 1 },
    points_above: false,
  };
  const answer = run('pmml.scorecard', [], ['double', 'list'], card);
  assert.deepEqual([answer.columns['out0'], answer.columns['out1']], [[4], [['r']]]);
  refused('pmml.scorecard', [], ['double', 'list'], { ...card, offsets: ints(0, 2) });
  refused('pmml.scorecard', [], ['double', 'list'], { ...card, offsets: ints(1, 0) });
  refused('pmml.scorecard', [], ['double', 'list'], { ...card, complex_of: ints(0) });
  refused('pmml.scorecard', [], ['double', 'list'], { ...card, baselines: reals() });
});

test('functions whose constants are none, or do not fit', () => {
  const derived = (make: (x: Expression, s: Expression) => Expression) => {
    const plan = new PlanBuilder('pmml', 'test');
    const x = columnRef(plan.field({ name: 'x', type: 'double' }));
    const s = columnRef(plan.field({ name: 's', type: 'string' }));
    const column = plan.derive('out', 'string', make(x, s), 'here');
    plan.output({ name: 'out', column, type: 'string' });
    return () => runPlan(plan.finish(), { x: [1], s: ['(a+)+$'] });
  };
  const bad: readonly ((x: Expression, s: Expression) => Expression)[] = [
    (x) => call('pmml.cast', x, constant('colour')),
    (x, s) => call('pmml.cast', x, s),
    (x) => call('pmml.apply', x, x, x, x, x, x),
    (x) => call('pmml.apply', constant('pmml.nope'), constant(true), x, x, x, x),
    (x) => call('pmml.apply', constant('pmml.if'), constant(true), x, x, x, x),
    (x) => call('pmml.apply', constant('pmml.ln'), constant(true), x, x, x, x, x),
    (_, s) => call('pmml.replace', s, constant('(?=a'), constant('')),
    (_, s) => call('pmml.replace', s, constant('('), constant('')),
  ];
  for (const make of bad) assert.throws(derived(make), PlanError);
  // A pattern from data: RE2's time is linear in the length of the text.
  const long = (_: Expression, s: Expression) =>
    call('pmml.replace', constant('a'.repeat(5000) + 'b'), s, constant('x'));
  assert.deepEqual(derived(long)().columns['out'], [`${'a'.repeat(5000)}b`]);
});
