// Results of models whose columns are filled on first use: results that no Output reads cost
// nothing. Importer's worker thread.
import type { ModelResult } from '../context.js';

type Makers = {
  readonly [Name in keyof ModelResult]?: () => ModelResult[Name] | undefined;
};

/** A result that calls the maker of a member when it is first read. */
export function lazyResult(makers: Makers): ModelResult {
  const result = {};
  for (const [name, make] of Object.entries(makers)) {
    let made: { readonly value: unknown } | undefined;
    const get = () => {
      made ??= { value: (make as () => unknown)() };
      return made.value;
    };
    Object.defineProperty(result, name, { get, enumerable: true });
  }
  return result;
}

/** A result with some members replaced; the others are still filled on first use. */
export function changed(result: ModelResult, members: ModelResult): ModelResult {
  const made = Object.create(result) as ModelResult;
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(made, name, { value, enumerable: true });
  }
  return made;
}
