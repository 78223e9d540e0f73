// Collects a JavaScript thread's garbage, which an idle thread never does by itself. Control plane,
// any thread; the thread stops meanwhile.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { COMPACT_AFTER_MS, COMPACT_MODELS_MIN } from '../limits.js';

type Collect = (options?: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

function collector(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}

/** Frees unreachable objects, and with them the buffers that they own. */
export function collectGarbage(): void {
  collector()();
}

/** Also moves the objects that stay together and returns the rest of the heap to the system. */
export function compactHeap(): void {
  collector()({ type: 'major', flavor: 'last-resort' });
}

/**
 * Compacts the heap after many models changed, once they rest: the snapshots in between leave as
 * much garbage as there are models, between objects that stay (5 kB for each model).
 */
export class HeapOfModels {
  readonly #compact: () => void;
  #changed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(compact: () => void = compactHeap) {
    this.#compact = compact;
  }

  /** This number of models changed. */
  note(models: number): void {
    this.#changed += models;
    if (this.#changed < COMPACT_MODELS_MIN) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#changed = 0;
      this.#compact();
    }, COMPACT_AFTER_MS).unref();
  }
}
