// Interpreter kernels for shapes and for moving elements. Importer's worker thread. Source:
// tensorflow/core/ops/array_ops.cc.
import { modelInvalid } from '../../../../base/errors.js';
import { elementCount } from '../../../../model/shape.js';
import type { Tensor } from '../../types.js';
import { attributeOf, typeAttribute } from '../attributes.js';
import type { Kernel, Kernels, KernelCall } from '../interpreter.js';
import {
  bytesOf,
  computedCount,
  integersOf,
  picked,
  reshaped,
  stringsOf,
  tensorOf,
} from '../tensors.js';
import { tensorInput, tensorInputs } from './inputs.js';

function axisOf(axis: number, rank: number): number {
  const found = axis < 0 ? axis + rank : axis;
  if (found >= 0 && found < rank) return found;
  throw modelInvalid(`axis ${axis} is out of range for rank ${rank}`);
}

const reshape: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const wanted = integersOf(tensorInput(call, 1));
  const free = wanted.indexOf(-1);
  if (wanted.some((dim, axis) => dim < 0 && axis !== free))
    throw modelInvalid('shape: expected at most one -1, got several');
  const known = elementCount(wanted.filter((dim) => dim >= 0));
  const shape = wanted.map((dim) => (dim === -1 ? elementCount(tensor.shape) / known : dim));
  if (elementCount(shape) !== elementCount(tensor.shape) || !shape.every(Number.isSafeInteger)) {
    throw modelInvalid(`[${tensor.shape.join(', ')}] as [${wanted.join(', ')}]`);
  }
  return [reshaped(tensor, shape)];
};

const squeeze: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const { attributes } = call.node;
  const list =
    attributeOf(attributes, 'squeeze_dims', 'list') ?? attributeOf(attributes, 'axis', 'list');
  const axes = new Set((list?.ints ?? []).map((axis) => axisOf(Number(axis), tensor.shape.length)));
  const shape = tensor.shape.filter((dim, axis) => (axes.size === 0 ? dim !== 1 : !axes.has(axis)));
  if (elementCount(shape) !== elementCount(tensor.shape))
    throw modelInvalid('a squeezed dimension: expected a size of 1');
  return [reshaped(tensor, shape)];
};

const expandDims: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const [axis = 0] = integersOf(tensorInput(call, 1));
  return [reshaped(tensor, tensor.shape.toSpliced(axisOf(axis, tensor.shape.length + 1), 0, 1))];
};

// Joins along an axis that all tensors have.
function concatenated(call: KernelCall, tensors: readonly Tensor[], axis: number): Tensor {
  const [first] = tensors;
  if (first === undefined) throw modelInvalid('no tensors to concatenate');
  for (const { shape } of tensors) {
    const fits =
      shape.length === first.shape.length &&
      shape.every((dim, at) => at === axis || dim === first.shape[at]);
    if (!fits) throw modelInvalid(`shapes [${first.shape.join(', ')}] and [${shape.join(', ')}]`);
  }
  const outer = elementCount(first.shape.slice(0, axis));
  const sum = tensors.reduce((all, { shape }) => all + (shape[axis] ?? 0), 0);
  const shape = first.shape.toSpliced(axis, 1, sum);
  call.session.spend(computedCount(shape));
  const indices: number[] = [];
  const starts: number[] = [];
  tensors.reduce((start, tensor) => (starts.push(start), start + elementCount(tensor.shape)), 0);
  for (let row = 0; row < outer; row += 1) {
    tensors.forEach((tensor, number) => {
      const width = elementCount(tensor.shape.slice(axis));
      const start = (starts[number] ?? 0) + row * width;
      for (let at = 0; at < width; at += 1) indices.push(start + at);
    });
  }
  return picked(tensors, indices, shape);
}

const pack: Kernel = (call) => {
  const tensors = tensorInputs(call, 0);
  const rank = (tensors[0]?.shape.length ?? 0) + 1;
  const axis = axisOf(Number(attributeOf(call.node.attributes, 'axis', 'int') ?? 0n), rank);
  const one = tensors.map((tensor) => reshaped(tensor, tensor.shape.toSpliced(axis, 0, 1)));
  return [concatenated(call, one, axis)];
};

const concat: Kernel = (call) => {
  const isOld = call.node.op === 'Concat';
  const last = call.inputs.length - 1;
  const [axis = 0] = integersOf(tensorInput(call, isOld ? 0 : last));
  const tensors = isOld ? tensorInputs(call, 1) : tensorInputs(call, 0, last);
  return [concatenated(call, tensors, axisOf(axis, tensors[0]?.shape.length ?? 0))];
};

const fill: Kernel = (call) => {
  const shape = integersOf(tensorInput(call, 0));
  const value = tensorInput(call, 1);
  return [filled(shape, value)];
};

function filled(shape: readonly number[], value: Tensor): Tensor {
  if (shape.some((dim) => dim < 0) || !Number.isSafeInteger(elementCount(shape))) {
    throw modelInvalid(`shape [${shape.join(', ')}]`);
  }
  if (computedCount(value.shape) !== 1) throw modelInvalid('expected one value');
  if (value.dtype === 'string') {
    const [element = new Uint8Array()] = stringsOf(value);
    return { dtype: 'string', shape, data: { kind: 'fill', element } };
  }
  return { dtype: value.dtype, shape, data: { kind: 'fill', element: bytesOf(value) } };
}

function like(value: number): Kernel {
  return (call) => {
    const { dtype, shape } = tensorInput(call, 0);
    if (dtype === 'string') {
      return [{ dtype, shape, data: { kind: 'fill', element: new Uint8Array() } }];
    }
    return [filled(shape, tensorOf(dtype, [], [value]))];
  };
}

