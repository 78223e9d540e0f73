// Pseudo-random whole numbers that are the same in every run.

/**
 * Returns a function for numbers from 0 up to, but not including, its argument (Lehmer's
 * generator).
 */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * below);
  };
}
