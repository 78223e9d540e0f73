// PMML's expressions give JPMML-Evaluator 1.7.6's results (pmml-functions.json was made with it)
// and refuse a row where it raised an exception. Source: tabular.md 3.3, 10
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServalError } from '../../../ts/base/errors.js';
import { dictionary, document, importText, schema } from '../../unit/importers/pmml/documents.js';
import { days, micros, runPlan } from '../../unit/importers/plan/run-plan.js';

type Case = readonly [dataType: string, xml: string, expected?: unknown];

const { answers, refused } = JSON.parse(
  readFileSync(
    join(process.cwd(), 'test', 'conformance', 'tabular', 'pmml-functions.json'),
    'utf8',
  ),
) as { answers: readonly Case[]; refused: readonly Case[] };

const FIELDS =
  'k:integer x:double i:integer s:string m:string b:boolean d:double f:float dt:date ts:dateTime tm:time';
const ORDINAL =
  '<DataField name="o" optype="ordinal" dataType="string"><Value value="low"/><Value value="mid"/><Value value="high"/></DataField></DataDictionary>';
// The inputs that JPMML was given; x and m are missing.
const ROW: Readonly<Record<string, unknown>> = {
  i: 7,
  s: 'Abc',
  b: 1,
  d: 2.5,
  f: Math.fround(0.1),
  dt: days('2021-03-04'),
  ts: micros('2021-03-04 05:06:07'),
  tm: 5 * 3600 + 6 * 60 + 7,
  o: 'mid',
};

function outputs(cases: readonly Case[], inside = (xml: string, _i: number) => xml): string {
  const fields = cases.map(([dataType, xml], i) => {
    const type = dataType === '-' ? '' : ` dataType="${dataType}"`;
    return `<OutputField name="out${i}" feature="transformedValue"${type}>${inside(xml, i)}</OutputField>`;
  });
  return document(
    `${dictionary(FIELDS).replace('</DataDictionary>', ORDINAL)}
    <TreeModel functionName="regression">${schema('k x i s m b d f dt ts tm o')}
    <Output>${fields.join('\n')}</Output><Node score="1"><True/></Node></TreeModel>`,
  );
}

function columns(names: readonly string[], rows: number): Record<string, unknown[]> {
  const given = (name: string, row: number) => (name === 'k' ? row : (ROW[name] ?? null));
  return Object.fromEntries(
    names.map((name) => [name, Array.from({ length: rows }, (_, row) => given(name, row))]),
  );
}

function same(got: unknown, expected: unknown, where: string): void {
  if (typeof expected === 'number' && typeof got === 'number') {
    const most = 1e-12 * Math.max(1, Math.abs(expected));
    // JPMML prints floats with seven digits.
    const float = Math.fround(got) === got && !Number.isInteger(got);
    const within = Math.abs(got - expected) <= (float ? 1e-7 : most);
    assert.ok(within, `${where}: got ${got}, expected ${expected}`);
    return;
  }
  assert.equal(String(got), String(expected), where);
}

test('expressions that have a value', async () => {
  const { plan } = await importText(outputs(answers));
  const answer = runPlan(
    plan,
    columns(
      plan.fields.map((each) => each.name),
      1,
    ),
  );
  assert.ok(answers.length > 300);
  for (const [i, [, xml, expected]] of answers.entries()) {
    same(answer.columns[`out${i}`]?.[0], expected, xml);
  }
});

test('expressions that refuse their row', async () => {
  const atLoad: Case[] = [];
  const atRun: Case[] = [];
  for (const each of refused) {
    try {
      await importText(outputs([each]));
      atRun.push(each);
    } catch (error) {
      assert.ok(error instanceof ServalError, String(error));
      atLoad.push(each);
    }
  }
  assert.ok(atLoad.length < 5, `${atLoad.map(([, xml]) => xml)}`);
  // Each expression is evaluated in its own row only.
  const chosen = (xml: string, i: number) =>
    `<Apply function="if"><Apply function="equal"><FieldRef field="k"/><Constant>${i}</Constant></Apply>${xml}</Apply>`;
  const { plan } = await importText(outputs(atRun, chosen));
  const rows = atRun.length + 1;
  const given = columns(
    plan.fields.map((each) => each.name),
    rows,
  );
  const answer = runPlan(plan, given, { rows, nullForInvalid: true });
  const all = atRun.map((_, i) => i);
  const missed = all.filter((row) => !answer.refused.includes(row));
  assert.deepEqual(
    missed.map((row) => atRun[row]?.[1]),
    [],
  );
  assert.ok(!answer.refused.includes(atRun.length), 'a row in which none is evaluated');
});
