// Operators between strings and indices. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { HandleInvalid } from './common.js';

/**
 * String (or a number, as Spark casts it to text: 1.0 -> "1.0") -> Double, the label's index.
 * 'keep': unseen and missing ones are labels.length. `absentIsMissing`: where the input has no
 * value in any row, neither has the output (a label column that requests leave out).
 */
export function stringIndexer(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly labels: readonly string[];
    readonly handleInvalid: HandleInvalid;
    readonly absentIsMissing?: boolean | undefined;
  },
  place: string,
): void {
  const { labels, handleInvalid, absentIsMissing } = op;
  const keep = handleInvalid === 'keep';
  const attributes = { labels, keep, absent: absentIsMissing };
  builder.stage('string_indexer', [op.input], [op.output], attributes, place);
}

/**
 * Number -> String: the label at the truncated index. Missing stays missing. A Vector or List input
 * gives a List of String. An index without label is refused.
 */
export function indexToString(
  builder: PlanBuilder,
  op: { readonly input: Column; readonly output: Column; readonly labels: readonly string[] },
  place: string,
): void {
  builder.stage('index_to_string', [op.input], [op.output], { labels: op.labels }, place);
}

/**
 * MLeap: String -> Double by a table. 'keep': others are `defaultValue`. Missing ones are refused.
 */
export function stringMap(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly labels: readonly string[];
    readonly values: Float64Array;
    readonly handleInvalid: HandleInvalid;
    readonly defaultValue?: number | undefined;
  },
  place: string,
): void {
  const { labels, values, defaultValue } = op;
  const fallback = op.handleInvalid === 'keep' ? { real: defaultValue ?? 0 } : undefined;
  builder.stage('string_map', [op.input], [op.output], { labels, values, fallback }, place);
}

/**
 * MLeap: String -> Int32, the index that belongs to the first expression found in the text, or
 * `defaultIndex`; without one such a row is refused. Java's regular expressions: see
 * regexTokenizer.
 */
export function regexIndexer(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly regexes: readonly string[];
    readonly indices: Int32Array;
    readonly defaultIndex?: number | undefined;
  },
  place: string,
): void {
  const { regexes, indices, defaultIndex: fallback } = op;
  builder.stage('regex_indexer', [op.input], [op.output], { regexes, indices, fallback }, place);
}

/**
 * Number -> Double by a table of numbers (Spark's TargetEncoder). `missing`: for a value that is
 * not there; `other`: for one that is not in `keys`. Without them such a row is refused.
 */
export function numberMap(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly keys: Float64Array;
    readonly values: Float64Array;
    readonly missing?: number | undefined;
    readonly other?: number | undefined;
  },
  place: string,
): void {
  const attributes = {
    keys: op.keys,
    values: op.values,
    missing: op.missing === undefined ? undefined : { real: op.missing },
    other: op.other === undefined ? undefined : { real: op.other },
  };
  builder.stage('number_map', [op.input], [op.output], attributes, place);
}
