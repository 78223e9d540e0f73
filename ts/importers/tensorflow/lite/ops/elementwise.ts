// Operators of single elements, comparisons and selections of TensorFlow Lite. Importer's worker
// thread; pure. Source: tensorflow/lite/kernels/internal/reference.
import type { Dtype } from '../../types.js';
import { bool, float, type } from '../attributes.js';
import { OPTIONS } from '../generated/schema.js';
import type { LiteOp, LiteOperator, LiteOperators, Translate } from '../op.js';
import type { NodeRef } from '../scope.js';

/** TensorFlow's operator of the same inputs, on numbers. */
const as =
  (op: string): Translate =>
  (of) =>
    of.give(of.add(op, of.reals(), { T: type(of.realDtype()) }));

const named = (op: string): LiteOperator => ({ translate: as(op) });

/** Two operands, and an activation function. */
const fused =
  (op: string, options: keyof typeof OPTIONS & `${'Add' | 'Sub' | 'Mul' | 'Div'}Options`) =>
  (of: LiteOp): void => {
    const { fusedActivationFunction } = of.options(OPTIONS[options]);
    const value = of.add(op, [of.real(0), of.real(1)], { T: type(of.realDtype()) });
    of.activated(value, fusedActivationFunction);
  };

/** Quotients of integers are rounded towards zero. */
const div: Translate = (of) =>
  fused(of.realDtype() === 'float' ? 'RealDiv' : 'TruncateDiv', 'DivOptions')(of);

const leakyRelu: Translate = (of) => {
  const { alpha } = of.options(OPTIONS.LeakyReluOptions);
  of.give(of.add('LeakyRelu', [of.real(0)], { alpha: float(alpha) }));
};

/** x above 0, alpha * x below. */
const prelu: Translate = (of) => {
  const x = of.real(0);
  const below = of.add('Minimum', [x, of.scalar(0)]);
  const scaled = of.add('Mul', [of.real(1), below]);
  of.give(of.add('AddV2', [of.add('Relu', [x]), scaled]));
};

const gelu: Translate = (of) => {
  const { approximate } = of.options(OPTIONS.GeluOptions);
  of.give(of.add('LiteGelu', [of.real(0)], { approximate: bool(approximate) }));
};

const between =
  (low: number, high: number): Translate =>
  (of) =>
    of.give(of.between(of.real(0), low, high));

/** The range of floats that stay what they are, without their fraction, in an integer type. */
const WHOLE_RANGES: Readonly<Partial<Record<Dtype, readonly [low: number, high: number]>>> = {
  int16: [-32_768, 32_767],
  int32: [-2_147_483_648, 2_147_483_647],
  uint8: [0, 255],
  uint16: [0, 65_535],
  uint32: [0, 4_294_967_295],
};

/**
 * The types are those of the tensors: the options may be missing. Floats beyond an integer type's
 * range become its nearest number. They are compared as doubles, which have the limits exactly.
 */
const cast: Translate = (of) => {
  const [from, to] = [of.dtype(), of.outDtype()];
  const range = from === 'float' || from === 'double' ? WHOLE_RANGES[to] : undefined;
  if (range === undefined) {
    return of.giveRaw(of.add('Cast', [of.raw(0)], { SrcT: type(from), DstT: type(to) }));
  }
  const wide = of.add('Cast', [of.raw(0)], { SrcT: type(from), DstT: type('double') });
  const [low, high] = range;
  const raised = of.add('Maximum', [wide, of.scalar(low, 'double')]);
  const limited = of.add('Minimum', [raised, of.scalar(high, 'double')]);
  return of.giveRaw(of.add('Cast', [limited], { SrcT: type('double'), DstT: type(to) }));
};

/** Numbers to quantised ones, or to others. */
const quantize: Translate = (of) => of.give(of.add('Identity', [of.real(0)]));

const dequantize: Translate = (of) => {
  if (of.quantised(0) !== undefined) return of.give(of.add('Identity', [of.real(0)]));
  const attributes = { SrcT: type(of.dtype()), DstT: type('float') };
  return of.give(of.add('Cast', [of.raw(0)], attributes));
};

