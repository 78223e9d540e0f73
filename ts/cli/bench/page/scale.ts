// Axes: maps values to pixels, and chooses the labelled values. Control plane; pure.

export interface Scale {
  /** The position of a value, in pixels. */
  at(value: number): number;
  readonly ticks: readonly number[];
}

const STEPS = [1, 2, 2.5, 5, 10];
/**
 * Ratio of the largest to the smallest value above which an axis of positive values is logarithmic.
 */
const LOG_FROM = 25;

/** The smallest round number of STEPS that is not below. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = STEPS.find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** From 0 to at least the largest value. */
export function linear(values: readonly number[], from: number, to: number, parts = 5): Scale {
  const most = Math.max(...values, 0) || 1;
  const step = roundUp(most / parts);
  const steps = Math.max(1, Math.ceil(most / step - 1e-9));
  const end = step * steps;
  const ticks = Array.from({ length: steps + 1 }, (_, i) => Number((step * i).toPrecision(12)));
  return { ticks, at: (value) => from + ((to - from) * value) / end };
}

/** Powers of ten, with 2 and 5 if there are few. Values are above 0. */
export function logarithmic(values: readonly number[], from: number, to: number): Scale {
  const inner = logTicks(Math.min(...values), Math.max(...values));
  const least = inner[0] ?? 1;
  const low = Math.log(least);
  const high = Math.log(inner.at(-1) ?? 10);
  const at = (value: number): number =>
    from + ((to - from) * (Math.log(Math.max(value, least)) - low)) / (high - low);
  return { ticks: inner, at };
}

function logTicks(least: number, most: number): readonly number[] {
  const first = Math.floor(Math.log10(least));
  const last = Math.max(first + 1, Math.ceil(Math.log10(most)));
  const isWide = last - first > 3;
  const all: number[] = [];
  for (let power = first; power <= last; power += 1) {
    for (const step of isWide ? [1] : [1, 2, 5]) all.push(step * 10 ** power);
  }
  const below = all.filter((one) => one <= least * (1 + 1e-9)).length - 1;
  const above = all.findIndex((one) => one >= most * (1 - 1e-9));
  const start = Math.max(0, below);
  return all.slice(start, Math.max(start + 2, above < 0 ? all.length : above + 1));
}

/** Linear from 0, or logarithmic if the values are far apart. */
export function fitting(values: readonly number[], from: number, to: number): Scale {
  const positive = values.filter((value) => value > 0);
  const isFar = Math.max(...positive) > LOG_FROM * Math.min(...positive);
  return isFar ? logarithmic(positive, from, to) : linear(values, from, to);
}

/** Counts that double: each is labelled if there is space; a single one is in the middle. */
export function doubling(values: readonly number[], from: number, to: number, room = 10): Scale {
  const known = [...new Set(values)].sort((a, b) => a - b);
  const low = Math.log2(Math.max(known[0] ?? 1, 0.5));
  const high = Math.log2(Math.max(known.at(-1) ?? 1, 0.5));
  const every = Math.ceil(known.length / room);
  const ticks = known.filter((_, i) => i % every === 0);
  if (high === low) return { ticks, at: () => (from + to) / 2 };
  const at = (value: number): number =>
    from + ((to - from) * (Math.log2(Math.max(value, 0.5)) - low)) / (high - low);
  return { ticks, at };
}
