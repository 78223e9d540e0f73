// Reads a TensorFlow Lite file and checks what its parts refer to: operators, tensors, buffers.
// Importer's worker thread. Source: tensorflow/compiler/mlir/lite/schema/schema.fbs;
// tensorflow/compiler/mlir/lite/core/model_builder_base.cc.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { FlatTable } from '../../../base/flat-reader.js';
import { WIRE_MESSAGE_BYTES_MAX } from '../../../base/limits.js';
import { modelInvalid } from '../../../base/errors.js';
import { elementCount } from '../../../model/shape.js';
import { DATA_TYPES, type Dtype } from '../../../model/datatype.js';
import { LARGE_TENSOR_BYTES } from '../proto/read-context.js';
import type { Tensor as Constant } from '../types.js';
import {
  type Buffer as DataBuffer,
  BUILTIN_OPERATOR,
  type Model,
  type Operator,
  readModel,
  type SubGraph,
  type Tensor,
  TENSOR_TYPE,
} from './generated/schema.js';
import { stringsOf } from './strings.js';

const IDENTIFIER = 'TFL3';
const VERSION = 3;
/** The root's offset and the identifier. */
const HEAD_BYTES = 8;
/** The part of a larger file that can have tables. */
const TABLES_BYTES_MAX = 268_435_456;
const CUSTOM = 32;
const RANK_MAX = 8;

const DTYPES: Readonly<Record<string, Dtype>> = {
  FLOAT32: 'float',
  FLOAT16: 'half',
  INT32: 'int32',
  UINT8: 'uint8',
  INT64: 'int64',
  STRING: 'string',
  BOOL: 'bool',
  INT16: 'int16',
  COMPLEX64: 'complex64',
  INT8: 'int8',
  FLOAT64: 'double',
  COMPLEX128: 'complex128',
  UINT64: 'uint64',
  RESOURCE: 'resource',
  VARIANT: 'variant',
  UINT32: 'uint32',
  UINT16: 'uint16',
  BFLOAT16: 'bfloat16',
};

/** An operator's name: "CONV_2D", or that of a custom one. */
export interface OperatorName {
  readonly name: string;
  readonly isCustom: boolean;
}

/** A file whose references all exist. */
export class LiteFile {
  readonly model: Model;
  readonly #path: string;
  readonly #bytes: Uint8Array;
  readonly #fileBytes: number;
  readonly #names: readonly OperatorName[];

  private constructor(path: string, bytes: Uint8Array, fileBytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.#fileBytes = fileBytes;
    this.model = readTables(bytes);
    if (this.model.version !== VERSION) {
      throw modelInvalid(`expected version ${VERSION} of the format, got ${this.model.version}`);
    }
    this.#names = this.model.operatorCodes.map(
      ({ deprecatedBuiltinCode, builtinCode, customCode }) => {
        const code = Math.max(deprecatedBuiltinCode, builtinCode);
        if (code === CUSTOM) return { name: customCode, isCustom: true };
        return { name: BUILTIN_OPERATOR[code] ?? `operator ${code}`, isCustom: false };
      },
    );
    this.model.subgraphs.forEach((graph, i) => this.#check(graph, `subgraph ${i}`));
  }

  /** Errors: ModelInvalid: unreadable, not this format, damaged. */
  static open(path: string): LiteFile {
    const { bytes, size } = readHead(path);
    try {
      return new LiteFile(path, bytes, size);
    } catch (error) {
      // The checked reader's own; TextDecoder's for a name that is not UTF-8.
      if (error instanceof RangeError || error instanceof TypeError) {
        throw modelInvalid(`not a TensorFlow Lite file, or damaged: ${error.message}`);
      }
      throw error;
    }
  }

  /** The name of an operator that was checked. */
  nameOf({ opcodeIndex }: Operator): OperatorName {
    return this.#names[opcodeIndex] ?? { name: '', isCustom: false };
  }

