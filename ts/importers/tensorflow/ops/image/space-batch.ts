// Space to batch, space to depth and back. Importer's worker thread. Source:
// tensorflow/core/kernels/{spacetobatch_op,batchtospace_op,spacetodepth_op}.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { dilatedConvolution, noteSpread } from '../conv/dilated.js';
import {
  type Dim,
  dimOf,
  dimVector,
  divDims,
  elementDim,
  knownDims,
  mulDims,
  reshapeTo,
  subDims,
} from '../conv/dims.js';
import { isChannelsFirst, ofRank, toChannelsFirst, toChannelsLast } from '../conv/layout.js';

interface Blocks {
  readonly block: readonly Dim[];
  /** Per block axis, the padding or cropping before and after. */
  readonly edges: readonly (readonly [Dim, Dim])[];
}

/** From the operands, or the attribute block_size of the square forms. */
function readBlocks(cx: OpContext): Blocks {
  const isSquare = cx.node.attributes.has('block_size');
  const table = cx.tensor(isSquare ? 1 : 2);
  const numbers = cx.numbers(isSquare ? 1 : 2);
  const count = isSquare
    ? 2
    : (cx.tensor(1).shape?.[0] ?? table.shape?.[0] ?? cx.fail('the number of blocks is not known'));
  if (count >= cx.rank(cx.tensor(0))) {
    cx.fail(`${count} blocks do not fit ${cx.describe(cx.tensor(0))}`);
  }
  const flat = cx.reshape(cx.cast(table, 'int64'), [-1]);
  const edge = (index: number): Dim => numbers?.[index] ?? elementDim(cx, flat, index);
  const block = Array.from({ length: count }, (_, i) =>
    isSquare ? cx.int('block_size') : elementDim(cx, cx.tensor(1), i),
  );
  if (block.some((one) => typeof one === 'number' && one < 1)) cx.fail('blocks must be 1 or more');
  const edges = block.map((_, i): [Dim, Dim] => [edge(2 * i), edge(2 * i + 1)]);
  return { block, edges };
}

const product = (cx: OpContext, dims: readonly Dim[]): Dim =>
  dims.reduce((all, one) => mulDims(cx, all, one), 1);

const spaceToBatch: Lowering = (cx) => {
  const { block, edges } = readBlocks(cx);
  const count = block.length;
  const value = cx.tensor(0);
  const padded = pad(cx, value, edges);
  const rank = cx.rank(padded);
  const dims = Array.from({ length: rank }, (_, axis) => dimOf(cx, padded, axis));
  const spatial = dims.slice(1, count + 1).map((dim, i) => divDims(cx, dim, block[i] ?? 1));
  const [batch, rest] = [dims[0] ?? 1, dims.slice(count + 1)];
  const split = reshapeTo(cx, padded, [
    batch,
    ...spatial.flatMap((dim, i) => [dim, block[i] ?? 1]),
    ...rest,
  ]);
  const turned = cx.transpose(split, [
    ...block.map((_, i) => 2 * i + 2),
    0,
    ...block.map((_, i) => 2 * i + 1),
    ...rest.map((_, i) => 2 * count + 1 + i),
  ]);
  const result = reshapeTo(cx, turned, [
    mulDims(cx, product(cx, block), batch),
    ...spatial,
    ...rest,
  ]);
  noteSpread(cx, result, { source: value, block, edges });
  return result;
};

function pad(cx: OpContext, value: TensorValue, edges: Blocks['edges']): TensorValue {
  if (edges.every(([before, after]) => before === 0 && after === 0)) return value;
  const rank = cx.rank(value);
  const side = (which: 0 | 1): Dim[] =>
    Array.from({ length: rank }, (_, axis) => edges[axis - 1]?.[which] ?? 0);
  const [befores, afters] = [side(0), side(1)];
  const shape = value.shape?.map((dim, axis) => {
    const [before, after] = [befores[axis], afters[axis]];
    return dim === undefined || typeof before !== 'number' || typeof after !== 'number'
      ? undefined
      : dim + before + after;
  });
  return cx.op('Pad', [value, dimVector(cx, [...befores, ...afters])], { shape });
}

