// V2 metadata, health and lookups. Source: Predict Protocol V2; statuses:
// docs/reference/protocols/v2-rest.md.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import {
  modelConfigJson,
  modelMetadataJson,
  modelReady,
  serverLive,
  serverMetadataJson,
  serverReady,
} from '../../../../ts/protocols/v2/documents.js';
import { INPUT, model, registry, version } from '../snapshots.js';

const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short at byte 12' };
const snapshot = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('loading', [version('1', 'LOADING')]),
  model('empty', []),
]);

function fails(step: () => unknown, code: ErrorCode, message: string): void {
  assert.throws(step, (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  });
}

describe('V2 metadata', () => {
  it('describes the server', () => {
    assert.equal(
      serverMetadataJson({ serverVersion: '1.2.3', clientShm: false }),
      '{"name":"serval","version":"1.2.3","extensions":["binary_tensor_data","classification",' +
        '"logging","model_configuration","model_repository",' +
        '"model_repository(unload_dependents)","parameters","schedule_policy","sequence",' +
        '"sequence(string_id)","statistics","tabular_v1","trace"]}',
    );
    const allowed = serverMetadataJson({ serverVersion: '1.2.3', clientShm: true });
    assert.match(allowed, /"statistics","system_shared_memory","tabular_v1","trace"\]/);
    assert.doesNotMatch(allowed, /cuda/);
    const onGpu = serverMetadataJson({ serverVersion: '1.2.3', clientShm: true, cudaShm: true });
    assert.match(onGpu, /"classification","cuda_shared_memory","logging"/);
  });

  it('describes a model: ready versions, platform, tensors', () => {
    const expected =
      '{"name":"m","versions":["9","10"],"platform":"onnxruntime_onnx",' +
      '"inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],' +
      '"outputs":[{"name":"y","datatype":"INT64","shape":[-1]}]}';
    assert.equal(modelMetadataJson(snapshot, 'm', undefined), expected);
    assert.equal(modelMetadataJson(snapshot, 'm', '9'), expected);
    assert.equal(modelMetadataJson(snapshot, 'm', '0010'), expected);
  });

  it('shows the default signature, a scalar, and an unknown rank as one free dim', () => {
    const inputs = [
      { ...INPUT, name: 'scalar', shape: [], symbols: [] },
      { ...INPUT, name: 'any', shape: [], symbols: [], unknownRank: true },
    ];
    const signatures = [
      { name: 'other', inputs: [INPUT], outputs: [] },
      { name: 'serving_default', inputs, outputs: [] },
    ];
    const one = registry([model('m', [version('1', 'AVAILABLE', { signatures })])]);
    const { inputs: shown } = JSON.parse(modelMetadataJson(one, 'm', undefined)) as {
      inputs: { name: string; shape: number[] }[];
    };
    assert.deepEqual(
      shown.map((tensor) => [tensor.name, tensor.shape]),
      [
        ['scalar', []],
        ['any', [-1]],
      ],
    );
  });

  it('refuses unknown models and versions, and what is not ready', () => {
    const { ModelNotFound, ModelNotReady } = ErrorCode;
    for (const name of ['nope', '', '__proto__', 'toString']) {
      fails(
        () => modelMetadataJson(snapshot, name, undefined),
        ModelNotFound,
        `Request for unknown model: '${name}' is not found`,
      );
    }
    fails(
      () => modelMetadataJson(snapshot, 'm', '11'),
      ModelNotFound,
      "Request for unknown model: 'm' version 11 is not found",
    );
    for (const text of ['x', '-1', '1.0', ' 1', '9223372036854775808', '9'.repeat(300)]) {
      const shown = text.length > 256 ? `${text.slice(0, 256)}...` : text;
      fails(
        () => modelMetadataJson(snapshot, 'm', text),
        ModelNotFound,
        `Request for unknown version of model 'm': expected a whole number from 0 to ` +
          `9223372036854775807, got '${shown}'`,
      );
    }
    fails(
      () => modelMetadataJson(snapshot, 'm', '12'),
      ModelNotReady,
      "model 'm' is not ready: version 12 is END: cut short at byte 12",
    );
    fails(
      () => modelMetadataJson(snapshot, 'loading', undefined),
      ModelNotReady,
      "model 'loading' has no ready version: version 1 is LOADING",
    );
    fails(
      () => modelMetadataJson(snapshot, 'empty', undefined),
      ModelNotReady,
      "model 'empty' has no ready version: it has no version",
    );
  });

  it('shows the configuration of a version that serves', () => {
    assert.equal(modelConfigJson(snapshot, 'm', undefined), '{"name":"m","version":10}');
    assert.equal(modelConfigJson(snapshot, 'm', '09'), '{"name":"m","version":9}');
    fails(
      () => modelConfigJson(snapshot, 'm', '12'),
      ErrorCode.ModelNotReady,
      "model 'm' is not ready: version 12 is END: cut short at byte 12",
    );
    fails(
      () => modelConfigJson(snapshot, 'nope', undefined),
      ErrorCode.ModelNotFound,
      "Request for unknown model: 'nope' is not found",
    );
    const without = registry([model('m', [version('1', 'AVAILABLE', { configJson: '' })])]);
    fails(
      () => modelConfigJson(without, 'm', undefined),
      ErrorCode.Internal,
      "model 'm' version 1 is served without a configuration",
    );
  });

  it('finds the largest version there is', () => {
    const largest = registry([model('m', [version('9223372036854775807')])]);
    assert.match(
      modelMetadataJson(largest, 'm', '9223372036854775807'),
      /"versions":\["9223372036854775807"\]/,
    );
  });
});

