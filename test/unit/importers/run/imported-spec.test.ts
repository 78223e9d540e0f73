// The engine's spec and the metadata that result from an import.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type {
  ImportedModel,
  ImportedTensor,
} from '../../../../ts/importers/tensorflow/imported.js';
import { numbersTensor } from '../../../../ts/importers/tensorflow/lower/tensors.js';
import { encodeTensorProto } from '../../../../ts/importers/tensorflow/proto/tensor-proto-writer.js';
import type { Dtype, SignatureDef } from '../../../../ts/importers/tensorflow/types.js';
import {
  blockedText,
  importedSpec,
  signatureDefs,
} from '../../../../ts/importers/run/imported-spec.js';
import type { ModelSpec } from '../../../../ts/model/engine-api.js';
import { errorText } from '../tensorflow/messages.js';

const SPEC: ModelSpec = {
  name: 'm',
  version: '1',
  backend: 'onnxruntime',
  path: '/m/1',
  instances: 2,
};
const tensor = (
  alias: string,
  dtype: Dtype,
  more: Partial<ImportedTensor> = {},
): ImportedTensor => ({ alias, graphName: `${alias}_`, dtype, shape: [undefined, 3], ...more });

const MODEL: ImportedModel = {
  format: 'saved-model',
  tags: [],
  tensorflowVersion: '',
  signatureDefs: [],
  blocked: [],
  operators: [],
  warnings: [],
  graphs: [
    {
      signature: 's',
      methodName: 'tensorflow/serving/predict',
      onnx: new Uint8Array([1, 2]),
      inputs: [tensor('x', 'half'), tensor('any', 'string', { shape: undefined })],
      outputs: [tensor('y', 'qint8')],
      weights: [1, 0],
      states: [{ state: 0, inputName: 'in', outputName: '' }],
    },
  ],
  weights: [
    { name: 'weight0', dtype: 'float', shape: [2], path: '/a', offset: 0, byteLength: 8 },
    {
      name: 'weight1',
      dtype: 'bfloat16',
      shape: [],
      path: '/b',
      offset: 64,
      byteLength: 2,
      maskedCrc32c: 9,
    },
    { name: 'weight2', dtype: 'bool', shape: [1], path: '/a', offset: 8, byteLength: 1 },
  ],
  states: [{ name: 'v', weight: 2 }],
};

test('graphs, weights by file, states', () => {
  const { graphs, weights, weightFiles, states, ...rest } = importedSpec(SPEC, MODEL);
  assert.deepEqual(rest, SPEC);
  assert.deepEqual(weightFiles, ['/a', '/b']);
  const places = weights?.map(({ name, datatype, file, offset, bytes }) => [
    name,
    datatype,
    file,
    offset,
    bytes,
  ]);
  assert.deepEqual(places, [
    ['weight0', 'FP32', 0, 0, 8],
    ['weight1', 'BF16', 1, 64, 2],
    ['weight2', 'BOOL', 0, 8, 1],
  ]);
  assert.deepEqual(
    weights?.map((one) => one.maskedCrc32c),
    [undefined, 9, undefined],
  );
  assert.deepEqual(states, [2]);
  const [graph] = graphs ?? [];
  assert.deepEqual([graph?.inputNames, graph?.outputNames], [['x_', 'any_'], ['y_']]);
  assert.deepEqual(
    [graph?.weights, graph?.states],
    [[1, 0], [{ state: 0, input: 'in', output: '' }]],
  );
});

test('tensors as the interfaces see them; shapes are said and not checked', () => {
  const [graph] = importedSpec(SPEC, MODEL).graphs ?? [];
  const { name, methodName, inputs = [], outputs = [] } = graph?.signature ?? {};
  assert.deepEqual([name, methodName], ['s', 'tensorflow/serving/predict']);
  assert.deepEqual(
    inputs.map(({ name: alias, datatype, shape, unknownRank, unchecked }) => [
      alias,
      datatype,
      shape,
      unknownRank,
      unchecked,
    ]),
    [
      ['x', 'FP16', [-1, 3], false, true],
      ['any', 'BYTES', [], true, true],
    ],
  );
  assert.equal(outputs[0]?.datatype, 'INT8');
});

