// Derived fields of PMML that cannot be computed for a row: only rows that read one are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlanError } from '../plan/run-plan.js';
import { answers, dictionary, document, schema } from './documents.js';

const TREE = document(
  `${dictionary('way:integer x:double y:double')}
  <TreeModel functionName="regression">${schema('way x > y')}
  <LocalTransformations><DerivedField name="log" optype="continuous" dataType="double">
    <Apply function="ln"><FieldRef field="x"/></Apply></DerivedField></LocalTransformations>
  <Node score="0"><True/>
    <Node score="1"><SimplePredicate field="way" operator="equal" value="0"/></Node>
    <Node score="2"><SimplePredicate field="log" operator="lessThan" value="0"/></Node>
    <Node score="3"><True/></Node>
  </Node></TreeModel>`,
);

test('a row that does not read the field is answered, and the request too', async () => {
  const { columns, refused } = await answers(TREE, { way: [0, 0, 1, 1], x: [null, -1, 0.5, 2] });
  assert.deepEqual(columns['y'], [1, 1, 2, 3]);
  assert.deepEqual(refused, []);
});

test('a row that reads it is refused with the place of the field', async () => {
  const given = { way: [0, 1], x: [null, null] };
  await assert.rejects(answers(TREE, given), (error: unknown) => {
    assert.ok(error instanceof PlanError);
    assert.match(
      error.message,
      /<DerivedField> 'log': row 1: function ln does not accept missing values/,
    );
    return true;
  });
  const { columns, refused } = await answers(TREE, given, { nullForInvalid: true });
  assert.deepEqual([columns['y'], refused], [[1, null], [1]]);
});

const SPLIT = (strategy: string): string =>
  document(
    `${dictionary('x:double z:double y:string(A|B)')}
  <TreeModel functionName="classification" missingValueStrategy="${strategy}">
  ${schema('x z > y')}
  <Output><OutputField name="p" feature="probability" value="A"/>
    <OutputField name="c" feature="confidence" value="A"/></Output>
  <Node score="A" recordCount="10"><True/>
    <Node score="B" recordCount="4">
      <SimplePredicate field="x" operator="lessThan" value="1"/>
      <ScoreDistribution value="A" recordCount="3" confidence="0.8"/>
      <ScoreDistribution value="B" recordCount="1"/></Node>
    <Node score="B" recordCount="6">
      <SimplePredicate field="x" operator="greaterOrEqual" value="1"/>
      <ScoreDistribution value="A" recordCount="1"/>
      <ScoreDistribution value="B" recordCount="5" confidence="0.5"/></Node>
  </Node></TreeModel>`,
  );

// Rows that are complete in either leaf, and rows split over both.
const ROWS = { x: [0, 2, null], z: [0, 0, 0] };

test('weightedConfidence: the node answers a complete row, the highest confidence a split one', async () => {
  const { columns } = await answers(SPLIT('weightedConfidence'), ROWS);
  assert.deepEqual(columns['y'], ['B', 'B', 'A']);
  const near = (got: unknown, want: number) => assert.ok(Math.abs((got as number) - want) < 1e-12);
  const [first, second, split] = columns['p'] as number[];
  for (const [got, want] of [
    [first, 0.75],
    [second, 1 / 6],
    [split, 0.4 * 0.75 + 0.6 / 6],
  ] as const) {
    near(got, want);
  }
  const [own, none, weighed] = columns['c'] as number[];
  near(own, 0.8);
  near(none, 0);
  near(weighed, 0.4 * 0.8 + 0.6 / 6); // from B: 0.4 * 0.25 + 0.6 * 0.5
});

test('aggregateNodes: the counts of all leaves answer a split row', async () => {
  const { columns } = await answers(SPLIT('aggregateNodes'), ROWS);
  assert.deepEqual(columns['y'], ['B', 'B', 'B']);
  const [, , split] = columns['p'] as number[];
  assert.ok(Math.abs((split as number) - 0.4) < 1e-12);
});
