// Convolutions, pools, and image operators: the shapes that their lowerings declare, their ONNX
// form, and refusals.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attribute } from '../../../../../ts/importers/tensorflow/types.js';
import { constant, int, ints, lowerOne, refusal, tensor, text, type } from './lower-one.js';

const U = undefined;
const image = tensor('float', [U, 7, 6, 3]);
const free = tensor('float', [U, U, U, 3]);
const filter = constant(
  'float',
  [3, 3, 3, 2],
  Array.from({ length: 54 }, (_, i) => i),
);
const ONES = ints([1, 1, 1, 1]);

const floats = (name: string, value: number): Record<string, Attribute> => ({
  [name]: { kind: 'float', value },
});
const bytesList = (values: readonly string[]): Attribute => {
  const list = ints([]);
  if (list.kind !== 'list') throw new Error('not a list');
  return { kind: 'list', value: { ...list.value, bytes: values.map((one) => Buffer.from(one)) } };
};

type Attributes = Readonly<Record<string, Attribute>>;

const same = (more: Attributes = {}): Attributes => ({
  strides: ONES,
  padding: text('SAME'),
  ...more,
});
const pool = (more: Attributes = {}): Attributes => ({
  ksize: ints([1, 2, 2, 1]),
  strides: ints([1, 2, 2, 1]),
  padding: text('VALID'),
  ...more,
});
const vector = (values: readonly number[]) => constant('int32', [values.length], values);
const pairs = (values: readonly number[]) => constant('int32', [values.length / 2, 2], values);

describe('shapes of windows', () => {
  const cases: readonly (readonly [string, Parameters<typeof lowerOne>, readonly unknown[]])[] = [
    ['same', ['Conv2D', [image, filter], same()], [U, 7, 6, 2]],
    ['same by 2', ['Conv2D', [image, filter], same({ strides: ints([1, 2, 2, 1]) })], [U, 4, 3, 2]],
    ['valid', ['Conv2D', [image, filter], same({ padding: text('VALID') })], [U, 5, 4, 2]],
    [
      'valid and dilated',
      ['Conv2D', [image, filter], same({ padding: text('VALID'), dilations: ints([1, 3, 2, 1]) })],
      [U, 1, 2, 2],
    ],
    [
      'explicit',
      [
        'Conv2D',
        [image, filter],
        same({
          padding: text('EXPLICIT'),
          explicit_paddings: ints([0, 0, 1, 2, 0, 1, 0, 0]),
        }),
      ],
      [U, 8, 5, 2],
    ],
    ['sizes that are not known', ['Conv2D', [free, filter], same()], [U, U, U, 2]],
    ['unknown rank', ['Conv2D', [tensor('float', U), filter], same()], [U, U, U, 2]],
    [
      'channels first',
      ['Conv2D', [tensor('float', [U, 3, 7, 6]), filter], same({ data_format: text('NCHW') })],
      [U, 2, 7, 6],
    ],
    ['depthwise', ['DepthwiseConv2dNative', [image, filter], same()], [U, 7, 6, 6]],
    ['pool', ['MaxPool', [image], pool()], [U, 3, 3, 3]],
    [
      'pool of more than there is',
      ['MaxPool', [image], pool({ ksize: ints([1, 9, 9, 1]) })],
      [U, 0, 0, 3],
    ],
    [
      'transposed',
      [
        'Conv2DBackpropInput',
        [vector([1, 13, 12, 3]), filter, tensor('float', [U, 7, 6, 2])],
        same({ strides: ints([1, 2, 2, 1]) }),
      ],
      [U, 13, 12, 3],
    ],
    ['resized', ['ResizeBilinear', [image, vector([2, 9])]], [U, 2, 9, 3]],
    ['resized by area', ['ResizeArea', [image, vector([2, 9])]], [U, 2, 9, 3]],
    [
      'space to batch',
      ['SpaceToBatchND', [image, vector([2, 3]), pairs([0, 1, 0, 0])]],
      [U, 4, 2, 3],
    ],
    [
      'batch to space',
      ['BatchToSpaceND', [image, vector([2, 3]), pairs([1, 0, 2, 3])]],
      [U, 13, 13, 3],
    ],
    [
      'depth to space',
      ['DepthToSpace', [tensor('float', [U, 2, 3, 98])], { block_size: int(7) }],
      [U, 14, 21, 2],
    ],
    [
      'patches',
      ['ExtractImagePatches', [image], { ...pool(), ksizes: ints([1, 2, 2, 1]), rates: ONES }],
      [U, 3, 3, 12],
    ],
  ];
  for (const [name, given, expected] of cases) {
    test(name, () => assert.deepEqual(lowerOne(...given).values[0]?.shape, expected));
  }
});

