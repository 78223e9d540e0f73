// Estimators made of others: pipelines, transformers of some columns, searches of parameters.
// Importer's worker thread; pure. Source: scikit-learn's pipeline.py,
// compose/_column_transformer.py, model_selection/_search.py.
import { call, constant } from '../../plan/builder.js';
import { type Frame, mapNumbers } from '../frame/frame.js';
import { prefixed } from '../frame/names.js';
import type { Result, Step, Transformed } from '../frame/step.js';
import type { Item } from '../read/item.js';

const inside = ({ item, place }: Step, part: string): string =>
  // The place of the whole model is its class's name.
  place === item.className ? part : `${place}, ${part}`;

/** The columns for the next step. Errors: RangeError: the estimator does not transform. */
export function frameOf(result: Result, item: Item, place: string): Frame {
  if (result.role === 'transformer') return result.frame;
  if (result.role === 'clusterer' && result.frame !== undefined) return result.frame;
  throw new RangeError(`${place}: transform() of ${item.className} is not supported`);
}

export function lowerPipeline(step: Step, frame: Frame): Result {
  const steps = step.item.get('steps').list().map(pairOf);
  const [last] = steps.slice(-1);
  if (last === undefined) throw step.item.bad('steps: expected one step or more, got none');
  let passed = frame;
  let result: Result = { role: 'transformer', frame };
  for (const [i, { name, item }] of steps.entries()) {
    const place = inside(step, `steps[${i}] '${name}'`);
    if (isWord(item, 'passthrough') || item.isNone) {
      result = { role: 'transformer', frame: passed };
      continue;
    }
    result = step.lowering.lower(item, passed, place);
    if (i < steps.length - 1) passed = frameOf(result, item, place);
  }
  return result;
}

/** A name and an estimator. */
function pairOf(pair: Item): { readonly name: string; readonly item: Item; readonly rest?: Item } {
  const [name, item, rest] = pair.list();
  if (name === undefined || item === undefined) throw pair.bad('expected a name and an estimator');
  return { name: name.text(), item, ...(rest === undefined ? {} : { rest }) };
}

const isWord = (item: Item, word: string): boolean => item.plain() === word;

export function lowerUnion(step: Step, frame: Frame): Transformed {
  const weights = step.item.given('transformer_weights')?.entries();
  const parts = step.item.get('transformer_list').list().map(pairOf);
  const made = parts.map(({ name, item }, i): Frame => {
    const place = inside(step, `transformer_list[${i}] '${name}'`);
    const part = transformed(step, item, frame, place);
    return weighted(step, namedBy(step, name, part), weights?.get(name), place);
  });
  return { role: 'transformer', frame: made.flat() };
}

function transformed(step: Step, item: Item, frame: Frame, place: string): Frame {
  if (isWord(item, 'drop') || item.isNone) return [];
  if (isWord(item, 'passthrough')) return frame;
  return frameOf(step.lowering.lower(item, frame, place), item, place);
}

function weighted(step: Step, frame: Frame, weight: Item | undefined, place: string): Frame {
  if (weight === undefined) return frame;
  const factor = constant(weight.number());
  return mapNumbers(step.lowering, frame, place, (value) => call('sql.multiply', value, factor));
}

export function lowerColumns(step: Step, frame: Frame): Transformed {
  const { item } = step;
  const names = namesIn(item, frame.length);
  const weights = item.given('transformer_weights')?.entries();
  const parts = item.get('transformers_').list().map(pairOf);
  const made = parts.map(({ name, item: transformer, rest }, i): Frame => {
    const place = inside(step, `transformers_[${i}] '${name}'`);
    if (rest === undefined) throw item.bad(`transformers_[${i}]: expected columns`);
    if (isWord(transformer, 'drop')) return [];
    const given = columnsOf(rest, names, frame.length).map((column) => frame[column] as never);
    if (given.length === 0) return [];
    const part = transformed(step, transformer, given, place);
    return weighted(step, namedBy(step, name, part), weights?.get(name), place);
  });
  return { role: 'transformer', frame: made.flat() };
}

/** With the transformer's name, unless the model says otherwise. */
function namedBy({ item, lowering }: Step, name: string, frame: Frame): Frame {
  const isVerbose = item.find('verbose_feature_names_out')?.plain() ?? true;
  return isVerbose === true ? prefixed(lowering.fields, name, frame) : frame;
}

function namesIn(item: Item, count: number): readonly unknown[] {
  const given = item.given('feature_names_in_');
  if (given === undefined) return [];
  const { values } = given.array();
  if (values.length === count) return values;
  throw given.bad(`expected ${count} names, got ${values.length}`);
}

/** Positions of columns. Errors: RangeError: a name or a position that does not exist. */
function columnsOf(item: Item, names: readonly unknown[], count: number): readonly number[] {
  const positionOf = (value: unknown): number => {
    const at = typeof value === 'string' ? names.indexOf(value) : Number(value);
    const column = at < 0 && typeof value !== 'string' ? at + count : at;
    if (Number.isInteger(column) && column >= 0 && column < count) return column;
    throw item.bad(`there is no column ${JSON.stringify(value)}`);
  };
  const slice = item.slice();
  if (slice !== undefined) return sliced(item, slice, positionOf, count);
  const single = item.plain();
  if (single !== undefined && single !== null && !Array.isArray(single)) {
    throw item.bad('a single column as a list of values is not supported: name it in a list');
  }
  const { values } = item.array();
  if (values.length > 0 && values.every((value) => typeof value === 'boolean')) {
    if (values.length !== count) throw item.bad(`expected ${count} flags, got ${values.length}`);
    return values.flatMap((value, i) => (value === true ? [i] : []));
  }
  return values.map(positionOf);
}

/** Names in a slice include its last one. */
function sliced(
  item: Item,
  slice: readonly (number | string | null)[],
  positionOf: (value: unknown) => number,
  count: number,
): readonly number[] {
  const [start = null, stop = null, step = null] = slice;
  if (step !== null && step !== 1) throw item.bad(`expected a slice of step 1, got ${step}`);
  const limited = (value: number): number =>
    Math.min(count, Math.max(0, value < 0 ? value + count : value));
  const first = start === null ? 0 : limited(typeof start === 'string' ? positionOf(start) : start);
  const isNamed = typeof stop === 'string';
  const end = stop === null ? count : isNamed ? positionOf(stop) + 1 : limited(stop as number);
  return Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
}

/** A search of parameters answers with the best estimator. */
export function lowerSearch(step: Step, frame: Frame): Result {
  const { item, lowering } = step;
  const best = item.get('best_estimator_');
  return lowering.lower(best, frame, inside(step, 'best_estimator_'));
}
