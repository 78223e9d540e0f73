// Transformers of categories: texts, numbers or flags to numbers. Importer's worker thread; pure.
// Source: scikit-learn's preprocessing/_encoders.py, _target_encoder.py, _discretization.py,
// utils/_encode.py.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { bucketizer } from '../../plan/ops/numbers.js';
import { oneHotEncoder } from '../../plan/ops/vectors.js';
import {
  columnElement,
  type Element,
  elementsOf,
  type Frame,
  type Lowering,
  numberOf,
  valueOf,
} from '../frame/frame.js';
import { categoryText, labelled, labelOf } from '../frame/names.js';
import type { Step, Transformed } from '../frame/step.js';
import { Item } from '../read/item.js';

/** The number that a category becomes; undefined: it is refused. */
interface Table {
  readonly kind: 'number' | 'text' | 'flag';
  /** Without the missing one. */
  readonly categories: readonly (number | string | boolean)[];
  readonly targets: readonly number[];
  readonly missing: number | undefined;
  readonly unknown: number | undefined;
}

const isMissing = (value: unknown): boolean =>
  value === null || (typeof value === 'number' && Number.isNaN(value));

/** Categories of each column. Errors: RangeError: mixed types, another count. */
function categoriesOf(item: Item, count: number): readonly (readonly unknown[])[] {
  const lists = item.get('categories_').list();
  if (lists.length !== count) {
    throw item.bad(`categories_: expected ${count} lists, got ${lists.length}`);
  }
  return lists.map((list) => {
    const { shape, values } = list.array();
    if (shape.length !== 1) throw list.bad('expected a list of categories');
    if (values.some((value) => value instanceof Item)) throw list.bad('expected plain values');
    if (values.filter(isMissing).length > 1) {
      throw list.bad('None and NaN as two categories are not supported');
    }
    const types = new Set(values.filter((value) => !isMissing(value)).map((value) => typeof value));
    if (types.size > 1) throw list.bad('categories of several types are not supported');
    return values;
  });
}

/** `targetOf`: the number of the category at a position. `unknown`: undefined refuses. */
function tableOf(
  values: readonly unknown[],
  targetOf: (position: number) => number,
  unknown: number | undefined,
): Table {
  const places = [...values.keys()];
  const known = places.filter((place) => !isMissing(values[place]));
  const gap = places.find((place) => isMissing(values[place]));
  const categories = known.map((place) => values[place] as number | string | boolean);
  const [first] = categories;
  const kind = typeof first === 'string' ? 'text' : typeof first === 'boolean' ? 'flag' : 'number';
  return {
    kind,
    categories,
    targets: known.map(targetOf),
    missing: gap === undefined ? unknown : targetOf(gap),
    unknown,
  };
}

/** A Double: the target of each value. */
function mapped(lowering: Lowering, element: Element, table: Table, place: string): Column {
  return table.kind === 'text'
    ? mappedText(lowering, element, table, place)
    : mappedNumber(lowering, element, table, place);
}

function mappedNumber(lowering: Lowering, element: Element, table: Table, place: string): Column {
  const { builder } = lowering;
  const { categories, targets, missing, unknown } = table;
  if (table.kind === 'flag') lowering.fields.prefer(element, 'flag');
  const given = numberOf(lowering, element, place);
  const input = 'feature' in element ? given : withoutNan(lowering, given, place);
  const output = builder.column(builder.nameOf(given), 'double');
  const keys = Float64Array.from(categories, Number);
  const values = Float64Array.from(targets);
  addNumberMap(builder, input, output, { keys, values, missing, unknown }, place);
  return output;
}

/** NaN as a missing value. */
export function withoutNan({ builder }: Lowering, column: Column, place: string): Column {
  const value = columnRef(column);
  const none: Expression = constant({ type: 'double', missing: true });
  const expression = call('sql.case', call('sql.isnan', value), none, value);
  return builder.derive(builder.nameOf(column), 'double', expression, place);
}

