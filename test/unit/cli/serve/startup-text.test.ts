// The output of `serval serve` when it is ready.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type {
  ModelSnapshot,
  RegistrySnapshot,
  TensorInfo,
  VersionSnapshot,
} from '../../../../ts/model/snapshot.js';
import {
  modelTable,
  pasteLines,
  shellQuote,
  startedJson,
  startedText,
} from '../../../../ts/cli/serve/startup-text.js';

const AT = { host: '0.0.0.0', httpPort: 8000, grpcHost: '0.0.0.0', grpcPort: 8001 };

function tensor(name: string, shape: number[], symbols: string[]): TensorInfo {
  return { name, datatype: 'FP32', shape, symbols, unknownRank: false };
}

function model(
  name: string,
  inputs: TensorInfo[],
  change: Partial<VersionSnapshot> = {},
): ModelSnapshot {
  const version: VersionSnapshot = {
    version: '123',
    state: 'AVAILABLE',
    handle: 1,
    errorCode: ErrorCode.Ok,
    errorMessage: '',
    format: 'onnx',
    platform: 'onnxruntime_onnx',
    signatures: [{ name: 'serving_default', inputs, outputs: [tensor('y', [-1], ['batch'])] }],
    configJson: '',
    loadMs: 0,
    ...change,
  };
  const defaultVersion = version.state === 'AVAILABLE' ? version.version : undefined;
  return { name, versions: [version], labels: {}, problem: '', defaultVersion };
}

function snapshot(...models: ModelSnapshot[]): RegistrySnapshot {
  const byName = Object.fromEntries(models.map((one) => [one.name, one]));
  return { epoch: 1, models: byName, ready: true, draining: false, faults: [] };
}

const HALF = model('half_plus_three', [tensor('x', [-1], ['batch'])]);
const FAILED = model('bad', [], {
  state: 'END',
  handle: undefined,
  errorCode: ErrorCode.ModelInvalid,
  signatures: [],
  errorMessage: 'no graph\nat byte 3',
});

test('the table shows models, versions and states, and no reasons', () => {
  const empty = {
    name: 'empty',
    versions: [],
    labels: {},
    problem: '',
    defaultVersion: undefined,
  };
  const python = { ...empty, name: 'python', problem: "backend: got 'python'" };
  assert.equal(
    modelTable(snapshot(FAILED, empty, HALF, python)),
    [
      'MODEL            VERSION  STATE      FORMAT  INPUTS -> OUTPUTS',
      'bad              123      FAILED     onnx    -',
      'empty            -        FAILED     -       -',
      'half_plus_three  123      AVAILABLE  onnx    x FP32 [batch] -> y FP32 [batch]',
      'python           -        FAILED     -       -',
      '',
    ].join('\n'),
  );
  assert.equal(modelTable(snapshot()), 'no models\n');
  const text = startedText(snapshot(FAILED, empty, HALF, python), AT);
  assert.deepEqual(text.trimEnd().split('\n').slice(-3), [
    "  model 'bad', version 123: no graph at byte 3",
    "  model 'empty': no version found",
    "  model 'python': backend: got 'python'",
  ]);
});

test('the table of many models shows the failed ones, the first others and a count', () => {
  const name = (i: number): string => `m${String(i).padStart(4, '0')}`;
  const good = Array.from({ length: 1000 }, (_, i) => ({ ...HALF, name: name(i) }));
  const lines = modelTable(snapshot(...good, { ...FAILED, name: 'zebra' })).split('\n');
  assert.equal(lines.length, 1 + 25 + 1 + 1);
  assert.match(lines[1] ?? '', /^zebra {2}123 {6}FAILED/);
  assert.match(lines[2] ?? '', /^m0000 /);
  assert.equal(lines[26], '... and 976 more: POST /v2/repository/index lists all');
  const bad = Array.from({ length: 1000 }, (_, i) => ({ ...FAILED, name: `bad${i}` }));
  const mixed = modelTable(snapshot(...bad, ...good));
  assert.deepEqual([mixed.match(/FAILED/g)?.length, mixed.match(/AVAILABLE/g)?.length], [12, 13]);
  assert.equal(modelTable(snapshot(...bad, HALF)).match(/FAILED/g)?.length, 24);
  assert.ok(startedText(snapshot(...bad, ...good), AT).split('\n').length < 60);
});

test('one line per protocol, for a model that can be printed', () => {
  const image = model('an_image', [tensor('x', [-1, 224, 224, 3], ['', '', '', ''])]);
  assert.deepEqual(pasteLines(snapshot(FAILED, image, HALF), AT), [
    `curl -d '{"instances":[1.0,2.0,5.0]}' ` +
      'http://localhost:8000/v1/models/half_plus_three:predict',
    `curl -d '{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1.0,2.0,5.0]}]}' ` +
      'http://localhost:8000/v2/models/half_plus_three/infer',
    `grpcurl -plaintext -d '{"model_name":"half_plus_three","inputs":[{"name":"x",` +
      `"datatype":"FP32","shape":[3],"contents":{"fp32_contents":[1.0,2.0,5.0]}}]}' ` +
      'localhost:8001 inference.GRPCInferenceService/ModelInfer',
  ]);
  assert.deepEqual(pasteLines(snapshot(FAILED, image), AT), []);
});

