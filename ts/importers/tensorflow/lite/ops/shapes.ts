// Operators of TensorFlow Lite that move elements. Quantised numbers move as they are stored if the
// result is stored in the same way. Importer's worker thread; pure. Source:
// tensorflow/lite/kernels/{reshape,strided_slice,concatenation,gather,pad}.cc.
import type { Attribute } from '../../types.js';
import { int, ints, text, type } from '../attributes.js';
import { OPTIONS } from '../generated/schema.js';
import type { LiteOp, LiteOperator, LiteOperators, Translate } from '../op.js';
import type { NodeRef } from '../scope.js';

type Given = Readonly<Record<string, Attribute>>;

/** An operator that moves the elements of input `from`; the others are counts, axes, indices. */
function moved(of: LiteOp, op: string, attributes: Given = {}, from = 0): void {
  const isSame = of.scope.isSame(of.in(from), of.out());
  const inputs = Array.from({ length: of.count }, (_, i) =>
    i === from && !isSame ? of.real(i) : of.raw(i),
  );
  given(of, of.add(op, inputs, attributes), isSame);
}

function given(of: LiteOp, value: NodeRef, isStored: boolean, position = 0): void {
  if (isStored) of.giveRaw(value, position);
  else of.give(value, position);
}

const mover = (op: string, from = 0): LiteOperator => ({
  translate: (of) => moved(of, op, {}, from),
});

/** Joined along an axis. */
function joined(of: LiteOp, make: (values: readonly NodeRef[]) => NodeRef): [NodeRef, boolean] {
  const positions = Array.from({ length: of.count }, (_, i) => i);
  const isSame = positions.every((i) => of.scope.isSame(of.in(i), of.out()));
  return [make(positions.map((i) => (isSame ? of.raw(i) : of.real(i)))), isSame];
}

const concatenation: Translate = (of) => {
  const { axis, fusedActivationFunction } = of.options(OPTIONS.ConcatenationOptions);
  const [value, isSame] = joined(of, (values) =>
    of.add('ConcatV2', [...values, of.scalar(axis, 'int32')], { N: int(values.length) }),
  );
  if (fusedActivationFunction === 0) return given(of, value, isSame);
  const code = fusedActivationFunction;
  if (!isSame || of.quantised(0) === undefined) return of.activated(value, code);
  return of.fail('an activation function after quantised values is not supported');
};

const pack: Translate = (of) => {
  const { axis } = of.options(OPTIONS.PackOptions);
  const [value, isSame] = joined(of, (values) =>
    of.add('Pack', values, { N: int(values.length), axis: int(axis), T: type(of.dtype()) }),
  );
  given(of, value, isSame);
};

/** The parts of input `from`. */
function parts(of: LiteOp, op: string, attributes: Given, from: number): void {
  const count = of.operator.outputs.length;
  const isSame = Array.from({ length: count }, (_, i) =>
    of.scope.isSame(of.in(from), of.out(i)),
  ).every((is) => is);
  const inputs = Array.from({ length: of.count }, (_, i) =>
    i === from && !isSame ? of.real(i) : of.raw(i),
  );
  const { node } = of.add(op, inputs, attributes);
  for (let i = 0; i < count; i += 1) given(of, { node, output: i }, isSame, i);
}

const split: Translate = (of) =>
  parts(of, 'Split', { num_split: int(of.operator.outputs.length) }, 1);

const splitV: Translate = (of) =>
  parts(of, 'SplitV', { num_split: int(of.operator.outputs.length), Tlen: type(of.dtype(1)) }, 0);

const unpack: Translate = (of) => {
  const { axis } = of.options(OPTIONS.UnpackOptions);
  parts(of, 'Unpack', { num: int(of.operator.outputs.length), axis: int(axis) }, 0);
};

/** The new shape: an input, or in old files an option. */
const reshape: Translate = (of) => {
  const isSame = of.scope.isSame(of.in(0), of.out());
  const target = of.has(1)
    ? of.raw(1)
    : of.int32s(Array.from(of.options(OPTIONS.ReshapeOptions).newShape));
  given(of, of.add('Reshape', [isSame ? of.raw(0) : of.real(0), target]), isSame);
};

const squeeze: Translate = (of) => {
  const dims = Array.from(of.options(OPTIONS.SqueezeOptions).squeezeDims);
  moved(of, 'Squeeze', { squeeze_dims: ints(dims) });
};

const stridedSlice: Translate = (of) => {
  const options = of.options(OPTIONS.StridedSliceOptions);
  if (options.offset) return of.fail('the option offset is not supported');
  return moved(of, 'StridedSlice', {
    begin_mask: int(options.beginMask),
    end_mask: int(options.endMask),
    ellipsis_mask: int(options.ellipsisMask),
    new_axis_mask: int(options.newAxisMask),
    shrink_axis_mask: int(options.shrinkAxisMask),
  });
};

const gather: Translate = (of) => {
  const { axis, batchDims } = of.options(OPTIONS.GatherOptions);
  const isSame = of.scope.isSame(of.in(0), of.out());
  const inputs = [isSame ? of.raw(0) : of.real(0), of.raw(1), of.scalar(axis, 'int32')];
  given(of, of.add('GatherV2', inputs, { batch_dims: int(batchDims) }), isSame);
};

