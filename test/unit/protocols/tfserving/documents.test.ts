// Shared parts of TensorFlow Serving's two APIs: datatype names, choice of the version, signatures.
// Source: tensorflow/core/framework/types.proto; tfserving.md 1.9, 1.10.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import {
  dtypeName,
  findServable,
  signatureDocs,
  statusVersions,
  withBlockedReason,
  type ServableTarget,
} from '../../../../ts/protocols/tfserving/documents.js';
import { tensorProtoJson } from '../../../../ts/protocols/tfserving/tensor-json.js';
import { encode, messageTypes } from '../raw-client.js';
import { SERVING_REGISTRY } from './serving-snapshot.js';

const types = messageTypes();

function errorOf(step: () => unknown): string {
  try {
    step();
  } catch (error) {
    assert.ok(error instanceof ServalError, String(error));
    return `${ErrorCode[error.code]}: ${error.message}`;
  }
  return 'no error';
}

describe('datatypes', () => {
  it('have the names of the enum, references too; other numbers have none', () => {
    const { values } = types.lookupEnum('tensorflow.DataType');
    for (const [name, code] of Object.entries(values)) assert.equal(dtypeName(code), name);
    assert.equal(Object.keys(values).length, 65);
    for (const code of [33, 99, 100, 133, -1, 1e9, 0.5]) assert.equal(dtypeName(code), undefined);
  });
});

describe('the version that is meant', () => {
  const found = (target: ServableTarget): string => findServable(SERVING_REGISTRY, target).version;

  it('by default, number or label', () => {
    assert.equal(found({ name: 'tf' }), '7');
    assert.equal(found({ name: 'tf', version: '7' }), '7');
    assert.equal(found({ name: 'tf', version: '007' }), '7');
    assert.equal(found({ name: 'tf', label: 'stable' }), '7');
  });

  it("is refused in TensorFlow Serving's words", () => {
    const none = 'ModelNotFound: Servable not found for request: ';
    const cases: readonly [ServableTarget, string][] = [
      [{ name: 'nope' }, `${none}Latest(nope)`],
      [{ name: '__proto__' }, `${none}Latest(__proto__)`],
      [{ name: 'nope', version: '01' }, `${none}Specific(nope, 1)`],
      [{ name: 'tf', version: '8' }, `${none}Specific(tf, 8): version 8 is END: cut short`],
      [{ name: 'tf', version: '9' }, `${none}Specific(tf, 9)`],
      [{ name: 'tf', version: '-1' }, `${none}Specific(tf, -1)`],
      [{ name: 'tf', label: 'next' }, `${none}Specific(tf, 8): version 8 is END: cut short`],
      [{ name: 'nope', label: 'x' }, 'InvalidArgument: Unrecognized servable version label: x'],
      [{ name: 'tf', label: 'x' }, 'InvalidArgument: Unrecognized servable version label: x'],
      [
        { name: 'tf', label: 'toString' },
        'InvalidArgument: Unrecognized servable version label: toString',
      ],
      [
        { name: 'tf', version: '9223372036854775808' },
        'InvalidArgument: Failed to convert version: 9223372036854775808 to numeric.',
      ],
    ];
    for (const [target, message] of cases)
      assert.equal(
        errorOf(() => found(target)),
        message,
      );
  });

  it('for status, whatever its state', () => {
    const numbers = (target: ServableTarget): readonly string[] =>
      statusVersions(SERVING_REGISTRY, target).map((entry) => entry.version);
    assert.deepEqual(numbers({ name: 'tf' }), ['8', '7']);
    assert.deepEqual(numbers({ name: 'tf', label: 'next' }), ['8']);
    assert.equal(
      errorOf(() => numbers({ name: 'tf', version: '9' })),
      'ModelNotFound: Could not find version 9 of model tf',
    );
    assert.equal(
      errorOf(() => numbers({ name: 'nope', label: 'x' })),
      'ModelNotFound: Could not find any versions of model nope',
    );
  });
});

