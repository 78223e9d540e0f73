// Collects the unsupported parts that an importer finds in a model and reports them all at once.
// Importer's worker thread.
import { ErrorCode, ServalError } from '../../base/errors.js';

export interface Problem {
  /** In the model: "stage 3 'StringIndexer_12ab'", "line 12, TreeModel". */
  readonly place: string;
  /** The fault or the unsupported feature: "op 'tensorflow' is not supported". */
  readonly reason: string;
}

/** Problems shown in one error; the rest is a count. */
const SHOWN_MAX = 100;

export class Problems {
  readonly #all: Problem[] = [];
  readonly #seen = new Set<string>();

  /** The same problem at the same place counts once. */
  add(place: string, reason: string): void {
    const key = `${place}\n${reason}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#all.push({ place, reason });
  }

  get all(): readonly Problem[] {
    return this.#all;
  }

  /** Errors: ServalError MODEL_INVALID that lists all problems, where there are any. `what`: the
   * model, "PMML document". */
  throwIfAny(what: string): void {
    if (this.#all.length === 0) return;
    const lines = this.#all.slice(0, SHOWN_MAX).map(({ place, reason }) => `${place}: ${reason}`);
    if (this.#all.length > SHOWN_MAX) lines.push(`${this.#all.length - SHOWN_MAX} more`);
    const count = this.#all.length === 1 ? '1 problem' : `${this.#all.length} problems`;
    throw new ServalError(
      ErrorCode.ModelInvalid,
      `${what} is not supported (${count}): ${lines.join('; ')}`,
    );
  }
}
