// PMML documents on a running server: one without inputs in every protocol, and one compressed with
// gzip in every place where a model may be. Source: docs/reference/tabular.md.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { packageRoot } from '../../../ts/base/package-files.js';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';
import { Asking } from './rules/asking.js';

const document = (fields: string, schema: string, table: string): string =>
  `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
   ${fields}<DataField name="y" optype="continuous" dataType="double"/></DataDictionary>
   <RegressionModel functionName="regression"><MiningSchema>${schema}
   <MiningField name="y" usageType="target"/></MiningSchema>${table}</RegressionModel></PMML>`;
const CONSTANT = document('', '', '<RegressionTable intercept="7"/>');
const DOUBLE = document(
  '<DataField name="x" optype="continuous" dataType="double"/>',
  '<MiningField name="x"/>',
  '<RegressionTable intercept="0"><NumericPredictor name="x" coefficient="2"/></RegressionTable>',
);

describe('PMML documents on a server', () => {
  let server: ServalProcess;
  let folder = '';
  let asking: Asking;
  const v1 = async (model: string, body: object): Promise<unknown> => {
    const [status, text] = await asking.post(`/v1/models/${model}:predict`, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-pmml-'));
    const files: Record<string, string | Uint8Array> = {
      'models/constant/1/model.pmml': CONSTANT,
      'models/packed/1/model.pmml.gz': gzipSync(DOUBLE),
      'models/renamed/1/model.pmml': gzipSync(DOUBLE),
      'models/xml/2/model.xml.gz': gzipSync(DOUBLE),
      'models/damaged/1/model.pmml.gz': gzipSync(DOUBLE).subarray(0, 100),
    };
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const file = join(folder, 'twice.pmml.gz');
    writeFileSync(file, gzipSync(DOUBLE));
    server = await startServer([
      join(folder, 'models'),
      '--model-control-mode=explicit',
      '--load-model=*',
      '--strict-readiness=false',
    ]);
    asking = new Asking(server);
  });
  after(async () => {
    asking.client.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a document without inputs answers each row that is asked for', async () => {
    assert.deepEqual(await v1('constant', { instances: [{}, {}] }), { predictions: [7, 7] });
    assert.deepEqual(await v1('constant', { instances: [] }), { predictions: [] });
    assert.deepEqual(await v1('constant', { inputs: {} }), { outputs: [7] });
    const [status, text] = await asking.post('/v2/models/constant/infer', { inputs: [] });
    assert.equal(status, 200, text);
    const y = [{ name: 'y', datatype: 'FP64', shape: [1], data: [7] }];
    assert.deepEqual((JSON.parse(text) as { outputs: unknown }).outputs, y);
  });

  test('a document without inputs answers one row to every form of a V2 request', async () => {
    await asking.answers('constant', [], [{ name: 'y', shape: [1], data: [7] }]);
  });

  test('serves compressed documents of a repository', async () => {
    for (const model of ['packed', 'renamed', 'xml']) {
      const answer = await v1(model, { instances: [{ x: 1.5 }, { x: -2 }] });
      assert.deepEqual(answer, { predictions: [3, -4] }, model);
    }
  });

  test('serves a compressed document that is given as a file', async () => {
    const alone = await startServer([join(folder, 'twice.pmml.gz')]);
    try {
      const clients = new Asking(alone);
      const [, text] = await clients.post('/v1/models/twice:predict', { instances: [{ x: 5 }] });
      assert.deepEqual(JSON.parse(text), { predictions: [10] });
      clients.client.close();
    } finally {
      await alone.stop();
    }
  });

  test('says why a damaged one does not load', async () => {
    const [, text] = await asking.post('/v2/repository/index', {});
    const models = JSON.parse(text) as { name: string; state: string; reason?: string }[];
    const damaged = models.find(({ name }) => name === 'damaged');
    assert.equal(damaged?.state, 'UNAVAILABLE');
    assert.match(damaged?.reason ?? '', /the gzip data is damaged: unexpected end of file/);
  });

  test('serves a compressed document that is uploaded', async () => {
    const content = gzipSync(DOUBLE).toString('base64');
    const parameters = { config: '{"backend": "tabular"}', 'file:1/model.pmml.gz': content };
    const [status, text] = await asking.post('/v2/repository/models/sent/load', { parameters });
    assert.equal(status, 200, text);
    assert.deepEqual(await v1('sent', { instances: [{ x: 4 }] }), { predictions: [8] });
  });

  test('inspects a compressed document', () => {
    const command = ['bin/serval.mjs', 'inspect', join(folder, 'twice.pmml.gz')];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, {
      cwd: packageRoot(),
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /twice[\s\S]*PMML 4\.4/);
    assert.match(stdout, /\bx\b[\s\S]*\by\b/);
  });
});
