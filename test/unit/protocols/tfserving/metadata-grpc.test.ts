// PredictionService.GetModelMetadata. Source: tensorflow/serving get_model_metadata_impl.cc.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decode } from '../raw-client.js';
import { encoded, outcome, servingRig, SPEC, types } from './serving-rig.js';
import { DEFAULT_X } from './serving-snapshot.js';

const { call, answered } = servingRig();

interface SignatureMap {
  readonly signature_def: readonly {
    readonly key: string;
    readonly value: {
      readonly inputs: readonly { readonly key: string; readonly value: object }[];
      readonly outputs: readonly object[];
      readonly method_name: string;
      readonly defaults: readonly object[];
    };
  }[];
}

describe('GetModelMetadata', () => {
  const asked = (spec: object | undefined, ...fields: readonly string[]): Buffer =>
    encoded('GetModelMetadataRequest', {
      ...(spec && { model_spec: spec }),
      metadata_field: fields,
    });

  async function signatures(name: string): Promise<SignatureMap> {
    const response = (await answered(
      'GetModelMetadata',
      asked({ name }, 'signature_def'),
      'GetModelMetadataResponse',
    )) as {
      model_spec: object;
      metadata: { key: string; value: { type_url: string; value: Uint8Array } }[];
    };
    assert.equal(response.metadata.length, 1);
    const [{ key, value } = assert.fail()] = response.metadata;
    assert.deepEqual(
      [key, value.type_url],
      ['signature_def', 'type.googleapis.com/tensorflow.serving.SignatureDefMap'],
    );
    const version = { value: name === 'tf' ? '7' : '3' };
    assert.deepEqual(response.model_spec, { name, version, signature_name: '' });
    return decode(
      types,
      'tensorflow.serving.SignatureDefMap',
      Buffer.from(value.value),
    ) as SignatureMap;
  }

  it('shows every signature of the file', async () => {
    const { signature_def: map } = await signatures('tf');
    assert.deepEqual(
      map.map(({ key }) => key),
      ['__saved_model_init_op', 'c', 'r', 'serving_default', 'sparse'],
    );
    const named = Object.fromEntries(map.map(({ key, value }) => [key, value]));
    const shape = {
      dim: [
        { size: '-1', name: '' },
        { size: '1', name: '' },
      ],
      unknown_rank: false,
    };
    const { defaults = [], ...predict } = named['serving_default'] ?? {};
    assert.deepEqual(predict, {
      inputs: [{ key: 'x', value: { dtype: 'DT_FLOAT', tensor_shape: shape, name: 'x:0' } }],
      outputs: [
        { key: 'y', value: { dtype: 'DT_FLOAT_REF', tensor_shape: shape, name: 'y:0' } },
        { key: 'z', value: { dtype: 'DT_STRING', tensor_shape: null, name: 'z:1' } },
      ],
      method_name: 'tensorflow/serving/predict',
    });
    assert.deepEqual(defaults, [
      { key: 'x', value: decode(types, 'tensorflow.TensorProto', DEFAULT_X) },
    ]);
    assert.deepEqual(
      named['sparse']?.inputs.map(({ key, value }) => [key, value]),
      [
        [
          'sparse',
          {
            dtype: 'DT_INT64',
            tensor_shape: null,
            coo_sparse: {
              values_tensor_name: 'v:0',
              indices_tensor_name: 'i:0',
              dense_shape_tensor_name: 's:0',
            },
          },
        ],
        [
          'ragged',
          {
            dtype: 77,
            tensor_shape: null,
            composite_tensor: {
              components: [
                { dtype: 'DT_STRING', tensor_shape: null, name: 'tf_example:0' },
                { dtype: 'DT_STRING', tensor_shape: null, name: 'tf_example:0' },
              ],
            },
          },
        ],
      ],
    );
    assert.deepEqual(named['c']?.outputs, [
      {
        key: 'scores',
        value: { dtype: 'DT_FLOAT', tensor_shape: { dim: [], unknown_rank: true }, name: 'y:0' },
      },
    ]);
  });

  it('of an ONNX model is one predict signature', async () => {
    const { signature_def: map } = await signatures('m');
    assert.deepEqual(
      map.map(({ key, value }) => [key, value.method_name]),
      [['serving_default', 'tensorflow/serving/predict']],
    );
  });

  it('refuses what TensorFlow Serving refuses', async () => {
    const cases: readonly [Buffer, readonly [number, string]][] = [
      [asked(undefined, 'signature_def'), [3, 'Missing ModelSpec']],
      [asked({}, 'signature_def'), [3, 'ModelSpec has no name specified.']],
      [asked(SPEC), [3, 'GetModelMetadataRequest must specify at least one metadata_field']],
      [asked(SPEC, 'signature_def', 'x'), [3, 'Metadata field x is not supported']],
      [
        asked({ name: 'nope' }, 'signature_def'),
        [5, 'Servable not found for request: Latest(nope)'],
      ],
      [
        asked({ name: 'tf', version: { value: 8 } }, 'signature_def'),
        [5, 'Servable not found for request: Specific(tf, 8): version 8 is END: cut short'],
      ],
      [
        asked({ name: 'tf', version_label: 'x' }, 'signature_def'),
        [3, 'Unrecognized servable version label: x'],
      ],
    ];
    for (const [message, expected] of cases) {
      assert.deepEqual(outcome(await call('GetModelMetadata', message)), expected);
    }
  });
});
