// How the lowerings of model elements read attributes, arrays and constants: what is wrong is noted
// as a problem with its place, and a value that does no harm goes on. Importer's worker thread.
import type { Column } from '../../plan/builder.js';
import type { Value } from '../../plan/generated/plan.js';
import { toNumber } from '../arrays.js';
import type { ModelContext } from '../context.js';
import { isNumeric, parseValue } from '../types.js';
import { type XmlElement, child } from '../xml/reader.js';

/** Notes what `read` throws about the document at `at`; `fallback` then. */
export function attempt<T>(context: ModelContext, at: XmlElement, fallback: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.problems.add(context.place(at), error.message);
    return fallback;
  }
}

/** An attribute that must be there. */
export function needed(context: ModelContext, element: XmlElement, name: string): string {
  const value = element.attributes[name];
  if (value === undefined) {
    context.problems.add(context.place(element), `attribute ${name} is missing`);
  }
  return value ?? '';
}

/** A child element that must be there. */
export function neededChild(
  context: ModelContext,
  element: XmlElement,
  name: string,
): XmlElement | undefined {
  const found = child(element, name);
  if (found === undefined) {
    context.problems.add(context.place(element), `element <${name}> is missing`);
  }
  return found;
}

/** A number; one that must be there where `fallback` is not given. */
export function real(
  context: ModelContext,
  element: XmlElement,
  name: string,
  fallback?: number,
): number {
  const text = element.attributes[name];
  if (text === undefined && fallback !== undefined) return fallback;
  if (text === undefined) {
    needed(context, element, name);
    return Number.NaN;
  }
  return attempt(context, element, Number.NaN, () => toNumber(text, name));
}

/** One of the texts that an attribute may have. */
export function oneOf<T extends string>(
  context: ModelContext,
  element: XmlElement,
  name: string,
  known: readonly T[],
  fallback?: T,
): T {
  const text = element.attributes[name] ?? fallback;
  if (text === undefined) {
    needed(context, element, name);
    return known[0] as T;
  }
  if ((known as readonly string[]).includes(text)) return text as T;
  context.problems.add(context.place(element), `${name}="${text}" is not supported`);
  return known[0] as T;
}

/** A text as a value of the data type. */
export function valueOf(
  context: ModelContext,
  element: XmlElement,
  text: string,
  dataType: string,
): Value {
  return attempt(context, element, { type: 'double', missing: true }, () =>
    parseValue(text, dataType),
  );
}

/** The one expression inside a DerivedField. */
export function derivedExpression(
  context: ModelContext,
  derived: XmlElement,
): XmlElement | undefined {
  const skipped = new Set(['Extension', 'Value', 'Interval']);
  const found = derived.children.find((each) => !skipped.has(each.name));
  if (found === undefined) {
    context.problems.add(context.place(derived), 'has no expression');
  }
  return found;
}

/** A stage's inputs: each column once, by number. */
export class InputList {
  readonly columns: Column[] = [];
  readonly #at = new Map<Column, number>();
  readonly #context: ModelContext;

  constructor(context: ModelContext) {
    this.#context = context;
  }

  column(column: Column): number {
    const known = this.#at.get(column);
    if (known !== undefined) return known;
    this.#at.set(column, this.columns.length);
    return this.columns.push(column) - 1;
  }

  /** A field whose values are calculated with. */
  number(name: string, at: XmlElement): number {
    const context = this.#context;
    const column = context.field(name, at);
    if (context.hasField(name) && isText(context.fieldInfo(name).dataType)) {
      context.problems.add(context.place(at), `field '${name}' is not a number`);
    }
    return this.column(column);
  }

  /** A field that is compared with a category, and the category. */
  category(name: string, text: string, at: XmlElement): { input: number; value: Value } {
    const context = this.#context;
    const input = this.column(context.field(name, at));
    const dataType = context.hasField(name) ? context.fieldInfo(name).dataType : 'string';
    return { input, value: valueOf(context, at, text, dataType) };
  }
}

function isText(dataType: string): boolean {
  return dataType === 'string';
}

/** Whether values of the data type are numbers to a model. */
export function isNumber(dataType: string): boolean {
  return isNumeric(dataType) || dataType === 'boolean' || dataType.includes('Since');
}

/** Lists of lists as one list and where each begins. */
export class Rows {
  readonly #starts = [0];
  #count = 0;

  add(count: number): void {
    this.#count += count;
    this.#starts.push(this.#count);
  }

  get starts(): Int32Array {
    return Int32Array.from(this.#starts);
  }
}
