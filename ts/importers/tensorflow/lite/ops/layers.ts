// Convolutions, pools, dense layers and normalizations of TensorFlow Lite. Importer's worker
// thread; pure. Source: tensorflow/lite/kernels/internal/reference; kernels/fully_connected.cc.
import { bool, float, int, ints, text, type } from '../attributes.js';
import { OPTIONS, PADDING } from '../generated/schema.js';
import type { LiteOp, LiteOperators, Translate } from '../op.js';
import type { NodeRef } from '../scope.js';

const paddingOf = (of: LiteOp, code: number) =>
  text(PADDING[code] ?? of.fail(`padding ${code} is not supported`));

/** A convolution by weights [out, in, spatial...], with its bias. */
function convolved(
  of: LiteOp,
  axes: readonly number[],
  group: number,
  attributes: Parameters<LiteOp['add']>[2],
): NodeRef {
  const inputs = [of.real(0), of.weights(1, axes), ...(of.has(2) ? [of.real(2)] : [])];
  return of.add('LiteConv', inputs, { ...attributes, group: int(group) });
}

/** The size of an axis of an input. */
const dim = (of: LiteOp, position: number, axis: number): number =>
  of.shape(position)?.at(axis) ?? of.fail(`axis ${axis} of input ${position} is not known`);

/** The number of groups of a convolution: channels of the input for each of the weights. */
function groupsOf(of: LiteOp, inputAxis: number, weightsAxis: number): number {
  const [channels, each] = [dim(of, 0, inputAxis), dim(of, 1, weightsAxis)];
  const groups = channels / each;
  if (Number.isInteger(groups) && groups >= 1) return groups;
  return of.fail(`${channels} channels are not a multiple of the weights' ${each}`);
}

const conv2d: Translate = (of) => {
  const options = of.options(OPTIONS.Conv2DOptions);
  const value = convolved(of, [0, 3, 1, 2], groupsOf(of, 3, 3), {
    strides: ints([1, options.strideH, options.strideW, 1]),
    dilations: ints([1, options.dilationHFactor, options.dilationWFactor, 1]),
    padding: paddingOf(of, options.padding),
  });
  of.activated(value, options.fusedActivationFunction);
};

/** Weights: [1, height, width, channels * multiplier]. */
const depthwise: Translate = (of) => {
  const options = of.options(OPTIONS.DepthwiseConv2DOptions);
  const value = convolved(of, [3, 0, 1, 2], dim(of, 0, 3), {
    strides: ints([1, options.strideH, options.strideW, 1]),
    dilations: ints([1, options.dilationHFactor, options.dilationWFactor, 1]),
    padding: paddingOf(of, options.padding),
  });
  of.activated(value, options.fusedActivationFunction);
};

/** Weights: [depth, height, width, in, out]. */
const conv3d: Translate = (of) => {
  const options = of.options(OPTIONS.Conv3DOptions);
  const { dilationDFactor, dilationHFactor, dilationWFactor } = options;
  const value = convolved(of, [4, 3, 0, 1, 2], groupsOf(of, 4, 3), {
    strides: ints([1, options.strideD, options.strideH, options.strideW, 1]),
    dilations: ints([1, dilationDFactor, dilationHFactor, dilationWFactor, 1]),
    padding: paddingOf(of, options.padding),
  });
  of.activated(value, options.fusedActivationFunction);
};

const biased = (of: LiteOp, value: NodeRef, position: number): NodeRef =>
  of.has(position) ? of.add('BiasAdd', [value, of.real(position)]) : value;

/** Inputs: sizes of the result, weights [out, height, width, in], values, bias. */
const transposeConv: Translate = (of) => {
  const options = of.options(OPTIONS.TransposeConvOptions);
  const inputs = [of.raw(0), of.weights(1, [1, 2, 0, 3]), of.real(2)];
  const value = of.add('Conv2DBackpropInput', inputs, {
    strides: ints([1, options.strideH, options.strideW, 1]),
    padding: paddingOf(of, options.padding),
  });
  of.activated(biased(of, value, 3), options.fusedActivationFunction);
};

const transposeConv3d: Translate = (of) => {
  const options = of.options(OPTIONS.Conv3DOptions);
  const inputs = [of.raw(0), of.real(1), of.real(2)];
  const value = of.add('Conv3DBackpropInputV2', inputs, {
    strides: ints([1, options.strideD, options.strideH, options.strideW, 1]),
    padding: paddingOf(of, options.padding),
  });
  of.activated(biased(of, value, 3), options.fusedActivationFunction);
};

type PoolOptions = ReturnType<(typeof OPTIONS)['Pool2DOptions']['read']>;

const pooled = (of: LiteOp, op: string, x: NodeRef, options: PoolOptions): NodeRef =>
  of.add(op, [x], {
    ksize: ints([1, options.filterHeight, options.filterWidth, 1]),
    strides: ints([1, options.strideH, options.strideW, 1]),
    padding: paddingOf(of, options.padding),
  });

/** Means of stored numbers are rounded to stored ones, halves away from 0. */
const averagePool: Translate = (of) => {
  const options = of.options(OPTIONS.Pool2DOptions);
  const isStored = of.quantised(0) !== undefined && of.scope.isSame(of.in(0), of.out());
  if (isStored && options.fusedActivationFunction === 0) {
    const x = of.add('Cast', [of.raw(0)], { SrcT: type(of.dtype()), DstT: type('float') });
    const mean = pooled(of, 'AvgPool', x, options);
    const size = of.add('Floor', [of.add('AddV2', [of.add('Abs', [mean]), of.scalar(0.5)])]);
    const rounded = of.add('Mul', [of.add('Sign', [mean]), size]);
    const attributes = { SrcT: type('float'), DstT: type(of.dtype()) };
    return of.giveRaw(of.add('Cast', [rounded], attributes));
  }
  return of.activated(pooled(of, 'AvgPool', of.real(0), options), options.fusedActivationFunction);
};