describe('the form of windows', () => {
  const TURNED = ['Transpose', 'Transpose', 'Conv', 'Transpose'];
  const nodes = (...given: Parameters<typeof lowerOne>) => lowerOne(...given).nodes;

  test('a convolution transposes its operands and its result', () =>
    assert.deepEqual(nodes('Conv2D', [image, filter], same()), TURNED));
  test('channels first are not transposed', () =>
    assert.deepEqual(
      nodes('Conv2D', [tensor('float', [U, 3, 7, 6]), filter], same({ data_format: text('NCHW') })),
      ['Transpose', 'Conv'],
    ));
  test('a dilation of 1 needs no sizes', () =>
    assert.ok(
      !nodes('Conv2D', [free, filter], same({ dilations: ints([1, 2, 2, 1]) })).includes('Pad'),
    ));
  test('pads before a pool that skips rows of unknown sizes', () =>
    assert.ok(
      nodes(
        'MaxPool',
        [free],
        pool({ strides: ints([1, 3, 3, 1]), padding: text('SAME') }),
      ).includes('Pad'),
    ));
  test('an inference batch norm is one operator', () => {
    const side = tensor('float', [3]);
    const given = lowerOne('FusedBatchNormV3', [image, side, side, side, side], {
      is_training: { kind: 'bool', value: false },
    });
    assert.deepEqual(given.nodes, ['Transpose', 'BatchNormalization', 'Transpose']);
    assert.equal(given.values.length, 6);
  });
});

