// The types of attributes' values that generated/stages.ts names, and checks of words. Importer's
// worker thread; pure.
import type { Expression } from './expression.js';
import type { Stage, Value } from './generated/plan.js';
import { FUNCTIONS, type FunctionName } from './generated/functions.js';
import type { StageAttributes } from './generated/stages.js';

/** `{ real }` preserves -0, which an integer would lose, and marks the number as not an integer. */
export type Real = number | { readonly real: number };

export interface Values {
  readonly values: readonly Value[];
}

export interface Expressions {
  readonly expressions: readonly Expression[];
}

export interface Block {
  readonly stages: readonly Stage[];
}

export interface Blocks {
  readonly blocks: readonly Block[];
}

export type Empty = Readonly<Record<never, never>>;

/** The value of an attribute of any type. */
export type AttributeValue =
  | Real
  | boolean
  | string
  | Float64Array
  | Int32Array
  | readonly string[]
  | Values
  | Expressions
  | Blocks;

export type StageKind = keyof StageAttributes;

/**
 * `Given` if all its attributes are those of a kind; an attribute that the kind does not have makes
 * it a type that no value has, also where TypeScript allows other members (in a variable).
 */
export type Exactly<Kind extends StageKind, Given> = Given & {
  readonly [Name in Exclude<keyof Given, keyof StageAttributes[Kind]>]: never;
};

/** Whether a text is one of an enum's words. */
export function isWord<Word extends string>(words: readonly Word[], text: string): text is Word {
  return (words as readonly string[]).includes(text);
}

/** Whether there is a function of that name. */
export function isFunction(name: string): name is FunctionName {
  return Object.hasOwn(FUNCTIONS, name);
}

/** A name of a function that is made of parts. Errors: RangeError if there is none. */
export function functionName(name: string): FunctionName {
  if (isFunction(name)) return name;
  throw new RangeError(`plans have no function '${name}'`);
}
