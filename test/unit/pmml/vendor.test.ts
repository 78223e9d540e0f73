// Vendor attributes (x-...) are honoured, or the document does not load and the error names them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importPmml } from '../../../ts/pmml/index.js';
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
