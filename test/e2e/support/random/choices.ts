// Random choices of tests that try many cases: a seed that a failure prints and that the
// environment can repeat (SERVAL_SEED=N), and clients that work off a list at once. Test time only.
import type { TestContext } from 'node:test';
import { generator } from '../joining-zoo.js';

export interface Random {
  /** "SERVAL_SEED=N", for messages. */
  readonly where: string;
  /** A whole number below `count`. */
  below(count: number): number;
  /** One of a list that is not empty. */
  one<T>(list: readonly T[]): T;
  /** The list in another order. */
  shuffled<T>(list: readonly T[]): T[];
}

/** Reports the seed as a diagnostic of the test. */
export function randomOf(test: TestContext): Random {
  const seed = Number(process.env['SERVAL_SEED'] ?? Date.now() % 2 ** 31);
  const where = `SERVAL_SEED=${seed}`;
  test.diagnostic(where);
  const next = generator(seed);
  const below = (count: number): number => Math.floor(next() * count);
  return {
    where,
    below,
    one: (list) => {
      const chosen = list[below(list.length)];
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    },
    shuffled: (list) => {
      const left = [...list];
      return list.flatMap(() => left.splice(below(left.length), 1));
    },
  };
}

/** Calls `work` for each of `jobs`, `inFlight` at a time; rejects with the first error. */
export async function workOff<T>(
  jobs: readonly T[],
  inFlight: number,
  work: (job: T) => Promise<void>,
): Promise<void> {
  const left = jobs.values();
  const client = async (): Promise<void> => {
    for (const job of left) await work(job);
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}
