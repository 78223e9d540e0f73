// Operators that scale a Vector value by value. A vector of another size is refused. Importer's
// worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import { inverseOrZero } from './common.js';

interface OneColumn {
  readonly input: Column;
  readonly output: Column;
}

// (x - shift) * scale, each where it is there. `clamp`: to [-1, 1].
function affine(
  builder: PlanBuilder,
  { input, output }: OneColumn,
  shift: Float64Array | undefined,
  scale: Float64Array | undefined,
  clamp: boolean,
  place: string,
): void {
  builder.stage('scale', [input], [output], { shift, scale, clamp }, place);
}

/** `mean`: where the column is centred; `std`: where it is divided by it (by 0: becomes 0). */
export function standardScaler(
  builder: PlanBuilder,
  op: OneColumn & { readonly mean?: Float64Array | undefined; readonly std?: Float64Array },
  place: string,
): void {
  const scale = op.std === undefined ? undefined : inverseOrZero(op.std);
  affine(builder, op, op.mean, scale, false, place);
}

/** `median`: where the column is centred; `range`: where it is divided by it (by 0: becomes 0). */
export function robustScaler(
  builder: PlanBuilder,
  op: OneColumn & { readonly median?: Float64Array | undefined; readonly range?: Float64Array },
  place: string,
): void {
  const scale = op.range === undefined ? undefined : inverseOrZero(op.range);
  affine(builder, op, op.median, scale, false, place);
}

/** `clamp`: MLeap's keeps the result within [-1, 1]; Spark's does not. */
export function maxAbsScaler(
  builder: PlanBuilder,
  op: OneColumn & { readonly maxAbs: Float64Array; readonly clamp: boolean },
  place: string,
): void {
  const scale = op.maxAbs.map((value) => (value === 0 ? 1 : 1 / value));
  affine(builder, op, undefined, scale, op.clamp, place);
}

export function elementwiseProduct(
  builder: PlanBuilder,
  op: OneColumn & { readonly scaling: Float64Array },
  place: string,
): void {
  affine(builder, op, undefined, op.scaling, false, place);
}

/** Term frequencies times the inverse document frequencies. */
export function idf(
  builder: PlanBuilder,
  op: OneColumn & { readonly idf: Float64Array },
  place: string,
): void {
  affine(builder, op, undefined, op.idf, false, place);
}

/** Scales to [min, max]; a feature that did not vary becomes the middle, NaN stays NaN. */
export function minMaxScaler(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly originalMin: Float64Array;
    readonly originalMax: Float64Array;
    readonly min: number;
    readonly max: number;
  },
  place: string,
): void {
  const scale = op.originalMax.map((high, i) => {
    const range = high - (op.originalMin[i] ?? Number.NaN);
    return range === 0 ? 0 : (op.max - op.min) / range;
  });
  const attributes = { low: op.originalMin, scale, min: { real: op.min }, max: { real: op.max } };
  builder.stage('min_max_scaler', [op.input], [op.output], attributes, place);
}

/** To length 1 in the norm `p` (>= 1, or Infinity). */
export function normalizer(
  builder: PlanBuilder,
  op: OneColumn & { readonly p: number },
  place: string,
): void {
  builder.stage('normalizer', [op.input], [op.output], { p: { real: op.p } }, place);
}
