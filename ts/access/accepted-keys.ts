// Credentials that were let in, as they were sent: who comes again with one costs no digest. In
// memory only, bounded, and of one state of the keys: who has it makes another when those change.
// Hot path where keys are set; the listener's thread.
import { ACCEPTED_KEYS_MAX, ACCEPTED_KEY_CHARS_MAX } from '../base/limits.js';
import { lateCrypto } from '../base/late-modules.js';

const SEED_BYTES = 4;
// Murmur3's.
const STEP = 0x5bd1e995;
const END = 0x85ebca6b;

interface Accepted {
  readonly check: number;
  /** Codes of the text's characters, which are read faster than those of a text. */
  readonly codes: Uint16Array;
}

export class AcceptedKeys {
  /** By mark. Two of one mark: the later one is kept. */
  readonly #kept = new Map<number, Accepted>();
  /** Most callers have the key that the one before had. */
  #latest: Accepted | undefined;
  #seed = 0;

  get size(): number {
    return this.#kept.size;
  }

  /** Whether `text` was let in by that check. Every character is looked at, wherever the first
   * different one is. */
  has(check: number, text: string): boolean {
    if (this.#latest === undefined || text.length > ACCEPTED_KEY_CHARS_MAX) return false;
    if (isOf(this.#latest, check, text)) return true;
    const one = this.#kept.get(markOf(this.#seed, check, text));
    if (one === undefined || !isOf(one, check, text)) return false;
    this.#latest = one;
    return true;
  }

  /** Only of those that were found to be right. One that is too long is not kept. */
  add(check: number, text: string): void {
    if (text.length > ACCEPTED_KEY_CHARS_MAX) return;
    if (this.#latest === undefined) {
      this.#seed = lateCrypto().randomBytes(SEED_BYTES).readInt32LE();
    }
    const codes = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
    this.#latest = { check, codes };
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

// Of the whole text and a secret number: how long a look-up takes says nothing of a kept text.
function markOf(seed: number, check: number, text: string): number {
  let mark = seed ^ check ^ text.length;
  for (let i = 0; i < text.length; i += 1) {
    mark = Math.imul(mark ^ text.charCodeAt(i), STEP);
    mark ^= mark >>> 15;
  }
  return Math.imul(mark, END) | 0;
}