const shapeOf: Kernel = (call) => {
  const { shape } = tensorInput(call, 0);
  const dtype = typeAttribute(call.node.attributes, 'out_type') ?? 'int32';
  return [tensorOf(dtype, [shape.length], shape)];
};

const gather: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const at = tensorInput(call, 1);
  const [axis = 0] = call.inputs.length > 2 ? integersOf(tensorInput(call, 2)) : [];
  if (axis !== 0 || tensor.shape.length === 0)
    throw modelInvalid('only the first axis is supported');
  const [rows = 0, ...rest] = tensor.shape;
  const width = elementCount(rest);
  const shape = [...at.shape, ...rest];
  call.session.spend(computedCount(shape));
  const indices = integersOf(at).flatMap((row) => {
    if (row < 0 || row >= rows) throw modelInvalid(`index ${row} is out of range for ${rows} rows`);
    return Array.from({ length: width }, (_, step) => row * width + step);
  });
  return [picked([tensor], indices, shape)];
};

interface Cut {
  readonly at: readonly number[];
  readonly isDropped: boolean;
}

// Slices [begin, end) with steps; ellipsis and new axes are only supported in the serving graph.
const stridedSlice: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const [begin = [], end = [], strides = []] = tensorInputs(call, 1, 4).map(integersOf);
  const mask = (name: string): number =>
    Number(attributeOf(call.node.attributes, name, 'int') ?? 0n);
  if (mask('ellipsis_mask') !== 0 || mask('new_axis_mask') !== 0) {
    throw modelInvalid('an ellipsis or a new axis is not supported');
  }
  if (begin.length > tensor.shape.length) throw modelInvalid('got more slices than dimensions');
  call.session.spend(computedCount(tensor.shape));
  const cuts = tensor.shape.map((dim, axis): Cut => {
    const isSet = (name: string): boolean => ((mask(name) >> axis) & 1) === 1;
    const step = strides[axis] ?? 1;
    if (step === 0) throw modelInvalid('strides: expected steps other than 0');
    const from = axis < begin.length && !isSet('begin_mask') ? begin[axis] : undefined;
    const to = axis < begin.length && !isSet('end_mask') ? end[axis] : undefined;
    if (axis < begin.length && isSet('shrink_axis_mask')) {
      return { at: [axisOf(begin[axis] ?? 0, dim)], isDropped: true };
    }
    return { at: steps(dim, from, to, step), isDropped: false };
  });
  return [sliced(tensor, cuts)];
};

function steps(
  dim: number,
  from: number | undefined,
  to: number | undefined,
  step: number,
): number[] {
  const [lowest, highest] = step > 0 ? [0, dim] : [-1, dim - 1];
  const clamp = (value: number): number =>
    Math.min(Math.max(value < 0 ? value + dim : value, lowest), highest);
  const start = from === undefined ? (step > 0 ? lowest : highest) : clamp(from);
  const stop = to === undefined ? (step > 0 ? highest : lowest) : clamp(to);
  const found: number[] = [];
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) found.push(at);
  return found;
}

function sliced(tensor: Tensor, cuts: readonly Cut[]): Tensor {
  let indices = [0];
  cuts.forEach(({ at }, axis) => {
    const dim = tensor.shape[axis] ?? 1;
    indices = indices.flatMap((index) => at.map((step) => index * dim + step));
  });
  const shape = cuts.filter(({ isDropped }) => !isDropped).map(({ at }) => at.length);
  return picked([tensor], indices, shape);
}

const slice: Kernel = (call) => {
  const tensor = tensorInput(call, 0);
  const begin = integersOf(tensorInput(call, 1));
  const size = integersOf(tensorInput(call, 2));
  call.session.spend(computedCount(tensor.shape));
  return [
    sliced(
      tensor,
      tensor.shape.map((dim, axis) => {
        const start = begin[axis] ?? 0;
        const count = (size[axis] ?? -1) === -1 ? dim - start : (size[axis] ?? 0);
        if (start < 0 || count < 0 || start + count > dim)
          throw modelInvalid('the slice is out of range');
        return { at: Array.from({ length: count }, (_, step) => start + step), isDropped: false };
      }),
    ),
  ];
};

const split: Kernel = (call) => {
  const [axisValue = 0] = integersOf(tensorInput(call, 0));
  const tensor = tensorInput(call, 1);
  const axis = axisOf(axisValue, tensor.shape.length);
  const count = Number(attributeOf(call.node.attributes, 'num_split', 'int') ?? 1n);
  const dim = tensor.shape[axis] ?? 0;
  if (count < 1 || dim % count !== 0) throw modelInvalid(`${dim} in ${count} parts`);
  const width = dim / count;
  call.session.spend(computedCount(tensor.shape) + count);
  return Array.from({ length: count }, (_, part) =>
    sliced(
      tensor,
      tensor.shape.map((all, at) => ({
        at: Array.from({ length: at === axis ? width : all }, (__, step) =>
          at === axis ? part * width + step : step,
        ),
        isDropped: false,
      })),
    ),
  );
};

export const ARRAY_KERNELS: Kernels = {
  Reshape: reshape,
  Squeeze: squeeze,
  ExpandDims: expandDims,
  Pack: pack,
  Concat: concat,
  ConcatV2: concat,
  Fill: fill,
  ZerosLike: like(0),
  OnesLike: like(1),
  Shape: shapeOf,
  Gather: gather,
  GatherV2: gather,
  StridedSlice: stridedSlice,
  Slice: slice,
  Split: split,
  Size: (call) => {
    const { shape } = tensorInput(call, 0);
    const dtype = typeAttribute(call.node.attributes, 'out_type') ?? 'int32';
    return [tensorOf(dtype, [], [elementCount(shape)])];
  },
};
