// Interpreter kernels for arithmetic on constants. Integers wrap around as in TensorFlow.
// Importer's worker thread.
import { modelInvalid } from '../../../../base/errors.js';
import { DATA_TYPES, type Scalar } from '../../../../model/datatype.js';
import type { Dtype, Tensor } from '../../types.js';
import { attributeOf, typeAttribute } from '../attributes.js';
import type { Kernel, KernelCall, Kernels } from '../interpreter.js';
import {
  bytesOf,
  elementBytes,
  computedCount,
  elementName,
  elementsOf,
  integersOf,
  numbersOf,
  scalarOf,
  tensorOf,
} from '../tensors.js';
import { tensorInput, tensorInputs } from './inputs.js';

interface Operation {
  number(one: number, other: number): number;
  bigint(one: bigint, other: bigint): bigint;
  isForFloats?: boolean;
}

const ADD: Operation = { number: (a, b) => a + b, bigint: (a, b) => a + b };
const SUB: Operation = { number: (a, b) => a - b, bigint: (a, b) => a - b };
const MUL: Operation = { number: (a, b) => a * b, bigint: (a, b) => a * b };
const MAX: Operation = { number: Math.max, bigint: (a, b) => (a > b ? a : b) };
const MIN: Operation = { number: Math.min, bigint: (a, b) => (a < b ? a : b) };
const FLOOR_DIV: Operation = {
  number: (a, b) => Math.floor(a / b),
  bigint: (a, b) => {
    if (b === 0n) throw modelInvalid('division by zero');
    const quotient = a / b;
    return quotient * b !== a && a < 0n !== b < 0n ? quotient - 1n : quotient;
  },
};

function broadcastShape(one: readonly number[], other: readonly number[]): number[] {
  const rank = Math.max(one.length, other.length);
  return Array.from({ length: rank }, (_, axis) => {
    const a = one[axis - rank + one.length] ?? 1;
    const b = other[axis - rank + other.length] ?? 1;
    if (a === b || b === 1) return a;
    if (a === 1) return b;
    throw modelInvalid(`shapes [${one.join(', ')}] and [${other.join(', ')}] do not broadcast`);
  });
}

// For each element of shape `to`, the index of its element in a tensor of shape `from`.
function broadcastIndices(from: readonly number[], to: readonly number[]): number[] {
  let indices = [0];
  const offset = to.length - from.length;
  to.forEach((dim, axis) => {
    const own = from[axis - offset] ?? 1;
    const next: number[] = [];
    for (const index of indices) {
      for (let at = 0; at < dim; at += 1) next.push(index * own + (own === 1 ? 0 : at));
    }
    indices = next;
  });
  return indices;
}

// Integers are computed as bigint, so that 32-bit products keep their low bits.
function computed(one: Tensor, other: Tensor, operation: Operation): Tensor {
  if (one.dtype !== other.dtype) throw modelInvalid(`types ${one.dtype} and ${other.dtype} differ`);
  const shape = broadcastShape(one.shape, other.shape);
  computedCount(shape);
  const left = numbersOf(one);
  const right = numbersOf(other);
  const rightAt = broadcastIndices(other.shape, shape);
  const isFloat = DATA_TYPES[one.dtype].kind === 'float';
  const values = broadcastIndices(one.shape, shape).map((at, index): Scalar => {
    const a = left[at] ?? 0;
    const b = right[rightAt[index] ?? 0] ?? 0;
    if (isFloat) return operation.number(Number(a), Number(b));
    return wrapped(one.dtype, operation.bigint(BigInt(a), BigInt(b)));
  });
  return tensorOf(one.dtype, shape, values);
}

function wrapped(dtype: Dtype, value: bigint): Scalar {
  if (dtype === 'int64') return BigInt.asIntN(64, value);
  if (dtype === 'uint64') return BigInt.asUintN(64, value);
  return Number(BigInt.asIntN(32, value));
}

export function added(one: Tensor, other: Tensor): Tensor {
  return computed(one, other, ADD);
}

export function subtracted(one: Tensor, other: Tensor): Tensor {
  return computed(one, other, SUB);
}

function binary(operation: Operation): Kernel {
  return (call) => {
    const one = tensorInput(call, 0);
    const other = tensorInput(call, 1);
    call.session.spend(computedCount(broadcastShape(one.shape, other.shape)));
    return [computed(one, other, operation)];
  };
}

function compared(test: (order: number) => boolean): Kernel {
  return (call) => {
    const one = tensorInput(call, 0);
    const other = tensorInput(call, 1);
    const shape = broadcastShape(one.shape, other.shape);
    call.session.spend(computedCount(shape));
    const left = elementsOf(one);
    const right = elementsOf(other);
    const rightAt = broadcastIndices(other.shape, shape);
    const values = broadcastIndices(one.shape, shape).map((at, index) => {
      const a = left[at] ?? 0;
      const b = right[rightAt[index] ?? 0] ?? 0;
      return test(orderOf(a, b)) ? 1 : 0;
    });
    return [tensorOf('bool', shape, values)];
  };
}

// NaN is not ordered relative to anything.
function orderOf(a: Scalar | Uint8Array, b: Scalar | Uint8Array): number {
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    const [one, other] = [elementName(a), elementName(b)];
    return one === other ? 0 : one < other ? -1 : 1;
  }
  if (a === b) return 0;
  return a < b ? -1 : a > b ? 1 : NaN;
}

function logical(test: (values: readonly boolean[]) => boolean): Kernel {
  return (call) => {
    const tensors = tensorInputs(call, 0);
    const shape = tensors.map(({ shape: own }) => own).reduce(broadcastShape);
    call.session.spend(computedCount(shape));
    const sources = tensors.map((tensor) => {
      const values = numbersOf(tensor);
      return broadcastIndices(tensor.shape, shape).map((at) => Boolean(values[at]));
    });
    const count = computedCount(shape);
    return [
      tensorOf(
        'bool',
        shape,
        Array.from({ length: count }, (_, index) =>
          test(sources.map((values) => values[index] ?? false)) ? 1 : 0,
        ),
      ),
    ];
  };
}