/** Stored numbers have the order of the real ones. */
const maxPool: Translate = (of) => {
  const options = of.options(OPTIONS.Pool2DOptions);
  const isPlain = options.fusedActivationFunction === 0 && of.scope.isSame(of.in(0), of.out());
  if (isPlain) return of.giveRaw(pooled(of, 'MaxPool', of.raw(0), options));
  const value = pooled(of, 'MaxPool', of.real(0), options);
  return of.activated(value, options.fusedActivationFunction);
};

const l2Pool: Translate = (of) => {
  const options = of.options(OPTIONS.Pool2DOptions);
  const mean = pooled(of, 'AvgPool', of.add('Square', [of.real(0)]), options);
  of.activated(of.add('Sqrt', [mean]), options.fusedActivationFunction);
};

/** Weights: [out, in]; without keep_num_dims all axes but the last become rows. */
const fullyConnected: Translate = (of) => {
  const options = of.options(OPTIONS.FullyConnectedOptions);
  if (options.weightsFormat !== 0) of.fail(`weights_format ${options.weightsFormat}`);
  const depth = dim(of, 1, 1);
  const rank = of.shape(0)?.length;
  const isMatrix = rank === 2 && of.shape(0)?.[1] === depth;
  const x = of.real(0);
  const keeps = options.keepNumDims && rank !== 1;
  const rows = isMatrix || keeps ? x : of.add('Reshape', [x, of.int32s([-1, depth])]);
  const op = keeps && !isMatrix ? 'BatchMatMulV2' : 'MatMul';
  const product = of.add(op, [rows, of.weights(1, [1, 0])], { T: type('float') });
  const value = biased(of, product, 2);
  const isRow = options.keepNumDims && rank === 1;
  const shaped = isRow ? of.add('Reshape', [value, of.int32s([dim(of, 1, 0)])]) : value;
  of.activated(shaped, options.fusedActivationFunction);
};

const batchMatMul: Translate = (of) => {
  const { adjX, adjY } = of.options(OPTIONS.BatchMatMulOptions);
  const attributes = { adj_x: bool(adjX), adj_y: bool(adjY), T: type(of.realDtype()) };
  of.give(of.add('BatchMatMulV2', [of.real(0), of.real(1)], attributes));
};

const softmax: Translate = (of) => {
  const { beta } = of.options(OPTIONS.SoftmaxOptions);
  const x = of.real(0);
  of.give(of.add('Softmax', [beta === 1 ? x : of.add('Mul', [x, of.scalar(beta)])]));
};

const L2_LEAST = 1e-6;

const l2Normalization: Translate = (of) => {
  const { fusedActivationFunction } = of.options(OPTIONS.L2NormOptions);
  const x = of.real(0);
  const sum = of.add('Sum', [of.add('Square', [x]), of.int32s([-1])], { keep_dims: bool(true) });
  const length = of.add('Maximum', [of.add('Sqrt', [sum]), of.scalar(L2_LEAST)]);
  of.activated(of.add('RealDiv', [x, length]), fusedActivationFunction);
};

const localResponse: Translate = (of) => {
  const { radius, bias, alpha, beta } = of.options(OPTIONS.LocalResponseNormalizationOptions);
  const attributes = {
    depth_radius: int(radius),
    bias: float(bias),
    alpha: float(alpha),
    beta: float(beta),
  };
  of.give(of.add('LRN', [of.real(0)], attributes));
};

/** Height and width: a constant or a value of the graph. */
const resize =
  (op: string, options: 'ResizeBilinearOptions' | 'ResizeNearestNeighborOptions'): Translate =>
  (of) => {
    const { alignCorners, halfPixelCenters } = of.options(OPTIONS[options]);
    const isPlain = op === 'ResizeNearestNeighbor' && of.scope.isSame(of.in(0), of.out());
    const attributes = {
      align_corners: bool(alignCorners),
      half_pixel_centers: bool(halfPixelCenters),
    };
    const value = of.add(op, [isPlain ? of.raw(0) : of.real(0), of.raw(1)], attributes);
    if (isPlain) of.giveRaw(value);
    else of.give(value);
  };

export const LAYERS: LiteOperators = {
  AVERAGE_POOL_2D: { translate: averagePool },
  BATCH_MATMUL: { translate: batchMatMul },
  CONV_2D: { translate: conv2d, note: 'the number of channels must be known' },
  CONV_3D: { translate: conv3d, note: 'the number of channels must be known' },
  CONV_3D_TRANSPOSE: { translate: transposeConv3d },
  DEPTHWISE_CONV_2D: { translate: depthwise, note: 'the number of channels must be known' },
  FULLY_CONNECTED: { translate: fullyConnected, note: 'weights in the default format' },
  L2_NORMALIZATION: { translate: l2Normalization },
  L2_POOL_2D: { translate: l2Pool },
  LOCAL_RESPONSE_NORMALIZATION: { translate: localResponse },
  LOG_SOFTMAX: { translate: (of) => of.give(of.add('LogSoftmax', [of.real(0)])) },
  MAX_POOL_2D: { translate: maxPool },
  RESIZE_BILINEAR: { translate: resize('ResizeBilinear', 'ResizeBilinearOptions') },
  RESIZE_NEAREST_NEIGHBOR: {
    translate: resize('ResizeNearestNeighbor', 'ResizeNearestNeighborOptions'),
  },
  SOFTMAX: { translate: softmax },
  TRANSPOSE_CONV: { translate: transposeConv },
};