describe('signatures', () => {
  it("are the file's own, or a predict signature made from the model", () => {
    const names = (name: string): readonly string[] =>
      signatureDocs(findServable(SERVING_REGISTRY, { name })).map(([one]) => one);
    assert.deepEqual(names('tf'), ['__saved_model_init_op', 'c', 'r', 'serving_default', 'sparse']);
    assert.deepEqual(signatureDocs(findServable(SERVING_REGISTRY, { name: 'm' })), [
      [
        'serving_default',
        {
          methodName: 'tensorflow/serving/predict',
          inputs: [
            [
              'x',
              {
                name: 'x:0',
                dtypeCode: 1,
                shape: {
                  unknownRank: false,
                  dims: [
                    { size: '-1', name: 'batch' },
                    { size: '4', name: '' },
                  ],
                },
              },
            ],
          ],
          outputs: [
            [
              'y',
              {
                name: 'y:0',
                dtypeCode: 9,
                shape: { unknownRank: false, dims: [{ size: '-1', name: 'batch' }] },
              },
            ],
          ],
          defaults: [],
        },
      ],
    ]);
  });

  it('that are not served: the reason follows, where the file has the signature', () => {
    const tf = findServable(SERVING_REGISTRY, { name: 'tf' });
    const reason = 'It is not served: operator SparseFoo is not supported';
    assert.equal(
      withBlockedReason(tf, 'Serving signature key "sparse" not found.', 'sparse'),
      `Serving signature key "sparse" not found. ${reason}`,
    );
    assert.equal(
      withBlockedReason(
        tf,
        'Serving signature name: "sparse" not found in signature def',
        'sparse',
      ),
      `Serving signature name: "sparse" not found in signature def. ${reason}`,
    );
    assert.equal(
      withBlockedReason(tf, 'No signature was found with the name: sparse', 'sparse'),
      `No signature was found with the name: sparse. ${reason}`,
    );
    const text = 'Serving signature key "sparse" not found.';
    for (const signature of ['other', undefined, 'constructor']) {
      assert.equal(withBlockedReason(tf, text, signature), text);
    }
    assert.equal(withBlockedReason(undefined, text, 'sparse'), text);
    const plain = findServable(SERVING_REGISTRY, { name: 'm' });
    assert.equal(withBlockedReason(plain, text, 'sparse'), text);
  });
});

describe('a TensorProto as JSON', () => {
  const json = (tensor: object): Record<string, unknown> =>
    tensorProtoJson(encode(types, 'tensorflow.TensorProto', tensor));

  it('prints every member', () => {
    assert.deepEqual(json({ dtype: 1, float_val: [0.1, 1, -0.5, Infinity, NaN] }), {
      dtype: 'DT_FLOAT',
      version_number: 0,
      tensor_content: '',
      float_val: [0.1, 1, -0.5, 'Infinity', 'NaN'],
      double_val: [],
      int_val: [],
      string_val: [],
      scomplex_val: [],
      int64_val: [],
      bool_val: [],
      dcomplex_val: [],
      half_val: [],
      resource_handle_val: [],
      variant_val: [],
      uint32_val: [],
      uint64_val: [],
      float8_val: '',
    });
    assert.deepEqual(json({}), { ...json({ dtype: 1 }), dtype: 'DT_INVALID' });
  });

  it('keeps each kind of value exact', () => {
    const values = json({
      dtype: 101,
      tensor_content: Buffer.from('ab'),
      version_number: -1,
      tensor_shape: { dim: [{ size: 2, name: 'n' }, { size: -1 }], unknown_rank: true },
      double_val: [0.1, -Infinity],
      int_val: [-2147483648, 7],
      string_val: [Buffer.from([255])],
      int64_val: [
        { low: 0, high: -2147483648 },
        { low: 1, high: 2097152 },
      ],
      bool_val: [true, false],
      half_val: [65535],
      uint32_val: [4294967295],
      uint64_val: [{ low: -1, high: -1 }],
      scomplex_val: [1, 2],
      dcomplex_val: [3, 4],
      float8_val: Buffer.from('c'),
    });
    assert.equal(values['dtype'], 'DT_FLOAT_REF');
    assert.deepEqual(values['tensor_shape'], {
      dim: [
        { size: '2', name: 'n' },
        { size: '-1', name: '' },
      ],
      unknown_rank: true,
    });
    assert.equal(values['tensor_content'], 'YWI=');
    assert.equal(values['version_number'], -1);
    assert.deepEqual(values['double_val'], [0.1, '-Infinity']);
    assert.deepEqual(values['int_val'], [-2147483648, 7]);
    assert.deepEqual(values['string_val'], ['/w==']);
    assert.deepEqual(values['int64_val'], ['-9223372036854775808', '9007199254740993']);
    assert.deepEqual(values['bool_val'], [true, false]);
    assert.deepEqual(values['half_val'], [65535]);
    assert.deepEqual(values['uint32_val'], [4294967295]);
    assert.deepEqual(values['uint64_val'], ['18446744073709551615']);
    assert.deepEqual(
      [values['scomplex_val'], values['dcomplex_val']],
      [
        [1, 2],
        [3, 4],
      ],
    );
    assert.equal(values['float8_val'], 'Yw==');
    assert.equal(tensorProtoJson(Buffer.from('084d', 'hex'))['dtype'], 77);
  });

  it('of bytes that are none is an error', () => {
    assert.match(
      errorOf(() => tensorProtoJson(Buffer.from('2a03', 'hex'))),
      /^ModelInvalid: TensorProto: byte 0: field 5: expected 3 bytes/,
    );
    assert.match(
      errorOf(() => tensorProtoJson(Buffer.from('2a03000000', 'hex'))),
      /^ModelInvalid: TensorProto: byte 0: field 5: a list of 4-byte elements has 3 bytes/,
    );
  });
});
