// Typed access to the members of boosters' documents. Importer's worker thread; pure.
import { UbjNumbers } from './ubj.js';

export function member(of: unknown, name: string): unknown {
  const value = optional(of, name);
  if (value === undefined) throw new RangeError(`expected '${name}', got none`);
  return value;
}

export function optional(of: unknown, name: string): unknown {
  const isObject = typeof of === 'object' && of !== null && Object.hasOwn(of, name);
  return isObject ? (of as Readonly<Record<string, unknown>>)[name] : undefined;
}

export function list(of: unknown): readonly unknown[] {
  if (Array.isArray(of)) return of;
  if (of instanceof UbjNumbers) return Array.from(of.read());
  throw new RangeError('expected a list');
}

/** true and false count as 1 and 0. */
export function numbers(of: unknown): Float64Array {
  if (of instanceof UbjNumbers) return Float64Array.from(of.read());
  return Float64Array.from(list(of), (each) => {
    const number = typeof each === 'boolean' ? Number(each) : each;
    if (typeof number === 'number') return number;
    throw new RangeError(`expected a number, got ${JSON.stringify(each)}`);
  });
}

/** The same, in the type that the document has. */
export function numbersAsTyped(of: unknown): ReturnType<UbjNumbers['read']> {
  return of instanceof UbjNumbers ? of.read() : numbers(of);
}

/** A member that is a number. */
export function numberOf(of: unknown, name: string): number {
  const [number = Number.NaN] = numbers([member(of, name)]);
  return number;
}

/** Numbers from 0 to 2^31 - 1. */
export function counts(of: unknown, what: string): Float64Array {
  const read = numbers(of);
  const wrong = read.find((each) => !Number.isInteger(each) || each < 0 || each >= 2 ** 31);
  if (wrong !== undefined) throw new RangeError(`${what}: expected whole numbers, got ${wrong}`);
  return read;
}

export function texts(of: unknown): readonly string[] {
  return list(of).map((each) => {
    if (typeof each === 'string') return each;
    throw new RangeError(`expected a text, got ${JSON.stringify(each)}`);
  });
}

/** A count that the document has as text; `fallback`: it has none. */
export function countOf(of: unknown, name: string, fallback: number): number {
  const written = optional(of, name) ?? fallback;
  const count = Number(written);
  if (Number.isInteger(count) && count >= 0 && count < 2 ** 31) return count;
  throw new RangeError(`${name}: expected a whole number, got '${String(written)}'`);
}

/** Adds the place to a RangeError of `read`. */
export function within<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`${place}: ${error.message}`);
    throw error;
  }
}
