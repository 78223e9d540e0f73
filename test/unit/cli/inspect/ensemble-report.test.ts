// The report of `serval inspect` for an ensemble.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensembleReport, ensembleText } from '../../../../ts/cli/inspect/ensemble-report.js';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { scanModel } from '../../../../ts/models/registry/sources/repository.js';
import { filledFolder } from '../../temp-folder.js';

const CONFIG = `
  platform: "ensemble"
  input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]
  ensemble_scheduling { step [
    { model_name: "a" model_version: -1
      input_map { key: "i" value: "x" } output_map { key: "o" value: "t" } },
    { model_name: "b" model_version: 3
      input_map { key: "i" value: "t" } output_map { key: "o" value: "y" } }
  ] }`;

test('the report of an ensemble has its steps and its tensors', async (t) => {
  const folder = filledFolder(t, { 'config.pbtxt': CONFIG, '1/.keep': '' });
  const model = await scanModel('e', folder, 'model-folder', {});
  const [version] = model.versions;
  assert.ok(version);
  const report = ensembleReport(model, version);
  assert.deepEqual(
    report.steps.map((one) => [one.model, one.version]),
    [
      ['a', ''],
      ['b', '3'],
    ],
  );
  const [signature] = report.signatures;
  assert.deepEqual(
    signature?.inputs.map(({ name, shape }) => [name, shape]),
    [['x', [4]]],
  );
  const text = ensembleText(report, ({ name }) => `signature ${name}\n`);
  assert.match(text, /^step 1 {3}a$/m);
  assert.match(text, /^step 2 {3}b, version 3$/m);
  assert.ok(text.endsWith('signature serving_default\n'), text);
});

test('an ensemble without a valid configuration has no report', async (t) => {
  const folder = filledFolder(t, { 'config.pbtxt': CONFIG, '1/.keep': '' });
  const model = await scanModel('e', folder, 'model-folder', {});
  const [version] = model.versions;
  assert.ok(version);
  const broken = { ...model, config: { ...model.config, config: undefined, problem: 'bad' } };
  assert.throws(() => ensembleReport(broken, version), { code: ErrorCode.ModelInvalid });
});