function mappedText(lowering: Lowering, element: Element, table: Table, place: string): Column {
  const { builder } = lowering;
  const { targets, missing, unknown } = table;
  const labels = table.categories.map(String);
  const input = valueOf(lowering, element, 'text', place);
  const name = builder.nameOf(input);
  if (missing === undefined && unknown === undefined) {
    const output = builder.column(name, 'double');
    const attributes = { labels, values: Float64Array.from(targets) };
    builder.stage('string_map', [input], [output], attributes, place);
    return output;
  }
  const index = builder.column(`index of ${name}`, 'double');
  builder.stage('string_indexer', [input], [index], { labels, keep: true, absent: false }, place);
  const isNone = call('sql.isnull', columnRef(input));
  const none: Expression = constant({ type: 'double', missing: true });
  const known = call('sql.case', isNone, none, columnRef(index));
  const position = `position of ${name} in its ${labels.length} categories`;
  const given = builder.derive(position, 'double', known, place);
  const output = builder.column(name, 'double');
  const keys = Float64Array.from(labels, (_, i) => i);
  const values = Float64Array.from(targets);
  addNumberMap(builder, given, output, { keys, values, missing, unknown }, place);
  return output;
}

interface NumberMap {
  readonly keys: Float64Array;
  readonly values: Float64Array;
  /** undefined: refused. */
  readonly missing: number | undefined;
  readonly unknown: number | undefined;
}

function addNumberMap(
  builder: PlanBuilder,
  input: Column,
  output: Column,
  { keys, values, missing, unknown }: NumberMap,
  place: string,
): void {
  const attributes = {
    keys,
    values,
    missing: missing === undefined ? undefined : { real: missing },
    other: unknown === undefined ? undefined : { real: unknown },
  };
  builder.stage('number_map', [input], [output], attributes, place);
}

/** Number i of a list that has None for some columns; undefined: the model has no list. */
function listed(item: Item, name: string, count: number): readonly (Item | undefined)[] {
  const lists = item.given(name)?.list();
  if (lists === undefined) return [];
  if (lists.length !== count)
    throw item.bad(`${name}: expected ${count} items, got ${lists.length}`);
  return lists.map((one) => (one.isNone ? undefined : one));
}

/** The groups that infrequent categories are in; empty: there are none. */
function groupsOf(item: Item, count: number): readonly (Float64Array | undefined)[] {
  if (item.given('_infrequent_enabled')?.flag() !== true) return [];
  return listed(item, '_default_to_infrequent_mappings', count).map((one) => {
    const groups = one?.reals([-1]);
    const isGroup = (group: number): boolean =>
      Number.isInteger(group) && group >= 0 && group < (groups?.length ?? 0);
    if (groups === undefined || groups.every(isGroup)) return groups;
    throw item.bad('_default_to_infrequent_mappings: expected numbers of groups');
  });
}

export function oneHot(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const count = frame.length;
  const policy = item.get('handle_unknown').text();
  if (!['error', 'ignore', 'infrequent_if_exist', 'warn'].includes(policy)) {
    throw item.bad(`handle_unknown '${policy}' is not supported`);
  }
  const drops = droppedOf(item, count);
  const groups = groupsOf(item, count);
  const kinds = item
    .get('categories_')
    .list()
    .map((list) => list.array().kind);
  const parts = categoriesOf(item, count).map((categories, i): Frame => {
    const group = groups[i];
    const groupOf = (position: number): number => group?.[position] ?? position;
    const numbers = categories.map((_, position) => groupOf(position));
    const grouped = 1 + numbers.reduce((most, each) => Math.max(most, each), -1);
    const drop = drops[i];
    const size = grouped - (drop === undefined ? 0 : 1);
    // Index `size` is a row of zeros.
    const targetOf = (position: number): number => targetOfGroup(groupOf(position), drop, size);
    const isGrouped = group !== undefined && policy !== 'ignore';
    const other = isGrouped ? targetOfGroup(grouped - 1, drop, size) : size;
    const unknown = policy === 'error' ? undefined : other;
    const table = tableOf(categories, targetOf, unknown);
    const input = mapped(lowering, frame[i] as Element, table, place);
    const output = lowering.builder.column(
      `categories of ${lowering.builder.nameOf(input)}`,
      'vector',
    );
    const options = { size, dropLast: false, handleInvalid: 'zeros' } as const;
    oneHotEncoder(lowering.builder, { input, output, ...options }, place);
    const made = elementsOf(output, size);
    const isReal = kinds[i] === 'real';
    const label = labelOf(lowering.fields, frame[i] as Element);
    // Groups of infrequent categories get no name.
    if (label === undefined || grouped < categories.length) return made;
    const texts = categories.map((category) => `${label}_${categoryText(category, isReal)}`);
    const byTarget = new Map(texts.map((text, position) => [targetOf(position), text]));
    return labelled(made, (target) => byTarget.get(target));
  });
  return { role: 'transformer', frame: parts.flat() };
}

