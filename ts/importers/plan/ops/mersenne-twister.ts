// Random numbers that Spark draws where it starts an estimate: MT19937 seeded with a 64-bit number,
// normal numbers by Box and Muller, gamma-distributed ones by Marsaglia and Tsang. Importer's
// worker thread; pure.

const N = 624;
const M = 397;

export class MersenneTwister {
  readonly #state = new Uint32Array(N);
  #at = N;
  #normal: number | undefined;

  /** The reference implementation's seeding by an array: the upper and the lower 32 bits. */
  constructor(seed: bigint) {
    const key = [Number(BigInt.asUintN(32, seed >> 32n)), Number(BigInt.asUintN(32, seed))];
    const mt = this.#state;
    mt[0] = 19650218;
    const mixed = (i: number, by: number) => {
      const before = mt[i - 1] ?? 0;
      return Math.imul(before ^ (before >>> 30), by);
    };
    for (let i = 1; i < N; ++i) mt[i] = mixed(i, 1812433253) + i;
    let i = 1;
    const step = () => {
      i += 1;
      if (i < N) return;
      mt[0] = mt[N - 1] ?? 0;
      i = 1;
    };
    for (let k = 0; k < N; ++k) {
      const j = k % key.length;
      mt[i] = ((mt[i] ?? 0) ^ mixed(i, 1664525)) + (key[j] ?? 0) + j;
      step();
    }
    for (let k = 1; k < N; ++k) {
      mt[i] = ((mt[i] ?? 0) ^ mixed(i, 1566083941)) - i;
      step();
    }
    mt[0] = 0x80000000;
  }

  #turn(): void {
    const mt = this.#state;
    for (let k = 0; k < N; ++k) {
      const y = ((mt[k] ?? 0) & 0x80000000) | ((mt[(k + 1) % N] ?? 0) & 0x7fffffff);
      mt[k] = (mt[(k + M) % N] ?? 0) ^ (y >>> 1) ^ ((y & 1) === 0 ? 0 : 0x9908b0df);
    }
    this.#at = 0;
  }

  /** Returns the next 32 bits. */
  next(): number {
    if (this.#at >= N) this.#turn();
    let y = this.#state[this.#at++] ?? 0;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  /** At least 0, below 1. */
  uniform(): number {
    const high = this.next() >>> 6;
    const low = this.next() >>> 6;
    return (high * 2 ** 26 + low) * 2 ** -52;
  }

  normal(): number {
    if (this.#normal !== undefined) {
      const kept = this.#normal;
      this.#normal = undefined;
      return kept;
    }
    const angle = 2 * Math.PI * this.uniform();
    const radius = Math.sqrt(-2 * Math.log(this.uniform()));
    this.#normal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** Draws from a gamma distribution with a shape above 1. */
  gamma(shape: number, scale: number): number {
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const root = 1 + c * x;
      if (root <= 0) continue;
      const v = root * root * root;
      const x2 = x * x;
      const u = this.uniform();
      if (u < 1 - 0.0331 * (x2 * x2) || Math.log(u) < 0.5 * x2 + d * (1 - v + Math.log(v))) {
        return scale * d * v;
      }
    }
  }
}