  /** The elements of a constant; undefined: the tensor is none. Errors: ModelInvalid. */
  constantOf(tensor: Tensor, where: string): Constant | undefined {
    const buffer = this.model.buffers[tensor.buffer];
    const place = buffer === undefined ? undefined : this.#placeOf(buffer, where);
    const dtype = dtypeOf(tensor.type);
    const shape = Array.from(tensor.shape);
    if (place === undefined) {
      // A constant without elements has no bytes; buffer 0 says that a tensor is no constant.
      const isEmpty = tensor.buffer !== 0 && dtype !== 'string' && shape.includes(0);
      if (!isEmpty || dtype === undefined) return undefined;
      return { dtype, shape, data: { kind: 'bytes', bytes: new Uint8Array() } };
    }
    if (dtype === undefined) throw modelInvalid(`${where}: constants of ${typeName(tensor.type)}`);
    if (shape.some((dim) => dim < 0)) {
      throw modelInvalid(`${where}: expected the shape of a constant, got [${shape.join(',')}]`);
    }
    const count = elementCount(shape);
    if (dtype === 'string') {
      const values = stringsOf(this.#bytesAt(place), count, where);
      return { dtype, shape, data: { kind: 'strings', values } };
    }
    const wanted = count * DATA_TYPES[dtype].bytes;
    if (wanted !== place.length || DATA_TYPES[dtype].bytes === 0) {
      throw modelInvalid(
        `${where}: expected ${wanted} bytes for ${typeName(tensor.type)}[${shape.join(',')}], ` +
          `got ${place.length}`,
      );
    }
    const { offset, length } = place;
    if (length >= LARGE_TENSOR_BYTES) {
      return { dtype, shape, data: { kind: 'file', path: this.#path, offset, byteLength: length } };
    }
    return { dtype, shape, data: { kind: 'bytes', bytes: this.#bytesAt(place) } };
  }

  /** A copy, which does not keep the file in memory. */
  #bytesAt({ offset, length }: { offset: number; length: number }): Uint8Array {
    if (offset + length <= this.#bytes.length) {
      return Uint8Array.from(this.#bytes.subarray(offset, offset + length));
    }
    const file = openSync(this.#path, 'r');
    try {
      return readExactly(file, length, offset);
    } finally {
      closeSync(file);
    }
  }

  #placeOf(buffer: DataBuffer, where: string): { offset: number; length: number } | undefined {
    const { data, offset, size } = buffer;
    if (data.count > 0) return { offset: data.at, length: data.count };
    // 1 stands for a place that the writer did not fill in.
    if (offset <= 1 || size === 0) return undefined;
    if (offset + size > this.#fileBytes) {
      throw modelInvalid(
        `${where}: expected its ${size} bytes from byte ${offset} inside of the file, which has ` +
          `${this.#fileBytes}: it is truncated`,
      );
    }
    return { offset, length: size };
  }

  #check(graph: SubGraph, where: string): void {
    const { tensors, operators } = graph;
    tensors.forEach((tensor, i) => {
      const at = `${where}, tensor ${i}`;
      if (tensor.buffer >= Math.max(1, this.model.buffers.length)) {
        throw modelInvalid(
          `${at}: buffer ${tensor.buffer}: expected one of ${this.model.buffers.length}`,
        );
      }
      const dims = [...tensor.shape, ...tensor.shapeSignature];
      if (tensor.shape.length > RANK_MAX || dims.some((dim) => dim < -1)) {
        throw modelInvalid(`${at}: shape [${[...tensor.shape].slice(0, 9).join(',')}]`);
      }
    });
    const checked = (list: Int32Array, what: string, lowest: number): void => {
      const wrong = list.find((index) => index < lowest || index >= tensors.length);
      if (wrong === undefined) return;
      throw modelInvalid(`${what}: tensor ${wrong}: expected one of ${tensors.length}`);
    };
    checked(graph.inputs, `${where}, inputs`, 0);
    checked(graph.outputs, `${where}, outputs`, 0);
    operators.forEach((operator, i) => {
      const at = `${where}, operator ${i}`;
      if (operator.opcodeIndex >= this.#names.length) {
        throw modelInvalid(
          `${at}: operator code ${operator.opcodeIndex}: expected one of ${this.#names.length}`,
        );
      }
      checked(operator.inputs, `${at} (${this.nameOf(operator).name}), inputs`, -1);
      checked(operator.outputs, `${at} (${this.nameOf(operator).name}), outputs`, -1);
    });
  }
}

/** undefined: the importer does not have it. */
export function dtypeOf(type: number): Dtype | undefined {
  const name = TENSOR_TYPE[type] ?? '';
  return Object.hasOwn(DTYPES, name) ? DTYPES[name] : undefined;
}

export const typeName = (type: number): string => TENSOR_TYPE[type] ?? `type ${type}`;

function readTables(bytes: Uint8Array): Model {
  const mark = String.fromCharCode(...bytes.subarray(4, HEAD_BYTES));
  if (mark !== IDENTIFIER) {
    throw modelInvalid(
      `expected '${IDENTIFIER}' at byte 4, got '${mark}': not a TensorFlow Lite file`,
    );
  }
  return readModel(FlatTable.root(bytes, 0));
}

function readHead(path: string): { bytes: Uint8Array; size: number } {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    // The tables come first; a larger file has its constants after them.
    const length = size > WIRE_MESSAGE_BYTES_MAX ? TABLES_BYTES_MAX : size;
    return { bytes: readExactly(file, length, 0), size };
  } catch (error) {
    throw modelInvalid(`cannot read the file: ${(error as Error).message}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readExactly(file: number, length: number, offset: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const count = readSync(file, bytes, done, length - done, offset + done);
    if (count === 0)
      throw modelInvalid(`expected ${length} bytes from byte ${offset}, got ${done}`);
    done += count;
  }
  return bytes;
}
