// PMML documents with ModelVerification on a running server: a model that matches its records
// serves; one that does not leaves the older version serving. Source: the PMML standard, "Model
// Verification".
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';

const FIELDS = `<DataField name="x" optype="continuous" dataType="double"/>
  <DataField name="day" optype="ordinal" dataType="date"/>
  <DataField name="word" optype="categorical" dataType="string"/>
  <DataField name="y" optype="continuous" dataType="double"/>`;

interface Said {
  readonly y: string;
  readonly label: string;
}

/** y = 3 x; two records, the second of which has the given values. */
function documentText({ y, label }: Said): string {
  return `<?xml version="1.0"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" xmlns:d="urn:d" version="4.4"><Header/>
<DataDictionary>${FIELDS}</DataDictionary>
<RegressionModel functionName="regression">
  <MiningSchema><MiningField name="x"/><MiningField name="day"/><MiningField name="word"/>
    <MiningField name="y" usageType="target"/></MiningSchema>
  <Output><OutputField name="out" feature="predictedValue"/>
    <OutputField name="label" feature="transformedValue" dataType="string" optype="categorical">
      <FieldRef field="word"/></OutputField>
    <OutputField name="day_out" feature="transformedValue" dataType="date" optype="ordinal">
      <FieldRef field="day"/></OutputField></Output>
  <RegressionTable intercept="0"><NumericPredictor name="x" coefficient="2"/>
    <PredictorTerm coefficient="1"><FieldRef field="x"/></PredictorTerm></RegressionTable>
  <ModelVerification recordCount="2" fieldCount="6"><VerificationFields>
      <VerificationField field="x" column="d:x"/><VerificationField field="day"/>
      <VerificationField field="word"/><VerificationField field="label"/>
      <VerificationField field="day_out"/>
      <VerificationField field="out" precision="1e-9"/><VerificationField field="y"/>
    </VerificationFields><InlineTable>
      <row><d:x>1.5</d:x><day>2024-02-29</day><word>a &amp; b</word><label>a &amp; b</label>
        <day_out>2024-02-29</day_out><out>4.5</out><y>999</y></row>
      <row><d:x>-1e3</d:x><word></word><label>${label}</label><out>${y}</out></row>
    </InlineTable></ModelVerification>
</RegressionModel></PMML>`;
}

const RIGHT = { y: '-3000.000000001', label: '' };
const WRONG = { y: '-3001', label: 'b' };
const SETTING = (mode: string): string =>
  `platform: "pmml_xml" version_policy { all {} }
   parameters { key: "verification" value { string_value: "${mode}" } }`;

describe('verification records', () => {
  let server: ServalProcess;
  let folder = '';
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const call = async (path: string, body?: object): Promise<string> => {
    const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await fetch(`http://127.0.0.1:${server.httpPort}${path}`, options)).text();
  };
  const status = (model: string): Promise<string> => call(`/v1/models/${model}`);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-verification-'));
    write('right/1/model.pmml', documentText(RIGHT));
    for (const mode of ['fail', 'warn', 'off']) {
      write(`${mode}/1/model.pmml`, documentText(RIGHT));
      write(`${mode}/2/model.pmml`, documentText(WRONG));
      write(`${mode}/config.pbtxt`, SETTING(mode));
    }
    server = await startServer([
      folder,
      '--strict-readiness=false',
      '--model-control-mode=explicit',
      '--load-model=*',
    ]);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a model that answers as it says serves, and its records count as no requests', async () => {
    const inputs = [{ name: 'x', datatype: 'FP64', shape: [1], data: [2] }];
    assert.match(await call('/v2/models/right/infer', { inputs }), /"data":\[6\.0\]/);
    assert.match(await call('/v2/models/right/stats'), /"inference_count":1\b/);
    assert.match(server.stderr + server.stdout, /model verified.*"records":2/);
  });

  test('one that does not is not loaded: record, output, expected, got', async () => {
    const said =
      'record 2: \'label\': expected "b", got ""; ' +
      "record 2: 'out': expected -3001 (precision 1e-9), got -3000";
    const { model_version_status: versions } = JSON.parse(await status('fail')) as {
      model_version_status: { version: string; state: string; status: { error_message: string } }[];
    };
    const byVersion = new Map(versions.map((one) => [one.version, one]));
    assert.equal(byVersion.get('1')?.state, 'AVAILABLE');
    assert.equal(byVersion.get('2')?.state, 'END');
    assert.ok(byVersion.get('2')?.status.error_message.includes(said), JSON.stringify(versions));
  });

  test('with "warn" and "off" it serves', async () => {
    for (const mode of ['warn', 'off']) {
      assert.doesNotMatch(await status(mode), /"END"/);
      const inputs = [{ name: 'x', datatype: 'FP64', shape: [1], data: [2] }];
      assert.match(
        await call(`/v2/models/${mode}/versions/2/infer`, { inputs }),
        /"data":\[6\.0\]/,
      );
    }
    const log = server.stderr + server.stdout;
    assert.match(log, /"model":"warn","version":"2","warning":"the model's results differ from/);
    assert.doesNotMatch(log, /"model":"off","version":"2","warning"/);
  });

  test('a version that is replaced by such a one goes on serving', async () => {
    write('right/1/model.pmml', documentText(WRONG));
    const answer = await call('/v2/repository/models/right/load', {});
    assert.match(answer, /verification records say: record 2: 'label'/);
    const inputs = [{ name: 'x', datatype: 'FP64', shape: [1], data: [2] }];
    assert.match(await call('/v2/models/right/infer', { inputs }), /"data":\[6\.0\]/);
  });
});
