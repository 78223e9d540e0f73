// MiningFields treat missing, invalid and extreme values like JPMML-Evaluator 1.7.6
// (pmml-treatments.json was made with it: attributes, and for each value its replacement and
// validity). Source: tabular.md 3.3
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { document, importText } from '../../unit/importers/pmml/documents.js';
import { runPlan } from '../../unit/importers/plan/run-plan.js';

type Kind = 'd' | 's' | 'i';
type Cell = 'refused' | readonly [value: unknown, valid: boolean];

const FIELDS: Readonly<Record<Kind, string>> = {
  d: `<DataField name="x" optype="continuous" dataType="double">
    <Interval closure="closedOpen" leftMargin="0" rightMargin="10"/>
    <Value value="-999" property="missing"/><Value value="5" property="invalid"/></DataField>`,
  s: `<DataField name="x" optype="categorical" dataType="string"><Value value="a"/>
    <Value value="b"/><Value value="?" property="missing"/><Value value="z" property="invalid"/>
    </DataField>`,
  i: `<DataField name="x" optype="categorical" dataType="integer"><Value value="1"/>
    <Value value="2"/><Value value="9"/></DataField>`,
};
const VALUES: Readonly<Record<Kind, readonly unknown[]>> = {
  d: [null, -999, 5, 7, 1, 9, 10, -1],
  s: [null, 'a', '?', 'z', 'q', ''],
  i: [null, 1, 2, 3],
};

const cases = JSON.parse(
  readFileSync(
    join(process.cwd(), 'test', 'conformance', 'tabular', 'pmml-treatments.json'),
    'utf8',
  ),
) as readonly (readonly [Kind, string, readonly Cell[]])[];

for (const [kind, attributes, expected] of cases) {
  test(`${kind}: ${attributes}`, async () => {
    const { plan } = await importText(
      document(`<DataDictionary>${FIELDS[kind]}</DataDictionary>
        <TreeModel functionName="regression"><MiningSchema><MiningField name="x" ${attributes}/>
        </MiningSchema><Output>
        <OutputField name="out" feature="transformedValue"><FieldRef field="x"/></OutputField>
        <OutputField name="valid" feature="transformedValue" dataType="boolean">
        <Apply function="isValid"><FieldRef field="x"/></Apply></OutputField></Output>
        <Node score="1"><True/></Node></TreeModel>`),
    );
    const answer = runPlan(plan, { x: VALUES[kind] }, { nullForInvalid: true });
    const got = expected.map((_, row) =>
      answer.refused.includes(row)
        ? 'refused'
        : [answer.columns['out']?.[row] ?? null, answer.columns['valid']?.[row] === 1],
    );
    assert.deepEqual(got, expected);
  });
}
