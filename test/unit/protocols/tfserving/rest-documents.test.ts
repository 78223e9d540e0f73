// V1 model status and metadata. Source: tensorflow/serving get_model_status.proto and
// get_model_metadata.proto as the REST handler prints them; its error texts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { V2_DATATYPES } from '../../../../ts/model/datatype.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { v1MetadataJson, v1StatusJson } from '../../../../ts/protocols/tfserving/rest-documents.js';
import { INPUT, OUTPUT, model, registry, version } from '../snapshots.js';

const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'opset 99 is not supported' };
const snapshot = registry([
  model('m', [version('124', 'END', failed), version('123'), version('7', 'LOADING')], {
    stable: '123',
    next: '124',
  }),
  model('empty', []),
  model('loading', [version('1', 'LOADING')]),
]);

function fails(step: () => unknown, code: ErrorCode, message: string): void {
  assert.throws(step, (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, code);
    assert.equal(error.message, message);
    return true;
  });
}

describe('V1 model status', () => {
  it('lists all versions, newest first, with one-space indent and a final newline', () => {
    assert.equal(
      v1StatusJson(snapshot, { name: 'm' }),
      `{
 "model_version_status": [
  {
   "version": "124",
   "state": "END",
   "status": {
    "error_code": "FAILED_PRECONDITION",
    "error_message": "opset 99 is not supported"
   }
  },
  {
   "version": "123",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  },
  {
   "version": "7",
   "state": "LOADING",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  }
 ]
}
`,
    );
  });

  const numbers = (text: string): string[] =>
    (JSON.parse(text) as { model_version_status: { version: string }[] }).model_version_status.map(
      (entry) => entry.version,
    );

  it('takes one version, leading zeros and all, or a label', () => {
    assert.deepEqual(numbers(v1StatusJson(snapshot, { name: 'm', version: '7' })), ['7']);
    assert.deepEqual(numbers(v1StatusJson(snapshot, { name: 'm', version: '00123' })), ['123']);
    assert.deepEqual(numbers(v1StatusJson(snapshot, { name: 'm', label: 'stable' })), ['123']);
    assert.deepEqual(numbers(v1StatusJson(snapshot, { name: 'm', label: 'next' })), ['124']);
  });

  it('answers unknown names, versions and labels with the known texts', () => {
    const { ModelNotFound, InvalidArgument } = ErrorCode;
    for (const name of ['nope', 'empty', '__proto__', 'constructor']) {
      fails(
        () => v1StatusJson(snapshot, { name }),
        ModelNotFound,
        `Could not find any versions of model ${name}`,
      );
    }
    fails(
      () => v1StatusJson(snapshot, { name: 'm', version: '8' }),
      ModelNotFound,
      'Could not find version 8 of model m',
    );
    for (const label of ['nope', 'toString']) {
      fails(
        () => v1StatusJson(snapshot, { name: 'm', label }),
        InvalidArgument,
        `Unrecognized servable version label: ${label}`,
      );
    }
    fails(
      () => v1StatusJson(snapshot, { name: 'm', version: '9223372036854775808' }),
      InvalidArgument,
      'Failed to convert version: 9223372036854775808 to numeric.',
    );
    fails(
      () => v1StatusJson(snapshot, { name: '' }),
      InvalidArgument,
      'Missing model name in request.',
    );
  });

  it('cuts what it echoes', () => {
    fails(
      () => v1StatusJson(snapshot, { name: 'n'.repeat(100_000) }),
      ErrorCode.ModelNotFound,
      `Could not find any versions of model ${'n'.repeat(256)}...`,
    );
  });
});

describe('V1 model metadata', () => {
  it('prints the default version with the doubled signature_def', () => {
    assert.equal(
      v1MetadataJson(snapshot, { name: 'm' }),
      `{
 "model_spec": {
  "name": "m",
  "signature_name": "",
  "version": "123"
 },
 "metadata": {
  "signature_def": {
   "signature_def": {
    "serving_default": {
     "inputs": {
      "x": {
       "dtype": "DT_FLOAT",
       "tensor_shape": {
        "dim": [
         {
          "size": "-1",
          "name": "batch"
         },
         {
          "size": "4",
          "name": ""
         }
        ],
        "unknown_rank": false
       },
       "name": "x:0"
      }
     },
     "outputs": {
      "y": {
       "dtype": "DT_INT64",
       "tensor_shape": {
        "dim": [
         {
          "size": "-1",
          "name": "batch"
         }
        ],
        "unknown_rank": false
       },
       "name": "y:0"
      }
     },
     "method_name": "tensorflow/serving/predict",
     "defaults": {}
    }
   }
  }
 }
}
`,
    );
  });

  it('knows every datatype, unknown ranks, scalars and odd names', () => {
    const inputs = [
      ...V2_DATATYPES.map((datatype) => ({ ...INPUT, name: datatype, datatype })),
      { ...INPUT, name: '__proto__', shape: [], symbols: [] },
      { ...INPUT, name: 'any', shape: [], symbols: [], unknownRank: true },
    ];
    const signatures = [{ name: 'serving_default', inputs, outputs: [OUTPUT] }];
    const odd = registry([model('m', [version('1', 'AVAILABLE', { signatures })])]);
    const text = v1MetadataJson(odd, { name: 'm' });
    assert.deepEqual(
      [...text.matchAll(/"dtype": "(\w+)"/g)].map((match) => match[1]),
      [
        'DT_FLOAT',
        'DT_DOUBLE',
        'DT_INT32',
        'DT_UINT8',
        'DT_INT16',
        'DT_INT8',
        'DT_STRING',
        'DT_INT64',
        'DT_BOOL',
        'DT_BFLOAT16',
        'DT_UINT16',
        'DT_HALF',
        'DT_UINT32',
        'DT_UINT64',
        'DT_FLOAT',
        'DT_FLOAT',
        'DT_INT64',
      ],
    );
    assert.match(
      text,
      /"__proto__": \{\s+"dtype": "DT_FLOAT",\s+"tensor_shape": \{\s+"dim": \[\],/,
    );
    assert.match(text, /"dim": \[\],\s+"unknown_rank": true\s+\},\s+"name": "any:0"/);
  });

  it('answers what is not available as TensorFlow Serving does', () => {
    const { ModelNotFound, InvalidArgument } = ErrorCode;
    const text = 'Servable not found for request: ';
    fails(() => v1MetadataJson(snapshot, { name: 'nope' }), ModelNotFound, `${text}Latest(nope)`);
    fails(
      () => v1MetadataJson(snapshot, { name: 'loading' }),
      ModelNotFound,
      `${text}Latest(loading)`,
    );
    fails(
      () => v1MetadataJson(snapshot, { name: 'm', version: '9' }),
      ModelNotFound,
      `${text}Specific(m, 9)`,
    );
    fails(
      () => v1MetadataJson(snapshot, { name: 'm', version: '7' }),
      ModelNotFound,
      `${text}Specific(m, 7)`,
    );
    fails(
      () => v1MetadataJson(snapshot, { name: 'm', label: 'next' }),
      ModelNotFound,
      `${text}Specific(m, 124): version 124 is END: opset 99 is not supported`,
    );
    fails(
      () => v1MetadataJson(snapshot, { name: 'm', label: 'x' }),
      InvalidArgument,
      'Unrecognized servable version label: x',
    );
  });
});
