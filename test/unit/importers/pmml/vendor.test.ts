// Vendor attributes (x-...) and elements (X-...) take effect, or the document does not load and the
// error names them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importPmml } from '../../../../ts/importers/pmml/index.js';
import { dictionary, document, schema } from './documents.js';

async function load(text: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'serval-vendor-'));
  try {
    writeFileSync(join(folder, 'model.pmml'), text);
    return await importPmml(join(folder, 'model.pmml'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tree = (attributes: string, node = '', around = '') =>
  document(`${dictionary('x:double y:double')}
    <TreeModel functionName="regression" ${attributes}>${schema('x > y')}${around}
    <Node score="1" ${node}><True/></Node></TreeModel>`);
const votes = (attributes: string) =>
  document(`${dictionary('x:double y:double')}
    <MiningModel functionName="regression">${schema('x > y')}
    <Segmentation multipleModelMethod="sum" ${attributes}><Segment><True/>
    <TreeModel functionName="regression">${schema('x')}<Node score="1"><True/></Node></TreeModel>
    </Segment></Segmentation></MiningModel>`);

test('an unknown attribute is refused with its line, name and value', async () => {
  await assert.rejects(load(tree('x-shape="round"')), /line 4 <TreeModel>: x-shape="round"/);
  await assert.rejects(load(tree('', 'x-more="1"')), /<Node>: x-more="1"/);
  await assert.rejects(load(tree('x-mathContext="decimal"')), /x-mathContext="decimal"/);
  await assert.rejects(load(tree('x-wordRE="a"')), /x-wordRE="a"/);
});

test('attributes in remarks are passed over', async () => {
  const stats = '<ModelStats><UnivariateStats field="x" x-note="1"/></ModelStats>';
  await load(tree('', '', stats));
  await load(tree('x-mathContext="double"'));
});

test('an attribute of earlier versions is refused where PMML 4.4 has its own', async () => {
  const text = votes('x-missingThreshold="0.5"');
  await assert.rejects(load(text), /x-missingThreshold="0.5".*expected missingThreshold/);
  await load(text.replaceAll('4.4', '4.3').replaceAll('4_4', '4_3'));
});

test('an unknown element is refused with its line, name and place', async () => {
  const inside = (element: string) => tree('', '', element);
  await assert.rejects(
    load(inside('<X-Definition/>')),
    /line 4 <X-Definition>: is a vendor element that is not supported in <TreeModel>/,
  );
  await assert.rejects(load(inside('<X-Error message="no"/>')), /<X-Error>: .* in <TreeModel>/);
  await assert.rejects(
    load(inside('<p:X-More xmlns:p="urn:p"/>')),
    /<X-More>: is a vendor element/,
  );
  const node = tree('').replace('<True/>', '<True/><X-Leaf/>');
  await assert.rejects(load(node), /<X-Leaf>: is a vendor element that is not supported in <Node>/);
});

test('elements in extensions, remarks and tables are passed over', async () => {
  await load(tree('', '', '<Extension><X-Definition/></Extension>'));
  await load(tree('', '', '<ModelStats><X-More x-note="1"/></ModelStats>'));
  const cells = '<InlineTable><row><X-a>1</X-a><r>2</r></row></InlineTable>';
  const map = `<MapValues outputColumn="r"><FieldColumnPair field="x" column="X-a"/>${cells}</MapValues>`;
  const derived = `<DerivedField name="d" optype="continuous" dataType="double">${map}</DerivedField>`;
  await load(tree('', '', `<LocalTransformations>${derived}</LocalTransformations>`));
});

test('a report names an output of its model', async () => {
  const report = (attributes: string) =>
    `<Output><OutputField name="r" feature="x-report" dataType="string" ${attributes}/></Output>`;
  await assert.rejects(load(tree('', '', report(''))), /<OutputField> 'r': has no x-reportField/);
  await assert.rejects(
    load(tree('', '', report('x-reportField="q"'))),
    /x-reportField="q" is not the name of an OutputField/,
  );
});