/** Inputs: rows, table. */
const embedding: Translate = (of) => {
  const isSame = of.scope.isSame(of.in(1), of.out());
  const inputs = [isSame ? of.raw(1) : of.real(1), of.raw(0), of.scalar(0, 'int32')];
  given(of, of.add('GatherV2', inputs), isSame);
};

/** Quantised tensors are padded with the number that stands for 0. */
const pad: Translate = (of) => {
  const quantised = of.quantised(0);
  const isSame = of.scope.isSame(of.in(0), of.out());
  if (quantised === undefined || !isSame) return moved(of, 'Pad');
  const zero = of.scalar(quantised.zeros[0] ?? 0, of.dtype());
  return of.giveRaw(of.add('PadV2', [of.raw(0), of.raw(1), zero]));
};

/** TensorFlow's operator pads with zeros, which are not the stored form of 0. */
const spaceToBatch: Translate = (of) => {
  if (of.quantised(0) === undefined) return moved(of, 'SpaceToBatchND');
  return of.give(of.add('SpaceToBatchND', [of.real(0), of.raw(1), of.raw(2)]));
};

const padV2: Translate = (of) => {
  const isSame = of.scope.isSame(of.in(0), of.out()) && of.scope.isSame(of.in(2), of.out());
  const inputs = isSame ? [of.raw(0), of.raw(1), of.raw(2)] : [of.real(0), of.raw(1), of.real(2)];
  given(of, of.add('PadV2', inputs), isSame);
};

const mirrorPad: Translate = (of) => {
  const { mode } = of.options(OPTIONS.MirrorPadOptions);
  moved(of, 'MirrorPad', { mode: text(mode === 0 ? 'REFLECT' : 'SYMMETRIC') });
};

const blocks =
  (op: string, options: 'SpaceToDepthOptions' | 'DepthToSpaceOptions'): Translate =>
  (of) =>
    moved(of, op, { block_size: int(of.options(OPTIONS[options]).blockSize) });

const reverseSequence: Translate = (of) => {
  const { seqDim, batchDim } = of.options(OPTIONS.ReverseSequenceOptions);
  moved(of, 'ReverseSequence', { seq_dim: int(seqDim), batch_dim: int(batchDim) });
};

/** Indices, depth, on, off. */
const oneHot: Translate = (of) => {
  const { axis } = of.options(OPTIONS.OneHotOptions);
  const attributes = { axis: int(axis), TI: type(of.dtype()), T: type(of.dtype(2)) };
  of.giveRaw(of.add('OneHot', [of.raw(0), of.raw(1), of.raw(2), of.raw(3)], attributes));
};

const shape: Translate = (of) =>
  of.giveRaw(of.add('Shape', [of.raw(0)], { out_type: type(of.outDtype()) }));

const plain =
  (op: string): Translate =>
  (of) => {
    const inputs = Array.from({ length: of.count }, (_, i) => of.raw(i));
    of.giveRaw(of.add(op, inputs));
  };

export const SHAPES: LiteOperators = {
  BATCH_TO_SPACE_ND: mover('BatchToSpaceND'),
  BROADCAST_ARGS: { translate: plain('BroadcastArgs') },
  BROADCAST_TO: mover('BroadcastTo'),
  CONCATENATION: { translate: concatenation },
  DEPTH_TO_SPACE: { translate: blocks('DepthToSpace', 'DepthToSpaceOptions') },
  EMBEDDING_LOOKUP: { translate: embedding },
  EXPAND_DIMS: mover('ExpandDims'),
  FILL: { translate: (of) => moved(of, 'Fill', {}, 1) },
  GATHER: { translate: gather },
  GATHER_ND: mover('GatherNd'),
  MIRROR_PAD: { translate: mirrorPad },
  ONE_HOT: { translate: oneHot },
  PACK: { translate: pack },
  PAD: { translate: pad },
  PADV2: { translate: padV2 },
  RANGE: { translate: plain('Range') },
  RANK: { translate: plain('Rank') },
  RESHAPE: { translate: reshape },
  REVERSE_SEQUENCE: { translate: reverseSequence },
  REVERSE_V2: mover('ReverseV2'),
  SCATTER_ND: mover('ScatterNd', 1),
  SHAPE: { translate: shape },
  SLICE: mover('Slice'),
  SPACE_TO_BATCH_ND: { translate: spaceToBatch },
  SPACE_TO_DEPTH: { translate: blocks('SpaceToDepth', 'SpaceToDepthOptions') },
  SPARSE_TO_DENSE: { translate: plain('SparseToDense') },
  SPLIT: { translate: split },
  SPLIT_V: { translate: splitV },
  SQUEEZE: { translate: squeeze },
  STRIDED_SLICE: { translate: stridedSlice, note: 'without the option offset' },
  TILE: mover('Tile'),
  TRANSPOSE: mover('Transpose'),
  UNPACK: { translate: unpack },
};