function unary(compute: (value: number) => number): Kernel {
  return (call) => {
    const input = tensorInput(call, 0);
    const { dtype, shape } = input;
    if (DATA_TYPES[dtype].kind !== 'float') throw modelInvalid(`expected floats, got ${dtype}`);
    call.session.spend(computedCount(shape));
    const values = numbersOf(input).map((value) => compute(Number(value)));
    return [tensorOf(dtype, shape, values)];
  };
}

const cast: Kernel = (call) => {
  const input = tensorInput(call, 0);
  const to = typeAttribute(call.node.attributes, 'DstT');
  if (to === undefined) throw modelInvalid('the target type of the cast is missing');
  if (to === input.dtype) return [input];
  call.session.spend(computedCount(input.shape));
  return [
    tensorOf(
      to,
      input.shape,
      numbersOf(input).map((value) => castOne(value, to)),
    ),
  ];
};

// From a float: rounds towards zero; values out of range are undefined, and refused.
function castOne(value: Scalar, to: Dtype): Scalar {
  if (DATA_TYPES[to].kind === 'float') return Number(value);
  if (to === 'bool') return Number(value) !== 0 ? 1 : 0;
  if (typeof value === 'number' && !Number.isFinite(value)) throw modelInvalid(`${value} as ${to}`);
  const whole = typeof value === 'bigint' ? value : BigInt(Math.trunc(value));
  return wrapped(to, whole);
}

// The same bytes as another type; the last dim changes by the ratio of the sizes.
const bitcast: Kernel = (call) => {
  const input = tensorInput(call, 0);
  const to = typeAttribute(call.node.attributes, 'type');
  if (to === undefined) throw modelInvalid('the target type of the cast is missing');
  const from = elementBytes(input.dtype);
  const size = elementBytes(to);
  const shape = [...input.shape];
  if (size < from) shape.push(from / size);
  if (size > from) {
    const last = shape.pop();
    if (last !== size / from) throw modelInvalid(`[${input.shape.join(', ')}] as ${to}`);
  }
  return [{ dtype: to, shape, data: { kind: 'bytes', bytes: bytesOf(input) } }];
};

const range: Kernel = (call) => {
  const bounds = tensorInputs(call, 0, 3);
  if (new Set(bounds.map((bound) => bound.dtype)).size !== 1) throw modelInvalid('types differ');
  const [start, limit, delta] = bounds.map(scalarOf);
  if (start === undefined || limit === undefined || delta === undefined)
    throw modelInvalid('3 inputs');
  const count = Math.max(0, Math.ceil((Number(limit) - Number(start)) / Number(delta)));
  if (!Number.isFinite(count)) throw modelInvalid('a range with step 0');
  call.session.spend(computedCount([count]));
  const { dtype } = tensorInput(call, 0);
  const values = Array.from(
    { length: count },
    (_, index): Scalar =>
      typeof start === 'bigint'
        ? start + BigInt(index) * BigInt(delta)
        : start + index * Number(delta),
  );
  return [tensorOf(dtype, [count], values)];
};

function reduced(operation: Operation, empty: Scalar): Kernel {
  return (call: KernelCall) => {
    const input = tensorInput(call, 0);
    const axes = integersOf(tensorInput(call, 1)).map((axis) =>
      axis < 0 ? axis + input.shape.length : axis,
    );
    if (new Set(axes).size !== input.shape.length)
      throw modelInvalid('only reductions over all axes are supported');
    call.session.spend(computedCount(input.shape));
    const isFloat = DATA_TYPES[input.dtype].kind === 'float';
    const value = numbersOf(input).reduce(
      (a, b): Scalar =>
        isFloat ? operation.number(Number(a), Number(b)) : operation.bigint(BigInt(a), BigInt(b)),
      empty,
    );
    const keeps = attributeOf(call.node.attributes, 'keep_dims', 'bool') ?? false;
    const result = isFloat ? value : wrapped(input.dtype, BigInt(value));
    return [tensorOf(input.dtype, keeps ? input.shape.map(() => 1) : [], [result])];
  };
}

export const MATH_KERNELS: Kernels = {
  Add: binary(ADD),
  AddV2: binary(ADD),
  Sub: binary(SUB),
  Mul: binary(MUL),
  Maximum: binary(MAX),
  Minimum: binary(MIN),
  FloorDiv: binary(FLOOR_DIV),
  RealDiv: binary({
    number: (a, b) => a / b,
    bigint: () => {
      throw modelInvalid('integers are not supported');
    },
  }),
  Neg: (call) => {
    const input = tensorInput(call, 0);
    return [computed(tensorOf(input.dtype, [], [-1]), input, MUL)];
  },
  Sqrt: unary(Math.sqrt),
  Exp: unary(Math.exp),
  Log: unary(Math.log),
  Square: unary((a) => a * a),
  Equal: compared((order) => order === 0),
  NotEqual: compared((order) => order !== 0),
  Less: compared((order) => order < 0),
  LessEqual: compared((order) => order <= 0),
  Greater: compared((order) => order > 0),
  GreaterEqual: compared((order) => order >= 0),
  LogicalNot: logical(([value]) => !value),
  LogicalAnd: logical((all) => all.every(Boolean)),
  LogicalOr: logical((all) => all.some(Boolean)),
  Cast: cast,
  Bitcast: bitcast,
  Range: range,
  Sum: reduced(ADD, 0),
  Prod: reduced(MUL, 1),
};
