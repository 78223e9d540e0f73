// Aggregate over fields that have a list in each row, and fields whose lists are treated value by
// value. Expected results are those of JPMML-Evaluator 1.7.6 with collections as input.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlanError } from '../../plan/run-plan.js';
import { answers, dictionary, document, importText, schema } from '../documents.js';

const FIELDS = dictionary('x:double n:integer f:float s:string(a|b|c) y:double');

const ask = (name: string, of: string, field: string, more = '') =>
  `<OutputField name="${name}" feature="transformedValue"><Aggregate field="${field}" function="${of}" ${more}/></OutputField>`;

// y is twice the number of x's.
function model(outputs: string, fields = schema('x n f s > y')): string {
  return `<RegressionModel functionName="regression">${fields}<Output>${outputs}</Output>
    <LocalTransformations><DerivedField name="many" optype="continuous" dataType="integer">
      <Aggregate field="x" function="count"/></DerivedField></LocalTransformations>
    <RegressionTable intercept="0"><NumericPredictor name="many" coefficient="2"/></RegressionTable>
    </RegressionModel>`;
}

const text = (outputs: string, fields?: string) => document(FIELDS + model(outputs, fields));

test('one number of all values of a row', async () => {
  const outputs = [
    ...['count', 'sum', 'average', 'min', 'max'].map((each) => ask(`x_${each}`, each, 'x')),
    ...['sum', 'average', 'max'].map((each) => ask(`n_${each}`, each, 'n')),
    ask('f_average', 'average', 'f'),
    ask('s_count', 'count', 's'),
  ];
  const { columns, types } = await answers(text(outputs.join('')), {
    x: [[1, 2, 4.5], [1, Number.NaN, 3], null],
    n: [[1, 2, 4], [2147483647, -5], [1]],
    f: [[1, 2, 4], [0.1], []],
    s: [['b', 'a'], [], ['c']],
  });
  assert.deepEqual(columns['y'], [6, 4, null]);
  assert.deepEqual(columns['x_count'], [3, 2, null]);
  assert.deepEqual(columns['x_sum'], [7.5, 4, null]);
  assert.deepEqual(columns['x_average'], [2.5, 2, null]);
  assert.deepEqual(columns['x_min'], [1, 1, null]);
  assert.deepEqual(columns['x_max'], [4.5, 3, null]);
  assert.deepEqual(columns['n_sum'], [7, 2147483642, 1]);
  assert.equal(types['n_sum']?.type, 'Int32');
  assert.deepEqual(columns['n_average'], [2.3333333333333335, 1073741821, 1]);
  assert.deepEqual(columns['f_average'], [2.3333332538604736, Math.fround(0.1), null]);
  assert.equal(types['f_average']?.type, 'Float');
  assert.deepEqual(columns['s_count'], [2, 0, 1]);
});

test('has a count and nothing else for no values', async () => {
  const given = { x: [[]] };
  const all = text(
    ask('count', 'count', 'x') + ask('sum', 'sum', 'x') + ask('avg', 'average', 'x'),
  );
  const { columns } = await answers(all, given);
  assert.deepEqual([columns['count'], columns['sum'], columns['avg']], [[0], [null], [null]]);
  for (const name of ['min', 'max']) {
    await assert.rejects(
      answers(text(ask('out', name, 'x')), given),
      (error) =>
        error instanceof PlanError &&
        error.message.includes(`row 0: function ${name}: expected values, got none`),
    );
    const { columns: left, refused } = await answers(text(ask('out', name, 'x')), given, {
      nullForInvalid: true,
    });
    assert.deepEqual([left['out'], refused], [[null], [0]]);
  }
});

test('a sum of integers that is none is refused', async () => {
  await assert.rejects(
    answers(text(ask('out', 'sum', 'n')), { n: [[2147483647, 1]] }),
    /row 0: function sum: the result is not a 32-bit integer/,
  );
});

const TREATED = `<DataDictionary><DataField name="x" optype="continuous" dataType="double">
    <Interval closure="closedClosed" leftMargin="-5" rightMargin="12"/>
    <Value value="-1" property="missing"/></DataField>
  <DataField name="y" optype="continuous" dataType="double"/></DataDictionary>`;

test('the values of a list are treated one by one, and a missing one is left out', async () => {
  const list = (attributes: string) => {
    const fields = `<MiningSchema><MiningField name="x" ${attributes}/><MiningField name="y" usageType="target"/></MiningSchema>`;
    return document(TREATED + model(ask('sum', 'sum', 'x'), fields));
  };
  const sums = async (attributes: string, ...x: (readonly number[])[]) => {
    const { columns } = await answers(list(attributes), { x });
    return columns['sum'];
  };
  const { NaN: none } = Number;
  assert.deepEqual(await sums('', [3, 2, 4.5], [4, none, 3], [-1, 4]), [9.5, 7, 4]);
  assert.deepEqual(await sums('missingValueReplacement="7"', [4, none, 3], [-1]), [14, 7]);
  const clipped = 'outliers="asExtremeValues" lowValue="0" highValue="10"';
  assert.deepEqual(await sums(clipped, [-3, 11, 3]), [13]);
  assert.deepEqual(await sums('invalidValueTreatment="asMissing"', [-9, 99, 3]), [3]);
  await assert.rejects(sums('', [3], [-9, 3]), /row 1: field 'x': value "-9.0" is not valid/);
  const strict = list('missingValueTreatment="returnInvalid"');
  await assert.rejects(answers(strict, { x: [null] }), /row 0: field 'x' must not be missing/);
});

async function problems(...parts: Parameters<typeof text>): Promise<string> {
  try {
    await importText(text(...parts));
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test('reports all errors of an Aggregate at load', async () => {
  const outputs = [
    ask('a', 'multiset', 'x'),
    ask('b', 'mode', 'x'),
    ask('c', 'sum', 's'),
    ask('d', 'sum', 'x', 'groupField="s"'),
    ask('e', 'sum', 'x', 'sqlWhere="x > 1"'),
    ask('f', 'sum', 'many'),
    ask('g', 'sum', 'nowhere'),
    '<OutputField name="h" feature="transformedValue"><FieldRef field="x"/></OutputField>',
    '<OutputField name="i" feature="transformedValue"><Lag field="n" n="1"/></OutputField>',
  ];
  const told = await problems(outputs.join(''));
  for (const part of [
    'function="multiset" is not supported',
    'function="mode" is unknown',
    'function="sum" requires a number, but field \'s\' is not one',
    'groupField is not supported',
    'sqlWhere is not supported',
    "'many': expected a field of the request with a list in each row",
    "field 'nowhere' is not declared",
    "field 'x': expected one value in each row, got a list",
    '<Lag> is not supported as an expression: it reads earlier rows',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
  const dates = document(`${dictionary('x:date y:double')}${model('', schema('x > y'))}`);
  await assert.rejects(importText(dates), /lists of data type date are not supported/);
});