function targetOfGroup(group: number, drop: number | undefined, size: number): number {
  if (drop === undefined || group < drop) return group;
  return group === drop ? size : group - 1;
}

/** The position of each column's dropped category, after grouping. */
function droppedOf(item: Item, count: number): readonly (number | undefined)[] {
  const given = item.given('_drop_idx_after_grouping') ?? item.given('drop_idx_');
  if (given === undefined) return [];
  const { values } = given.array();
  if (values.length !== count) throw given.bad(`expected ${count} items, got ${values.length}`);
  return values.map((value) => {
    if (value === null) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
    throw given.bad('expected the numbers of categories');
  });
}

export function ordinal(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const count = frame.length;
  const isRefused = item.get('handle_unknown').text() === 'error';
  const unknown = isRefused ? undefined : item.get('unknown_value').number();
  const ofMissing = item.given('encoded_missing_value')?.number() ?? Number.NaN;
  const groups = groupsOf(item, count);
  // A missing value that is infrequent belongs to the group of infrequent categories.
  const encoded = item.given('_missing_indices')?.entries();
  const columns = categoriesOf(item, count).map((categories, i) => {
    const isEncoded = encoded === undefined || encoded.has(String(i));
    const targetOf = (position: number): number => {
      if (isEncoded && isMissing(categories[position])) return ofMissing;
      return groups[i]?.[position] ?? position;
    };
    return mapped(lowering, frame[i] as Element, tableOf(categories, targetOf, unknown), place);
  });
  return { role: 'transformer', frame: columns.map(columnElement) };
}

export function target(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const count = frame.length;
  const isMulti = item.get('target_type_').text() === 'multiclass';
  const size = isMulti ? item.get('classes_').array().values.length : 1;
  const encodings = item.get('encodings_').list();
  const mean = item.get('target_mean_');
  const means = isMulti ? mean.reals([size]) : Float64Array.of(mean.number());
  if (encodings.length !== count * size) {
    throw item.bad(`encodings_: expected ${count * size} lists, got ${encodings.length}`);
  }
  const categories = categoriesOf(item, count);
  const columns = categories.flatMap((values, i) =>
    Array.from({ length: size }, (_, c) => {
      const numbers = (encodings[i * size + c] as Item).reals([values.length]);
      const table = tableOf(values, (position) => numbers[position] ?? 0, means[c] ?? 0);
      return mapped(lowering, frame[i] as Element, table, place);
    }),
  );
  return { role: 'transformer', frame: columns.map(columnElement) };
}

export function discretizer(step: Step, frame: Frame): Transformed {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const edges = item.get('bin_edges_').list();
  if (edges.length !== frame.length) {
    throw item.bad(`bin_edges_: expected ${frame.length} lists, got ${edges.length}`);
  }
  const isOrdinal = item.get('encode').text() === 'ordinal';
  const parts = frame.map((element, i): Frame => {
    const inner = (edges[i] as Item).reals([-1]).slice(1, -1);
    const { NEGATIVE_INFINITY: low, POSITIVE_INFINITY: high } = Number;
    const splits = Float64Array.of(low, ...inner, high);
    const input = numberOf(lowering, element, place);
    const bin = builder.column(`bin of ${builder.nameOf(input)}`, 'double');
    const options = { splits, handleInvalid: 'error', dropsMissing: true } as const;
    bucketizer(builder, { input, output: bin, ...options }, place);
    if (isOrdinal) return [columnElement(bin)];
    const size = inner.length + 1;
    const output = builder.column(`bins of ${builder.nameOf(input)}`, 'vector');
    const encoded = { size, dropLast: false, handleInvalid: 'error' } as const;
    oneHotEncoder(builder, { input: bin, output, ...encoded }, place);
    return elementsOf(output, size);
  });
  return { role: 'transformer', frame: parts.flat() };
}