describe('V2 health', () => {
  it('is live with a JSON body or an empty one', () => {
    assert.deepEqual(serverLive('json'), { status: 200, body: '{"live":true}' });
    assert.deepEqual(serverLive('empty'), { status: 200, body: '' });
  });

  it('is ready when every model is and nothing drains', () => {
    const ready = registry([model('m', [version('1')])]);
    assert.deepEqual(serverReady(ready, 'json'), { status: 200, body: '{"ready":true}' });
    assert.deepEqual(serverReady(ready, 'empty'), { status: 200, body: '' });
    assert.deepEqual(serverReady(snapshot, 'json'), {
      status: 400,
      body: '{"ready":false,"error":"not every model is ready: loading, empty"}',
    });
    assert.deepEqual(serverReady(snapshot, 'empty'), { status: 400, body: '' });
    assert.deepEqual(serverReady({ ...ready, draining: true }, 'json'), {
      status: 400,
      body: '{"ready":false,"error":"the server is shutting down"}',
    });
  });

  it('names at most ten models that are not ready', () => {
    const many = registry(Array.from({ length: 13 }, (_, index) => model(`m${index}`, [])));
    assert.match(serverReady(many, 'json').body, /: m0, m1, .*, m9 and 3 more"/);
  });

  it('answers for one model: 200, 400 when known but not ready, not found', () => {
    assert.deepEqual(modelReady(snapshot, 'm', undefined, 'json'), {
      status: 200,
      body: '{"name":"m","ready":true}',
    });
    assert.deepEqual(modelReady(snapshot, 'm', '9', 'empty'), { status: 200, body: '' });
    assert.deepEqual(modelReady(snapshot, 'm', '12', 'json'), {
      status: 400,
      body:
        '{"name":"m","ready":false,"error":"model \'m\' is not ready: version 12 is END: ' +
        'cut short at byte 12"}',
    });
    assert.deepEqual(modelReady(snapshot, 'loading', undefined, 'empty'), {
      status: 400,
      body: '',
    });
    const outageOf = (name: string, version: string): string =>
      version === '9' ? `${name} is down` : '';
    assert.deepEqual(modelReady(snapshot, 'm', '9', 'json', outageOf), {
      status: 400,
      body: '{"name":"m","ready":false,"error":"m is down"}',
    });
    assert.equal(modelReady(snapshot, 'm', undefined, 'json', outageOf).status, 200);
    fails(
      () => modelReady(snapshot, 'nope', undefined, 'json'),
      ErrorCode.ModelNotFound,
      "Request for unknown model: 'nope' is not found",
    );
    fails(
      () => modelReady(snapshot, 'm', '11', 'json'),
      ErrorCode.ModelNotFound,
      "Request for unknown model: 'm' version 11 is not found",
    );
  });
});