test('requests that are too long stand in files, of as many models as are shown', () => {
  const image = model('an_image', [tensor('x', [-1, -1, -1, 3], ['', '', '', ''])]);
  const files = new Map<string, string>();
  const requestFile = (name: string, text: () => string): string => {
    files.set(name, text());
    return `/tmp/${name}`;
  };
  const lines = pasteLines(snapshot(image, HALF), { ...AT, requestFile });
  const url = 'http://localhost:8000/v2/models/an_image/infer';
  assert.deepEqual(lines.slice(3), [`curl -d @/tmp/an_image.v2.json ${url}`]);
  const body = JSON.parse(files.get('an_image.v2.json') ?? '') as {
    inputs: [{ shape: number[]; data: number[] }];
  };
  const [{ shape, data }] = body.inputs;
  assert.deepEqual([shape, data.length], [[1, 224, 224, 3], 224 * 224 * 3]);
  const alone = pasteLines(snapshot(image), { ...AT, requestFile });
  assert.match(alone[2] ?? '', /-d @ localhost:8001 .*ModelInfer < \/tmp\/an_image\.grpc\.json$/);
  assert.equal(alone.length, 3);
  const huge = model('huge', [tensor('x', [-1, 4096, 4096], ['', '', ''])]);
  assert.deepEqual(pasteLines(snapshot(huge), { ...AT, requestFile }), []);
  const many = Array.from({ length: 20 }, (_, i) => model(`m${i}`, [tensor('x', [-1], ['n'])]));
  assert.equal(pasteLines(snapshot(...many), { ...AT, requestFile }).length, 3 + 7);
  assert.deepEqual(pasteLines(snapshot(image), { ...AT, requestFile: () => undefined }), []);
});

test('the shortest request is printed; long reasons are cut', () => {
  const wide = model('a_wide_one', [tensor('x', [-1, 16], ['batch', ''])]);
  assert.match(pasteLines(snapshot(wide, HALF), AT)[0] ?? '', /half_plus_three/);
  const errorMessage = 'x'.repeat(5000);
  const long = model('bad', [], { state: 'END', handle: undefined, errorMessage });
  assert.match(startedText(snapshot(long), AT), /version 123: x{100,160}\.\.\.\n$/);
});

test('odd model names survive URL and shell', () => {
  const odd = model(`it's $(a)/b c`, [tensor('x', [-1], ['batch'])]);
  const line = pasteLines(snapshot(odd), { ...AT, host: '::1' })[0] ?? '';
  const words = execFileSync('sh', ['-c', `printf '%s\\n' ${line.replace(/^curl/, '')}`]);
  assert.deepEqual(String(words).trimEnd().split('\n').slice(1), [
    '{"instances":[1.0,2.0,5.0]}',
    "http://[::1]:8000/v1/models/it's%20%24(a)%2Fb%20c:predict",
  ]);
});

test('shell quoting', () => {
  assert.equal(shellQuote('plain-1.2/x:y'), 'plain-1.2/x:y');
  assert.equal(shellQuote("a'b"), "'a'\\''b'");
  assert.equal(shellQuote(''), "''");
});

test('the ready line for people and for machines', () => {
  const text = startedText(snapshot(HALF), AT);
  assert.match(text, /\nserval is ready: HTTP on 0\.0\.0\.0:8000, gRPC on 0\.0\.0\.0:8001\n$/);
  const metrics = { host: '::1', port: 8002 };
  const scraped = startedText(snapshot(HALF), { ...AT, host: '::', httpPort: 80, metrics });
  assert.match(scraped, /: HTTP on \[::\]:80, gRPC on .*:8001, metrics on \[::1\]:8002\n$/);
  assert.match(
    startedJson(snapshot(HALF), { ...AT, metrics }, 1),
    /"metrics":\{"host":"::1","port"/,
  );
  const json = startedJson(snapshot(HALF), AT, 42);
  assert.equal(json.indexOf('\n'), json.length - 1);
  assert.deepEqual(JSON.parse(json), {
    event: 'ready',
    http: { host: '0.0.0.0', port: 8000 },
    grpc: { host: '0.0.0.0', port: 8001 },
    pid: 42,
  });
});

test('a server that is not ready says why, and never that it is', () => {
  const others = Array.from({ length: 12 }, (_, i) => ({ ...FAILED, name: `m${i}` }));
  const faults = ['models.config:3: expected "}"'];
  const unready = { ...snapshot(HALF, ...others), ready: false, faults };
  const text = startedText(unready, AT);
  assert.match(
    text,
    new RegExp(
      '\\nserval is serving, but not ready: HTTP on 0.0.0.0:8000, ' +
        'gRPC on 0.0.0.0:8001\\n  models.config:3: expected "}"\\n' +
        "  model 'm0', version 123: no graph at byte 3\\n",
    ),
  );
  assert.match(text, /\n {2}2 more\n$/);
  assert.doesNotMatch(text, /serval is ready/);
  const line = JSON.parse(startedJson(unready, AT, 42)) as Record<string, unknown>;
  assert.deepEqual([line['event'], line['ready'], line['pid']], ['started', false, 42]);
  assert.deepEqual((line['problems'] as string[]).slice(0, 2), [
    ...faults,
    "model 'm0', version 123: no graph\nat byte 3",
  ]);
});
