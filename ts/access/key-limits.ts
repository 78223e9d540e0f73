// The limits of a key, as its line in the key file states them after the groups. Pure; control
// plane.
import { invalidArgument } from '../base/errors.js';
import {
  LIMIT_IN_FLIGHT_MAX,
  LIMIT_RATE_MAX,
  MODEL_PATTERNS_MAX,
  WEIGHT_MAX,
} from '../base/limits.js';
import { echo } from '../base/text.js';

/** Limits of requests; absent members are unlimited. */
export interface RequestLimits {
  /** Requests admitted and not yet answered. */
  readonly maxInFlight?: number;
  readonly requestsPerSecond?: number;
  readonly rowsPerSecond?: number;
}

/** The words of a line after name, digest and groups. */
export interface KeyLimits {
  readonly limits?: RequestLimits;
  /** Its share of a model's time, relative to other keys; absent: 100. */
  readonly weight?: number;
  /** Patterns of the names of the models that it may use; absent: all. */
  readonly models?: readonly string[];
}

/** The smallest rate: one in 1000 seconds. */
const RATE_MIN = 0.001;
const PATTERN_CHARS_MAX = 256;

/** Members of RequestLimits by their names in configurations. */
export const LIMIT_NAMES = {
  max_in_flight: 'maxInFlight',
  requests_per_second: 'requestsPerSecond',
  rows_per_second: 'rowsPerSecond',
} as const;
type LimitName = keyof typeof LIMIT_NAMES;
const WORDS = [...Object.keys(LIMIT_NAMES), 'weight', 'models'].join(', ');

const isLimit = (name: string): name is LimitName => Object.hasOwn(LIMIT_NAMES, name);

/** The format of a limit's text, for errors. */
export function expectedLimit(name: LimitName): string {
  return name === 'max_in_flight'
    ? `a whole number from 1 to ${LIMIT_IN_FLIGHT_MAX}`
    : `a number from ${RATE_MIN} to ${LIMIT_RATE_MAX}`;
}

/** The value of a limit; undefined: the text is not one. */
export function limitValue(name: LimitName, text: string): number | undefined {
  if (name === 'max_in_flight') {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
    return value >= 1 && value <= LIMIT_IN_FLIGHT_MAX ? value : undefined;
  }
  const value = /^\d{1,10}(?:\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  return value >= RATE_MIN && value <= LIMIT_RATE_MAX ? value : undefined;
}

/** Errors: InvalidArgument naming the pattern. */
function readPatterns(text: string, where: string): readonly string[] {
  const patterns = text.split(',');
  for (const pattern of patterns) {
    if (pattern !== '' && pattern.length <= PATTERN_CHARS_MAX) continue;
    const expected = `names of models or patterns with * and ? (${PATTERN_CHARS_MAX} characters at most)`;
    throw invalidArgument(where, 'models', `expected ${expected}, got ${echo(pattern)}`);
  }
  if (patterns.length > MODEL_PATTERNS_MAX) {
    const message = `expected at most ${MODEL_PATTERNS_MAX} patterns, got ${patterns.length}`;
    throw invalidArgument(where, 'models', message);
  }
  return patterns;
}

/** Errors: InvalidArgument. */
function readWeight(text: string, where: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= WEIGHT_MAX) return value;
  const message = `expected a whole number from 1 to ${WEIGHT_MAX}, got ${echo(text)}`;
  throw invalidArgument(where, 'weight', message);
}

/** Parses words like `max_in_flight=8`. Errors: InvalidArgument naming the word. */
export function readKeyLimits(words: readonly string[], where: string): KeyLimits {
  const limits: Partial<Record<(typeof LIMIT_NAMES)[LimitName], number>> = {};
  let models: readonly string[] | undefined;
  let weight: number | undefined;
  const seen = new Set<string>();
  for (const word of words) {
    const [name = '', ...rest] = word.split('=');
    const text = rest.join('=');
    if (rest.length === 0 || !(isLimit(name) || name === 'models' || name === 'weight')) {
      throw invalidArgument(
        where,
        `expected NAME=VALUE of ${WORDS} after the groups, got ${echo(word)}`,
      );
    }
    if (seen.has(name)) throw invalidArgument(where, `${name} is there twice`);
    seen.add(name);
    if (name === 'weight') {
      weight = readWeight(text, where);
      continue;
    }
    if (!isLimit(name)) {
      models = readPatterns(text, where);
      continue;
    }
    const value = limitValue(name, text);
    if (value === undefined) {
      throw invalidArgument(where, name, `expected ${expectedLimit(name)}, got ${echo(text)}`);
    }
    limits[LIMIT_NAMES[name]] = value;
  }
  return {
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(models !== undefined && { models }),
    ...(weight !== undefined && { weight }),
  };
}
