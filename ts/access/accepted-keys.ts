// Cache of accepted credentials, as they were sent, so that a returning caller costs no digest. In
// memory only, bounded, and valid for one state of the keys: the owner makes a new one when the
// keys change. Hot path where keys are set; the listener's thread.
import { ACCEPTED_KEYS_MAX, ACCEPTED_KEY_CHARS_MAX } from '../base/limits.js';
import { lateCrypto } from '../base/late-modules.js';

const SEED_BYTES = 4;
// Murmur3's constant.
const STEP = 0x5bd1e995;
const END = 0x85ebca6b;

interface Accepted {
  readonly check: number;
  /** The text's character codes, which are faster to read than its characters. */
  readonly codes: Uint16Array;
  readonly caller: number;
}

export class AcceptedKeys {
  /** By mark. If two texts have the same mark, the later one is kept. */
  readonly #kept = new Map<number, Accepted>();
  /** Most callers send the same key as the previous caller. */
  #latest: Accepted | undefined;
  #seed = 0;

  get size(): number {
    return this.#kept.size;
  }

  /**
   * The caller with the credential `text`, if that check accepted it. Compares every character,
   * wherever the first difference is (constant time).
   */
  find(check: number, text: string): number | undefined {
    if (this.#latest === undefined || text.length > ACCEPTED_KEY_CHARS_MAX) return undefined;
    if (isOf(this.#latest, check, text)) return this.#latest.caller;
    const one = this.#kept.get(markOf(this.#seed, check, text));
    if (one === undefined || !isOf(one, check, text)) return undefined;
    this.#latest = one;
    return one.caller;
  }

  /**
   * Call only for accepted credentials. One that is too long is not kept. `caller`: ApiKey.caller,
   * 0 = none.
   */
  add(check: number, text: string, caller = 0): void {
    if (text.length > ACCEPTED_KEY_CHARS_MAX) return;
    if (this.#latest === undefined) {
      this.#seed = lateCrypto().randomBytes(SEED_BYTES).readInt32LE();
    }
    const codes = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
    this.#latest = { check, codes, caller };
    const kept = this.#kept;
    kept.set(markOf(this.#seed, check, text), this.#latest);
    if (kept.size <= ACCEPTED_KEYS_MAX) return;
    for (const oldest of kept.keys()) {
      kept.delete(oldest);
      return;
    }
  }
}

function isOf({ check: itsCheck, codes }: Accepted, check: number, text: string): boolean {
  if (codes.length !== text.length) return false;
  let different = itsCheck ^ check;
  for (let i = 0; i < codes.length; i += 1) different |= (codes[i] ?? 0) ^ text.charCodeAt(i);
  return different === 0;
}

// Hashes the whole text with a secret seed, so that the time of a lookup reveals nothing about a
// kept text.
function markOf(seed: number, check: number, text: string): number {
  let mark = seed ^ check ^ text.length;
  for (let i = 0; i < text.length; i += 1) {
    mark = Math.imul(mark ^ text.charCodeAt(i), STEP);
    mark ^= mark >>> 15;
  }
  return Math.imul(mark, END) | 0;
}