describe('refusals of windows', () => {
  const fused = (ops: readonly string[], args: number): Attributes =>
    same({ fused_ops: bytesList(ops), num_args: int(args) });
  const bias = tensor('float', [2]);
  const cases: readonly (readonly [string, string, () => string])[] = [
    [
      'a padding that there is not',
      'padding FULL is not supported',
      () => refusal('Conv2D', [image, filter], same({ padding: text('FULL') })),
    ],
    [
      'a layout that there is not',
      'data_format NCHW_VECT_C is not supported',
      () => refusal('Conv2D', [image, filter], same({ data_format: text('NCHW_VECT_C') })),
    ],
    [
      'strides of the channels',
      'strides [1,1,1,2] of the batch or the channels is not supported',
      () => refusal('Conv2D', [image, filter], same({ strides: ints([1, 1, 1, 2]) })),
    ],
    [
      'strides of 0',
      'strides [1,0,1,1]: expected 1 or more',
      () => refusal('Conv2D', [image, filter], same({ strides: ints([1, 0, 1, 1]) })),
    ],
    [
      'too few strides',
      'strides: expected 4 numbers, got 2',
      () => refusal('Conv2D', [image, filter], same({ strides: ints([1, 1]) })),
    ],
    [
      'too few explicit paddings',
      'explicit_paddings: expected 8 numbers, got 0',
      () => refusal('Conv2D', [image, filter], same({ padding: text('EXPLICIT') })),
    ],
    [
      'explicit paddings of the batch',
      'explicit_paddings [1,0,0,0,0,0,0,0]: only spatial axes can be padded',
      () =>
        refusal(
          'Conv2D',
          [image, filter],
          same({
            padding: text('EXPLICIT'),
            explicit_paddings: ints([1, 0, 0, 0, 0, 0, 0, 0]),
          }),
        ),
    ],
    [
      'channels that do not divide',
      "4 channels do not divide by the filter's 3",
      () => refusal('Conv2D', [tensor('float', [1, 5, 5, 4]), filter], same()),
    ],
    [
      'an image of another rank',
      'expected rank 4, got float [2,3]',
      () => refusal('Conv2D', [tensor('float', [2, 3]), filter], same()),
    ],
    [
      'a depthwise one of unknown channels',
      'the number of channels is not known',
      () => refusal('DepthwiseConv2dNative', [tensor('float', U), tensor('float', U)], same()),
    ],
    [
      'sizes that a transposed one cannot have',
      'input_sizes request 9 along axis 0, which 7 rows cannot produce',
      () =>
        refusal(
          'Conv2DBackpropInput',
          [vector([1, 9, 6, 3]), filter, tensor('float', [1, 7, 6, 2])],
          same(),
        ),
    ],
    [
      'a pool over channels',
      'ksize [1,1,1,2] of the batch or the channels is not supported',
      () => refusal('MaxPool', [image], pool({ ksize: ints([1, 1, 1, 2]) })),
    ],
    [
      'an operator that is not fused',
      'fused_ops: Cosh is not supported',
      () => refusal('_FusedConv2D', [image, filter, bias], fused(['BiasAdd', 'Cosh'], 1)),
    ],
    [
      'surplus operands',
      'num_args: expected 1, the operands of fused_ops, got 2',
      () => refusal('_FusedConv2D', [image, filter, bias, bias], fused(['BiasAdd'], 2)),
    ],
    [
      'an operand that is missing',
      'has no bias',
      () => refusal('_FusedConv2D', [image, filter], fused(['BiasAdd'], 0)),
    ],
    [
      'blocks of 0',
      'blocks must be 1 or more',
      () => refusal('SpaceToBatchND', [image, vector([2, 0]), pairs([0, 0, 0, 0])]),
    ],
    [
      'more blocks than axes',
      '4 blocks do not fit float [?,7,6,3]',
      () => refusal('SpaceToBatchND', [image, tensor('int32', [4]), tensor('int32', [4, 2])]),
    ],
    [
      'crops larger than the image',
      'crops are larger than the image',
      () => refusal('BatchToSpaceND', [image, vector([1, 1]), pairs([4, 4, 0, 0])]),
    ],
    [
      'blocks that do not divide',
      'block_size 2 does not fit float [?,7,6,3]',
      () => refusal('SpaceToDepth', [image], { block_size: int(2) }),
    ],
    [
      '64-bit depth',
      'int64 is not supported',
      () => refusal('DepthToSpace', [tensor('int64', [1, 1, 1, 4])], { block_size: int(2) }),
    ],
    [
      'a window too large to write out',
      'a window of 100x100 is too large',
      () =>
        refusal(
          'ExtractImagePatches',
          [free],
          same({ ksizes: ints([1, 100, 100, 1]), rates: ONES }),
        ),
    ],
    [
      'a size of 0',
      'size [0,2]: expected 1 or more',
      () => refusal('ResizeBilinear', [image, vector([0, 2])]),
    ],
    [
      'a kernel that there is not',
      'kernel_type sinc is not supported',
      () =>
        refusal(
          'ScaleAndTranslate',
          [image, vector([2, 2]), tensor('float', [2]), tensor('float', [2])],
          { kernel_type: text('sinc') },
        ),
    ],
    [
      'colours of four channels',
      'expected 3 channels, got float [2,4]',
      () => refusal('RGBToHSV', [tensor('float', [2, 4])]),
    ],
    [
      'a sigma below 0',
      'soft_nms_sigma -1: expected 0 or more',
      () =>
        refusal('NonMaxSuppressionV5', [
          ...Array<typeof bias>(5).fill(bias),
          constant('float', [], [-1]),
        ]),
    ],
    [
      'too many bits',
      'num_bits 40: expected 2 to 16',
      () => refusal('FakeQuantWithMinMaxArgs', [image], { num_bits: int(40) }),
    ],
    [
      'an empty range',
      'min_range 2 and max_range 1: expected a range',
      () =>
        refusal('QuantizeV2', [image, constant('float', [], [2]), constant('float', [], [1])], {
          T: type('quint8'),
          ...floats('ensure_minimum_range', 0.01),
        }),
    ],
    [
      'a quantised type that there is not',
      'qint32 is not supported',
      () =>
        refusal('Dequantize', [
          tensor('qint32', [2]),
          constant('float', [], [0]),
          constant('float', [], [1]),
        ]),
    ],
  ];
  for (const [name, reason, refuse] of cases) {
    test(name, () => assert.equal(refuse(), reason));
  }
});
