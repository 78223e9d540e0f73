// Operators that support complex tensors, and their lowerings. Importer's worker thread.
import { complexValue } from '../../lower/complex.js';
import type { Lowering, OpContext, Operator, Operators } from '../../lower/context.js';
import type { Value } from '../../lower/values.js';
import { COMPLEX_ARITHMETIC } from './arithmetic.js';
import { ofShape, partwise, productOf } from './parts.js';

/** Operators that move elements, or are linear in them. */
const PARTWISE: readonly string[] = [
  ...['Identity', 'IdentityN', 'RefIdentity', 'Snapshot', 'StopGradient', 'PreventGradient'],
  ...['EnsureShape', 'OptimizationBarrier', 'Reshape', 'ExpandDims', 'Squeeze', 'Transpose'],
  ...['Concat', 'ConcatV2', 'Pack', 'Unpack', 'Split', 'SplitV', 'Slice', 'StridedSlice', 'Pad'],
  ...['PadV2', 'MirrorPad', 'Tile', 'BroadcastTo', 'Fill', 'ZerosLike', 'Gather', 'GatherV2'],
  ...['GatherNd', 'ResourceGather', 'ReverseV2', 'Reverse', 'Roll', 'ReverseSequence', 'Select'],
  ...['SelectV2', 'Diag', 'DiagPart', 'MatrixDiag', 'MatrixDiagV2', 'MatrixDiagV3'],
  ...['MatrixDiagPart', 'MatrixDiagPartV2', 'MatrixDiagPartV3', 'MatrixBandPart', 'MatrixSetDiag'],
  ...['MatrixSetDiagV2', 'MatrixSetDiagV3', 'ScatterNd', 'TensorScatterUpdate'],
  ...['TensorScatterAdd', 'TensorScatterSub', 'Add', 'AddV2', 'Sub', 'AddN', 'BiasAdd', 'Neg'],
  ...['Sum', 'Mean', 'Cumsum', 'SegmentSum', 'UnsortedSegmentSum'],
];
const OF_SHAPE: readonly string[] = ['Shape', 'ShapeN', 'Size', 'Rank'];
/** Operators that carry values of any kind (ops/control-flow/flat-values.ts). */
const CARRIERS: readonly string[] = [
  ...['If', 'StatelessIf', 'Case', 'StatelessCase', 'While', 'StatelessWhile'],
];
const PRODUCTS: readonly string[] = ['MatMul', 'BatchMatMul', 'BatchMatMulV2', 'Einsum'];

/** Ones as the real part, and no imaginary part. */
const onesLike =
  (ones: Lowering, zeros: Lowering): Lowering =>
  (cx) => {
    const [real] = [ofShape(ones)(cx)].flat();
    const [imaginary] = [ofShape(zeros)(cx)].flat();
    if (real === undefined || imaginary === undefined) return cx.fail('has no output');
    return complexValue(cx.asTensor(real, 0), cx.asTensor(imaginary, 0));
  };

function conjugated(cx: OpContext, values: Value | readonly Value[]): Value {
  const [value] = [values].flat();
  if (value?.kind !== 'complex') return cx.fail('has no output');
  return complexValue(value.real, cx.op('Neg', [value.imaginary]));
}

function complexForm(name: string, operator: Operator, all: Operators): Lowering | undefined {
  if (PARTWISE.includes(name)) return partwise(operator.lower);
  if (CARRIERS.includes(name)) return operator.lower;
  if (OF_SHAPE.includes(name)) return ofShape(operator.lower);
  if (PRODUCTS.includes(name)) return productOf(operator.lower);
  if (name === 'ConjugateTranspose') return (cx) => conjugated(cx, partwise(operator.lower)(cx));
  if (name === 'OnesLike') {
    return all['ZerosLike'] && onesLike(operator.lower, all['ZerosLike'].lower);
  }
  return Object.hasOwn(COMPLEX_ARITHMETIC, name) ? COMPLEX_ARITHMETIC[name] : undefined;
}

/** The operators with their complex forms. */
export function withComplex(all: Operators): Operators {
  const entries = Object.entries(all).map(([name, operator]): [string, Operator] => {
    const complex = complexForm(name, operator, all);
    if (complex === undefined) return [name, operator];
    return [name, { ...operator, complex, dtypes: `${operator.dtypes ?? 'numeric'}, complex` }];
  });
  return Object.fromEntries(entries);
}
