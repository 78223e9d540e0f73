// CTRs: features that are statistics of the label by category, or by a combination of categories
// and splits. A file has them by the hash of the combination; with the texts of its categories they
// become tables of texts. Importer's worker thread; pure.
// Source: CatBoost's catboost/libs/model: static_ctr_provider.cpp (CalcCtrs), online_ctr.h
// (TModelCtr::Calc), catboost/libs/helpers/hash.h (CalcHash).
import { list, member, numberOf, numbers, optional, within } from '../../plan/xgboost/members.js';

/** A split of another feature that is a part of a combination. */
export type Part =
  | { readonly kind: 'categorical'; readonly index: number }
  | { readonly kind: 'float'; readonly index: number; readonly border: number }
  | { readonly kind: 'one-hot'; readonly index: number; readonly hash: number };

export interface Ctr {
  /** Categories first. */
  readonly parts: readonly Part[];
  /** Equal for CTRs of the same combination. */
  readonly combination: string;
  readonly borders: Float64Array;
  /** Floats by the hash of the combination. */
  readonly values: ReadonlyMap<bigint, number>;
  /** The value of combinations without an entry. */
  readonly fallback: number;
}

/** The hash of empty entries. */
const NO_HASH = 2n ** 64n - 1n;
const FACTOR = 0x4906ba494954cb65n;

const MEANS: ReadonlySet<string> = new Set(['BinarizedTargetMeanValue', 'FloatTargetMeanValue']);
const TOTALS: ReadonlySet<string> = new Set(['Counter', 'FeatureFreq']);

const { fround } = Math;

/** The hash of a combination with one more part. */
export function hashWith(hash: bigint, part: bigint): bigint {
  return BigInt.asUintN(64, FACTOR * BigInt.asUintN(64, hash + FACTOR * part));
}

/** `features`, `tables`: "features_info.ctrs" and "ctr_data" of a document. Errors: RangeError. */
export function readCtrs(features: readonly unknown[], tables: unknown): readonly Ctr[] {
  return features.map((feature, i) => within(`ctr ${i}`, () => ctrOf(feature, tables)));
}

function ctrOf(feature: unknown, tables: unknown): Ctr {
  const table = member(tables, String(member(feature, 'identifier')));
  const type = String(member(feature, 'ctr_type'));
  const parts = list(member(feature, 'elements')).map(partOf);
  const calc = calcOf(feature);
  const entries = entriesOf(table);
  const denominator =
    MEANS.has(type) || !TOTALS.has(type) ? 0 : numberOf(table, 'counter_denominator');
  const border = numberOf(feature, 'target_border_idx');
  const values = new Map<bigint, number>();
  for (const [hash, counts] of entries) {
    const [good, total] = sharesOf(type, counts, denominator, border);
    values.set(hash, calc(good, total));
  }
  const borders = numbers(list(member(feature, 'borders'))).map(fround);
  if (borders.some((one, i) => !Number.isFinite(one) || one < (borders[i - 1] ?? one))) {
    throw new RangeError('borders: expected ascending numbers');
  }
  const combination = JSON.stringify(parts);
  return { parts, combination, borders, values, fallback: calc(0, denominator) };
}

function partOf(element: unknown): Part {
  const kind = member(element, 'combination_element');
  switch (kind) {
    case 'cat_feature_value':
      return { kind: 'categorical', index: numberOf(element, 'cat_feature_index') };
    case 'float_feature': {
      const border = fround(numberOf(element, 'border'));
      return { kind: 'float', index: numberOf(element, 'float_feature_index'), border };
    }
    case 'cat_feature_exact_value': {
      const hash = numberOf(element, 'value');
      return { kind: 'one-hot', index: numberOf(element, 'cat_feature_index'), hash };
    }
    default:
      throw new RangeError(`the part '${String(kind)}' of a combination is not known`);
  }
}

/** Prior, shift and scale, in floats. */
function calcOf(feature: unknown): (good: number, total: number) => number {
  const of = (name: string): number => fround(numberOf(feature, name));
  const [prior, weight] = [of('prior_numerator'), of('prior_denomerator')];
  const [shift, scale] = [of('shift'), of('scale')];
  return (good, total) => {
    const share = fround(fround(fround(good) + prior) / fround(fround(total) + weight));
    return fround(fround(share + shift) * scale);
  };
}

/** Counts by hash: hash, counts, hash, counts and so on. */
function entriesOf(table: unknown): ReadonlyMap<bigint, Float64Array> {
  const flat = list(optional(table, 'hash_map') ?? []);
  const stride = numberOf(table, 'hash_stride');
  if (!Number.isInteger(stride) || stride < 2 || flat.length % stride !== 0) {
    throw new RangeError(`hash_map: ${flat.length} values are not entries of ${stride} values`);
  }
  const entries = new Map<bigint, Float64Array>();
  for (let at = 0; at < flat.length; at += stride) {
    const hash = flat[at];
    if (typeof hash !== 'string' || !/^\d{1,20}$/.test(hash)) {
      throw new RangeError(`hash_map: expected a hash, got ${JSON.stringify(hash)}`);
    }
    if (BigInt(hash) !== NO_HASH) {
      entries.set(BigInt(hash), numbers(flat.slice(at + 1, at + stride)));
    }
  }
  return entries;
}

/** The count of rows that have the label, and of all rows. */
function sharesOf(
  type: string,
  counts: Float64Array,
  denominator: number,
  border: number,
): readonly [number, number] {
  const sum = (from: number, to: number): number =>
    counts.subarray(from, to).reduce((before, one) => before + one, 0);
  const [first = Number.NaN, second = Number.NaN] = counts;
  if (TOTALS.has(type)) return [first, denominator];
  if (MEANS.has(type)) return [first, second];
  if (type === 'Buckets') return [counts[border] ?? Number.NaN, sum(0, counts.length)];
  if (type !== 'Borders') throw new RangeError(`the type '${type}' is not known`);
  if (counts.length <= 2) return [second, first + second];
  return [sum(border + 1, counts.length), sum(0, counts.length)];
}
