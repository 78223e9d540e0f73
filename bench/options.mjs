// The command lines of run.mjs and compare.mjs, and the parts that gpu/run.mjs shares. Pure.
import { parseArgs } from 'node:util';

const NAME = /^[A-Za-z0-9._-]+$/;

export const SHARED = {
  only: { type: 'string' },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  'limit-seconds': { type: 'string' },
  help: { type: 'boolean', default: false },
};

export const SHARED_HELP = `
  --only WORDS        rows by id, or by a part of ids that cuts no number; comma-separated
  --seconds N         whole seconds a point and round (2)
  --rounds N          rounds, each measuring both sides (3)
  --quick             1 second, 1 round: does it run; not a measurement
  --limit-seconds N   start no further workload after this long (1800)
  --help`;

/** Parses the argv of run.mjs. Throws with the flag's name if a value is wrong. */
export function parseRunOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      ...SHARED,
      save: { type: 'string' },
      compare: { type: 'string' },
      checkout: { type: 'string' },
      'no-micro': { type: 'boolean', default: false },
    },
  });
  return {
    ...sharedOptions(values),
    save: resultName('--save', values.save),
    compare: resultName('--compare', values.compare),
    checkout: values.checkout,
    micro: !values['no-micro'],
  };
}

/** Parses the argv of compare.mjs: options with `before` and `after`, two checkouts. */
export function parseCompareOptions(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: SHARED,
  });
  if (!values.help && positionals.length !== 2) {
    throw new Error(`expected two checkouts, OLD and NEW; got ${positionals.length}`);
  }
  return { ...sharedOptions(values), before: positionals[0], after: positionals[1] };
}

/** The options that all commands share, from the `values` of parseArgs. */
export function sharedOptions(values) {
  const quick = values.quick;
  return {
    only: values.only,
    seconds: wholeNumber('--seconds', values.seconds, quick ? 1 : 2),
    rounds: wholeNumber('--rounds', values.rounds, quick ? 1 : 3),
    limitSeconds: wholeNumber('--limit-seconds', values['limit-seconds'], 1800),
    help: values.help,
  };
}

/** Parses `text` as a whole number from 1; throws with the flag's name if it is not one. */
export function wholeNumber(flag, text, otherwise) {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1 || value > 100_000) {
    throw new Error(`${flag}: expected a whole number from 1 to 100000, got '${text}'`);
  }
  return value;
}

/**
 * Returns the `items` that the comma-separated words of `only` select; all of them without it, none
 * if no word matches. A word that is an item's id selects this item. Other words select the items
 * of whose id, or other name (`namesOf(item)`: the id is the first), they are a part; a number is
 * never cut: "b1" is not a part of "b16".
 */
export function selectByWords(items, only, namesOf) {
  if (only === undefined) return items;
  const chosen = new Set();
  for (const word of only.split(',').map((text) => text.trim())) {
    if (word === '') continue;
    const exact = items.filter((item) => namesOf(item)[0] === word);
    const found = exact.length > 0 ? exact : items.filter((item) => hasPart(namesOf(item), word));
    for (const item of found) chosen.add(item);
  }
  return items.filter((item) => chosen.has(item));
}

function hasPart(names, word) {
  const start = /^\d/.test(word) ? '(?<!\\d)' : '';
  const end = /\d$/.test(word) ? '(?!\\d)' : '';
  const part = new RegExp(start + word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') + end);
  return names.some((name) => part.test(name));
}

/** Checks a name for a saved result. */
export function resultName(flag, name) {
  if (name !== undefined && !NAME.test(name)) {
    throw new Error(`${flag}: expected letters, digits, '.', '_' or '-', got '${name}'`);
  }
  return name;
}