test('defaults become TensorProtos', () => {
  const defaultValue = numbersTensor('float', [2], [1, 2]);
  const [graph] =
    importedSpec(SPEC, {
      ...MODEL,
      graphs: MODEL.graphs.map((one) => ({
        ...one,
        inputs: [tensor('x', 'float', { defaultValue })],
      })),
    }).graphs ?? [];
  assert.deepEqual(graph?.signature.inputs[0]?.defaultProto, encodeTensorProto(defaultValue));
});

test('types that are not served are refused with their place', () => {
  const bad = {
    ...MODEL,
    graphs: MODEL.graphs.map((one) => ({ ...one, outputs: [tensor('y', 'complex64')] })),
  };
  assert.equal(
    errorText(() => importedSpec(SPEC, bad), ErrorCode.Unimplemented),
    "signature 's': output 'y': tensors of type complex64 are not supported",
  );
});

test('nothing to serve: every reason', () => {
  const text = (blocked: ImportedModel['blocked']): string =>
    errorText(() => importedSpec(SPEC, { ...MODEL, graphs: [], blocked }), ErrorCode.ModelInvalid);
  assert.equal(text([]), 'no signature can be served: the model has no signatures');
  const problem = { op: 'Foo', node: 'n', count: 1, reason: 'is new' };
  assert.equal(
    text([
      { signature: 'a', problems: [problem] },
      {
        signature: 'b',
        problems: [
          { ...problem, count: 3 },
          { ...problem, op: 'Bar' },
        ],
      },
    ]),
    "no signature can be served: signature 'a': Foo 'n': is new; " +
      "signature 'b': Foo 'n' (3 nodes): is new, Bar 'n': is new",
  );
});

test('a list of reasons is cut with a count', () => {
  const problems = Array.from({ length: 25 }, (_, i) => ({
    op: `Op${i}`,
    node: 'n',
    count: 1,
    reason: 'r',
  }));
  assert.match(blockedText({ signature: 's', problems }), /Op19 'n': r, and 5 more$/);
});

const DEF: SignatureDef = {
  methodName: 'm',
  defaults: new Map([['b', numbersTensor('int8', [], [1])]]),
  inputs: new Map([
    ['b', { name: 'b:0', dtypeCode: 6 }],
    [
      'a',
      {
        name: 'a:0',
        dtypeCode: 101,
        shape: {
          unknownRank: false,
          dims: [{ size: '-1', name: 'batch' }],
        },
      },
    ],
  ]),
  outputs: new Map([['c', { dtypeCode: 1, composite: [{ name: 'd:0', dtypeCode: 1 }] }]]),
};

test('shows all signatures in metadata, sorted, as plain data', () => {
  const problems = [{ op: 'Foo', node: 'n', count: 1, reason: 'r' }];
  const shown = signatureDefs({
    ...MODEL,
    signatureDefs: [
      ['__saved_model_init_op', DEF],
      ['s', DEF],
    ],
    blocked: [{ signature: 'x', problems }],
  });
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), shown);
  assert.deepEqual(structuredClone(shown), shown);
  assert.deepEqual(
    shown.all.map(([name]) => name),
    ['__saved_model_init_op', 's'],
  );
  assert.deepEqual(shown.blocked, { x: "signature 'x': Foo 'n': r" });
  const [, def] = shown.all[1] ?? [];
  assert.deepEqual(
    def?.inputs.map(([alias, info]) => [alias, info.dtypeCode]),
    [
      ['a', 101],
      ['b', 6],
    ],
  );
  assert.deepEqual(def?.outputs[0]?.[1].composite, [{ name: 'd:0', dtypeCode: 1 }]);
  assert.equal(
    def?.defaults[0]?.[1],
    Buffer.from(encodeTensorProto(numbersTensor('int8', [], [1]))).toString('base64'),
  );
});
