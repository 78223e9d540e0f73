// Interpreter kernels for reading the checkpoint. Tensors are only described until their elements
// are requested. Importer's worker thread. Source: tensorflow/core/kernels/save_restore_tensor.cc;
// tensorflow/core/framework/tensor_slice.
import { modelInvalid } from '../../../../base/errors.js';
import type { Checkpoint, Dtype, Slice, Tensor, TensorData } from '../../types.js';
import { attributeOf, typeAttribute } from '../attributes.js';
import { quoted } from '../errors.js';
import type { Kernel, KernelCall, Kernels } from '../interpreter.js';
import { stringsOf } from '../tensors.js';
import { tensorInput } from './inputs.js';

/** A tensor of the checkpoint that is read at the first use of its elements. */
export class StoredTensor implements Tensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly #checkpoint: Checkpoint;
  readonly #name: string;
  readonly #slice: Slice | undefined;
  #data: TensorData | undefined;

  /** Errors: ModelInvalid: no such tensor, or the slice is out of bounds. */
  constructor(checkpoint: Checkpoint, name: string, slice?: Slice) {
    const { dtype, shape } = checkpoint.describe(name);
    this.#checkpoint = checkpoint;
    this.#name = name;
    this.#slice = slice;
    this.dtype = dtype;
    this.shape = slice === undefined ? shape : slicedShape(shape, slice, name);
  }

  get data(): TensorData {
    this.#data ??= this.#checkpoint.read(this.#name, this.#slice).data;
    return this.#data;
  }
}

function slicedShape(shape: readonly number[], slice: Slice, name: string): number[] {
  if (slice.length !== shape.length) {
    throw modelInvalid(
      `slice of tensor ${quoted(name)}: expected ${shape.length} dims, ` + `got ${slice.length}`,
    );
  }
  return shape.map((dim, axis) => {
    const { start = 0, length } = slice[axis] ?? {};
    const size = length ?? dim - start;
    if (start >= 0 && size >= 0 && start + size <= dim) return size;
    throw modelInvalid(
      `slice of tensor ${quoted(name)}: ${start}..${start + size} is out of range for ${dim}`,
    );
  });
}

/**
 * "10 4 4,3:0,4": the full shape, then start and length per dim, "-" for all of it. undefined for
 * "": the whole tensor. Errors: ModelInvalid: not of this form.
 */
export function parseShapeAndSlice(
  text: string,
): { readonly shape: readonly number[]; readonly slice: Slice } | undefined {
  if (text === '') return undefined;
  const bad = (): Error =>
    modelInvalid(`shape and slice ${quoted(text)}: expected "10 4 0,10:0,4"`);
  const parts = text.split(' ');
  const last = parts.pop() ?? '';
  const shape = parts
    .filter((part) => part !== '')
    .map((part) => {
      if (!/^\d{1,15}$/.test(part)) throw bad();
      return Number(part);
    });
  const extents = last === '' ? [] : last.split(':');
  if (extents.length !== shape.length) throw bad();
  const slice = extents.map((extent) => {
    if (extent === '-') return { start: 0, length: undefined };
    const match = /^(\d{1,15}),(\d{1,15})$/.exec(extent);
    if (match === null) throw bad();
    return { start: Number(match[1]), length: Number(match[2]) };
  });
  return { shape, slice };
}

function textsOf(call: KernelCall, index: number): string[] {
  return stringsOf(tensorInput(call, index)).map((bytes) => Buffer.from(bytes).toString('utf8'));
}

function openedCheckpoint(call: KernelCall): Checkpoint {
  const { checkpoint, restorePrefix } = call.session;
  const [path = ''] = textsOf(call, 0);
  if (checkpoint !== undefined && path === restorePrefix) return checkpoint;
  throw modelInvalid(`${quoted(path)} is not the model's checkpoint`);
}

function restored(
  checkpoint: Checkpoint,
  name: string,
  text: string,
  dtype: Dtype | undefined,
): Tensor {
  const wanted = parseShapeAndSlice(text);
  const { shape } = checkpoint.describe(name);
  if (wanted !== undefined && wanted.shape.join() !== shape.join()) {
    throw modelInvalid(
      `tensor ${quoted(name)}: expected shape [${wanted.shape.join(', ')}], ` +
        `the checkpoint has [${shape.join(', ')}]`,
    );
  }
  const tensor = new StoredTensor(checkpoint, name, wanted?.slice);
  if (dtype === undefined || dtype === tensor.dtype) return tensor;
  throw modelInvalid(
    `tensor ${quoted(name)}: expected ${dtype}, the checkpoint has ${tensor.dtype}`,
  );
}

const restoreMany: Kernel = (call) => {
  const checkpoint = openedCheckpoint(call);
  const names = textsOf(call, 1);
  const slices = textsOf(call, 2);
  const types = attributeOf(call.node.attributes, 'dtypes', 'list')?.types ?? [];
  if (names.length !== slices.length || names.length !== types.length) {
    throw modelInvalid(
      `expected equal counts, got ${names.length} names, ${slices.length} slices and ${types.length} types`,
    );
  }
  call.session.spend(names.length);
  return names.map((name, index) => restored(checkpoint, name, slices[index] ?? '', types[index]));
};

const restoreOne: Kernel = (call) => {
  const checkpoint = openedCheckpoint(call);
  const [name] = textsOf(call, 1);
  const [slice] = call.inputs.length > 2 ? textsOf(call, 2) : [''];
  if (name === undefined || slice === undefined)
    throw modelInvalid('expected one name and one slice');
  return [restored(checkpoint, name, slice, typeAttribute(call.node.attributes, 'dt'))];
};

export const RESTORE_KERNELS: Kernels = {
  Restore: restoreOne,
  RestoreSlice: restoreOne,
  RestoreV2: restoreMany,
};
