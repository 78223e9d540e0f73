// The reports of `serval inspect`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OnnxHeader } from '../../../../ts/importers/onnx/reader.js';
import { modelReport, reportText } from '../../../../ts/cli/inspect/inspect-command.js';
import type { ScannedVersion } from '../../../../ts/models/registry/sources/repository.js';
import { loadedModel } from '../../models/registry/fakes.js';

const HEADER: OnnxHeader = {
  irVersion: 8n,
  producerName: 'pytorch',
  producerVersion: '2.1',
  domain: '',
  modelVersion: 2n ** 60n,
  docString: '',
  opsets: [
    { domain: '', version: 17n },
    { domain: 'ai.onnx.ml', version: 3n },
  ],
  metadata: [['task', 'sum']],
  fileBytes: 1234,
  graphBytes: 1000,
};

const version = (number: string): ScannedVersion => ({
  version: number,
  path: `/m/half/${number}/model.onnx`,
  format: 'onnx',
  revision: 'r',
  platform: 'onnxruntime_onnx',
});

const MODEL = {
  name: 'half',
  basePath: '/m/half',
  versions: [version('10'), version('9')],
  source: 'model-folder',
  problems: [],
} as const;

const REPORT = modelReport(MODEL, version('10'), HEADER, { ...loadedModel(1), graphName: 'main' });

test('the JSON report is plain JSON with 64-bit numbers as text', () => {
  const copy = JSON.parse(JSON.stringify(REPORT)) as typeof REPORT;
  assert.deepEqual(copy, REPORT);
  assert.equal(copy.modelVersion, '1152921504606846976');
  assert.deepEqual(copy.opsets, { 'ai.onnx': '17', 'ai.onnx.ml': '3' });
  assert.deepEqual(copy.versions, ['10', '9']);
  assert.deepEqual(copy.signatures[0]?.inputs[0]?.symbols, ['batch']);
});

test('the report for people', () => {
  assert.equal(
    reportText(REPORT),
    [
      'model     half',
      'version   10 of 10, 9',
      'file      /m/half/10/model.onnx',
      'size      1234 bytes',
      'format    onnx, IR 8, opset ai.onnx 17, ai.onnx.ml 3',
      'producer  pytorch 2.1',
      'graph     main',
      'task      sum',
      'signature serving_default',
      '  inputs',
      '    x  FP32  [batch]',
      '  outputs',
      '    y  FP32  [batch]',
      '',
    ].join('\n'),
  );
});

test('unknown ranks, free dimensions and signatures without inputs', () => {
  const unknown = {
    name: 'x',
    datatype: 'INT8',
    shape: [],
    symbols: [],
    unknownRank: true,
  } as const;
  const free = { ...unknown, unknownRank: false, shape: [-1, 3], symbols: ['', ''] };
  const text = reportText({
    ...REPORT,
    signatures: [{ name: 's', inputs: [], outputs: [unknown, free] }],
  });
  assert.match(text, /inputs\n {4}none\n {2}outputs\n {4}x {2}INT8 {2}\[\.\.\.\]\n.*\[\?,3\]\n$/);
});