/** Chosen from two values, which are stored in the same way as the result or are converted. */
const chosen =
  (op: string, first: number): Translate =>
  (of) => {
    const [a, b] = [of.in(first), of.in(first + 1)];
    const isSame = of.scope.isSame(a, b) && of.scope.isSame(a, of.out());
    const value = (position: number): NodeRef => (isSame ? of.raw(position) : of.real(position));
    const before = Array.from({ length: first }, (_, i) => of.raw(i));
    const result = of.add(op, [...before, value(first), value(first + 1)]);
    if (isSame) of.giveRaw(result);
    else of.give(result);
  };

const zerosLike: Translate = (of) => of.give(of.add('ZerosLike', [of.real(0)]));

const fakeQuant: Translate = (of) => {
  const { min, max, numBits, narrowRange } = of.options(OPTIONS.FakeQuantOptions);
  of.give(
    of.add('FakeQuantWithMinMaxArgs', [of.real(0)], {
      min: float(min),
      max: float(max),
      num_bits: { kind: 'int', value: BigInt(numBits) },
      narrow_range: bool(narrowRange),
    }),
  );
};

const bitcast: Translate = (of) => {
  const wanted: Dtype = of.outDtype();
  of.giveRaw(of.add('Bitcast', [of.raw(0)], { T: type(of.dtype()), type: type(wanted) }));
};

const complexPart =
  (op: string): Translate =>
  (of) => {
    const attributes = { T: type(of.dtype()), Tout: type(of.outDtype()) };
    of.giveRaw(of.add(op, [of.raw(0)], attributes));
  };

export const ELEMENTWISE: LiteOperators = {
  ABS: named('Abs'),
  ADD: { translate: fused('AddV2', 'AddOptions') },
  ADD_N: {
    translate: (of) =>
      of.give(of.add('AddN', of.reals(), { N: { kind: 'int', value: BigInt(of.count) } })),
  },
  ATAN2: named('Atan2'),
  BITCAST: { translate: bitcast },
  BITWISE_XOR: named('BitwiseXor'),
  CAST: { translate: cast },
  CEIL: named('Ceil'),
  COMPLEX_ABS: { translate: complexPart('ComplexAbs') },
  COS: named('Cos'),
  DEQUANTIZE: { translate: dequantize },
  DIV: { translate: div },
  ELU: named('Elu'),
  EQUAL: named('Equal'),
  EXP: named('Exp'),
  FAKE_QUANT: { translate: fakeQuant },
  FLOOR: named('Floor'),
  FLOOR_DIV: named('FloorDiv'),
  FLOOR_MOD: named('FloorMod'),
  GELU: { translate: gelu },
  GREATER: named('Greater'),
  GREATER_EQUAL: named('GreaterEqual'),
  HARD_SWISH: named('LiteHardSwish'),
  IMAG: { translate: complexPart('Imag') },
  LEAKY_RELU: { translate: leakyRelu },
  LESS: named('Less'),
  LESS_EQUAL: named('LessEqual'),
  LOG: named('Log'),
  LOGICAL_AND: named('LogicalAnd'),
  LOGICAL_NOT: named('LogicalNot'),
  LOGICAL_OR: named('LogicalOr'),
  LOGISTIC: named('Sigmoid'),
  MAXIMUM: { translate: chosen('Maximum', 0) },
  MINIMUM: { translate: chosen('Minimum', 0) },
  MUL: { translate: fused('Mul', 'MulOptions') },
  NEG: named('Neg'),
  NOT_EQUAL: named('NotEqual'),
  POW: named('Pow'),
  PRELU: { translate: prelu },
  QUANTIZE: { translate: quantize },
  REAL: { translate: complexPart('Real') },
  RELU: named('Relu'),
  RELU6: named('Relu6'),
  RELU_0_TO_1: { translate: between(0, 1) },
  RELU_N1_TO_1: { translate: between(-1, 1) },
  RIGHT_SHIFT: named('RightShift'),
  ROUND: named('Round'),
  RSQRT: named('Rsqrt'),
  SELECT: { translate: chosen('Select', 1) },
  SELECT_V2: { translate: chosen('SelectV2', 1) },
  SIGN: named('Sign'),
  SIN: named('Sin'),
  SQRT: named('Sqrt'),
  SQUARE: named('Square'),
  SQUARED_DIFFERENCE: named('SquaredDifference'),
  SUB: { translate: fused('Sub', 'SubOptions') },
  TANH: named('Tanh'),
  ZEROS_LIKE: { translate: zerosLike },
};
