// The command line of the soak, and random numbers that a seed reproduces. Pure. Test time only.
import { parseArgs } from 'node:util';

export const HELP = `node test/soak/run.mjs [options]
  --minutes N   how long the mix runs on each server (5); fractions are allowed
  --door K      of the server: tls, plain, or both, one after the other (both)
  --seed N      the random choices of an earlier run; timing still differs
  --verbose     print what the server logs
`;

const DOORS = { tls: ['tls'], plain: ['plain'], both: ['tls', 'plain'] };

/**
 * argv -> {minutes, seed, doors, verbose, help}. Throws with the flag's name if a value is wrong.
 */
export function parseOptions(argv, otherwiseSeed) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: 'string', default: '5' },
      door: { type: 'string', default: 'both' },
      seed: { type: 'string', default: String(otherwiseSeed) },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= 100_000)) {
    throw new Error(`--minutes: expected a number above 0, got '${values.minutes}'`);
  }
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0 || seed >= 2 ** 32) {
    throw new Error(`--seed: expected a whole number below 2^32, got '${values.seed}'`);
  }
  const doors = DOORS[values.door];
  if (doors === undefined) {
    throw new Error(`--door: expected tls, plain or both, got '${values.door}'`);
  }
  return { minutes, seed, doors, verbose: values.verbose, help: values.help };
}

/** Random numbers from a seed (mulberry32: 32 bits of state, one multiplication each). */
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number in [from, to]. */
  int(from, to) {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick(list) {
    return list[this.int(0, list.length - 1)];
  }
}

export const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
