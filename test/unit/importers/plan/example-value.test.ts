// Values for example requests: from the stages of a plan, and from the fields of a PMML document.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDocument } from '../../../../ts/importers/pmml/document.js';
import { fieldExamples } from '../../../../ts/importers/pmml/examples.js';
import { readXml } from '../../../../ts/importers/pmml/xml/reader.js';
import {
  call,
  columnRef,
  constant,
  PlanBuilder,
  type Column,
} from '../../../../ts/importers/plan/builder.js';
import { exampleValue } from '../../../../ts/importers/plan/example-value.js';
import { describePlan } from '../../../../ts/importers/plan/imported.js';
import { stringIndexer } from '../../../../ts/importers/plan/ops/strings.js';
import { Problems } from '../../../../ts/importers/plan/problems.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The example for field `s` of a plan with these stages. */
function exampleOf(fill: (plan: PlanBuilder, s: Column) => void, type = 'string' as const) {
  const builder = new PlanBuilder('spark', 'Tester 1');
  const s = builder.field({ name: 's', type });
  fill(builder, s);
  const plan = builder.finish();
  const [field] = plan.fields;
  assert.ok(field);
  return exampleValue(plan, field);
}

function index(plan: PlanBuilder, input: Column, labels: readonly string[]): void {
  const output = plan.column('index', 'double');
  stringIndexer(plan, { input, output, labels, handleInvalid: 'error' }, 'stage 0');
}

function words(plan: PlanBuilder, input: Column): void {
  plan.stage('tokenizer', [input], [plan.column('words', 'list', 'string')], {}, 'stage 1');
}

test('a label that is looked up, escaped, also beside other stages and within blocks', () => {
  assert.equal(
    exampleOf((plan, s) => index(plan, s, ['a "b"', 'c'])),
    '"a \\"b\\""',
  );
  const both = exampleOf((plan, s) => {
    words(plan, s);
    index(plan, s, ['c']);
  });
  assert.equal(both, '"c"');
  const inside = exampleOf((plan, s) => {
    const block = { blocks: [plan.block(() => index(plan, s, ['within']))] };
    const predicate = { expressions: [constant(true)] };
    plan.stage('pmml.segment', [], [], { predicate, block }, 'stage 0');
  });
  assert.equal(inside, '"within"');
});

test('any text where it is cut into words only; nothing where more is done with it, or nothing', () => {
  assert.equal(
    exampleOf((plan, s) => words(plan, s)),
    '"hello world"',
  );
  const derived = exampleOf((plan, s) => {
    words(plan, s);
    plan.derive('upper', 'string', call('sql.upper', columnRef(s)), 'stage 2');
  });
  assert.equal(derived, undefined);
  assert.equal(
    exampleOf(() => undefined),
    undefined,
  );
});

test('of a PMML document: the first value, or a number within the first interval', async () => {
  const field = (name: string, type: string, inner: string) =>
    `<DataField name="${name}" optype="continuous" dataType="${type}">${inner}</DataField>`;
  const interval = (left: string, right: string) =>
    `<Interval closure="openOpen" leftMargin="${left}" rightMargin="${right}"/>`;
  const value = (text: string) => `<Value value="${text}"/>`;
  const fields = [
    field('color', 'string', value('r&quot;ed') + value('blue')),
    field('doors', 'integer', value('4')),
    field('size', 'double', interval('2', '5')),
    field('age', 'integer', interval('17.5', '20')),
    field('gap', 'integer', interval('1', '2')),
    field('odd', 'integer', value('four')),
    field('day', 'date', value('2024-02-29')),
    field('free', 'double', ''),
    field('__proto__', 'integer', value('7')),
  ];
  const text = `<?xml version="1.0"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
    <DataDictionary>${fields.join('')}</DataDictionary>
    <TreeModel functionName="regression"><MiningSchema/><Node score="1"><True/></Node></TreeModel></PMML>`;
  const folder = mkdtempSync(join(tmpdir(), 'serval-examples-'));
  try {
    writeFileSync(join(folder, 'model.pmml'), text);
    const root = await readXml(join(folder, 'model.pmml'));
    const document = readDocument(root, new Problems());
    assert.ok(document);
    assert.deepEqual(Object.entries(fieldExamples(document.dataFields)), [
      ['color', '"r\\"ed"'],
      ['doors', '4'],
      ['size', '3.5'],
      ['age', '19'],
      ['__proto__', '7'],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a document's words win over the plan's", () => {
  const builder = new PlanBuilder('pmml', 'Tester 1');
  for (const name of ['s', 't']) index(builder, builder.field({ name, type: 'string' }), [name]);
  const { fields } = describePlan(builder.finish(), { s: '"said"' });
  assert.deepEqual(
    fields.map(({ example }) => example),
    ['"said"', '"t"'],
  );
});