const batchToSpace: Lowering = (cx) => {
  const { block, edges } = readBlocks(cx);
  const count = block.length;
  const value = cx.tensor(0);
  const whole = dilatedConvolution(cx, value, block, edges);
  if (whole !== undefined) return whole;
  const rank = cx.rank(value);
  const dims = Array.from({ length: rank }, (_, axis) => dimOf(cx, value, axis));
  const batch = divDims(cx, dims[0] ?? 1, product(cx, block));
  const [spatial, rest] = [dims.slice(1, count + 1), dims.slice(count + 1)];
  const split = reshapeTo(cx, value, [...block, batch, ...spatial, ...rest]);
  const turned = cx.transpose(split, [
    count,
    ...block.flatMap((_, i) => [count + 1 + i, i]),
    ...rest.map((_, i) => 2 * count + 1 + i),
  ]);
  const grown = spatial.map((dim, i) => mulDims(cx, dim, block[i] ?? 1));
  const merged = reshapeTo(cx, turned, [batch, ...grown, ...rest]);
  return crop(cx, merged, grown, edges);
};

function crop(
  cx: OpContext,
  value: TensorValue,
  sizes: readonly Dim[],
  edges: Blocks['edges'],
): TensorValue {
  if (edges.every(([before, after]) => before === 0 && after === 0)) return value;
  const starts = edges.map(([before]) => before);
  const ends = edges.map(([, after], i) => subDims(cx, sizes[i] ?? 0, after));
  const left = knownDims(ends.map((end, i) => subDims(cx, end, starts[i] ?? 0)));
  if (left.some((one) => one !== undefined && one < 0)) cx.fail('crops are larger than the image');
  const axes = cx.int64s(edges.map((_, i) => i + 1));
  return cx.op('Slice', [value, dimVector(cx, starts), dimVector(cx, ends), axes], {
    shape: value.shape?.map((dim, axis) =>
      axis >= 1 && axis <= edges.length ? left[axis - 1] : dim,
    ),
  });
}

/** 64-bit integers would be converted to double. */
const EXACT: ReadonlySet<string> = new Set([
  'float',
  'double',
  'half',
  'bfloat16',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'qint8',
  'quint8',
]);

const depth =
  (type: 'SpaceToDepth' | 'DepthToSpace'): Lowering =>
  (cx) => {
    const size = cx.int('block_size');
    const isFirst = isChannelsFirst(cx);
    const given = ofRank(cx, cx.tensor(0), 4);
    if (!EXACT.has(given.dtype)) cx.fail(`${given.dtype} is not supported`);
    const x = toChannelsFirst(cx, given, isFirst);
    const isDown = type === 'SpaceToDepth';
    const shape = x.shape?.map((dim, axis) => {
      if (axis === 0 || dim === undefined) return dim;
      const by = axis === 1 ? size * size : size;
      return (axis === 1) === isDown ? dim * by : dim / by;
    });
    if (size < 2 || shape?.some((dim) => dim !== undefined && !Number.isInteger(dim))) {
      cx.fail(`block_size ${size} does not fit ${cx.describe(given)}`);
    }
    const y = cx.op(type, [x], {
      shape,
      attributes: { blocksize: { int: size }, ...(isDown ? {} : { mode: { string: 'DCR' } }) },
    });
    return toChannelsLast(cx, y, isFirst);
  };

export const SPACE_BATCH: Operators = {
  SpaceToBatchND: { lower: spaceToBatch },
  BatchToSpaceND: { lower: batchToSpace },
  SpaceToBatch: { lower: spaceToBatch },
  BatchToSpace: { lower: batchToSpace },
  SpaceToDepth: { lower: depth('SpaceToDepth') },
  DepthToSpace: { lower: depth('DepthToSpace') },
};
