// Lists of models with their versions and states, in pages of bounded length. Control plane, any
// thread; pure. Source of the member `models`: KServe's V1 protocol, "List Models"; the rest is
// Serval's own.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { MODEL_LIST_MAX } from '../../base/limits.js';
import type { ModelSnapshot, RegistrySnapshot } from '../../model/snapshot.js';
import { echoed } from '../request-text.js';

/** Sorted names, computed once for each snapshot. */
const NAMES = new WeakMap<RegistrySnapshot, readonly string[]>();

/** One page of the models, by name. */
export interface ListPage {
  readonly models: readonly ModelSnapshot[];
  /** The last name if more follow: the next page begins after it. */
  readonly next: string | undefined;
}

function namesOf(snapshot: RegistrySnapshot): readonly string[] {
  let names = NAMES.get(snapshot);
  if (names === undefined) {
    names = Object.keys(snapshot.models).sort();
    NAMES.set(snapshot, names);
  }
  return names;
}

/** Index of the first name after `after`. */
function behind(names: readonly string[], after: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] ?? '') <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

function limitOf(text: string | null): number {
  if (text === null) return MODEL_LIST_MAX;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MODEL_LIST_MAX) return limit;
  const expected = `a whole number from 1 to ${MODEL_LIST_MAX}`;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `limit: expected ${expected}, got '${echoed(text)}'`,
  );
}

/**
 * `query`: the part after "?": `limit` models at most, those after `after`. Errors:
 * InvalidArgument: an unknown member, or a bad limit.
 */
export function listPage(snapshot: RegistrySnapshot, query: string): ListPage {
  const asked = new URLSearchParams(query);
  for (const name of asked.keys()) {
    if (name === 'limit' || name === 'after') continue;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `query: expected 'limit' or 'after', got '${echoed(name)}'`,
    );
  }
  const limit = limitOf(asked.get('limit'));
  const names = namesOf(snapshot);
  const after = asked.get('after');
  const from = after === null ? 0 : behind(names, after);
  const models = names.slice(from, from + limit).flatMap((name) => snapshot.models[name] ?? []);
  return { models, next: from + limit < names.length ? models.at(-1)?.name : undefined };
}
