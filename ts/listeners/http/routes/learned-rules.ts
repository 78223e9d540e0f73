// The rules that a native listener has learned, as the JavaScript thread that taught it knows them:
// each depends on one part of the registry's snapshot, and ends when that part changes. Pure; the
// listener's thread.
import { LEARNED_ROUTES_MAX, ROUTE_PARTS } from '../../../base/limits.js';
import type { EngineRoute } from '../listener.js';

/** Everything: keys, and a snapshot of which nothing is known. */
const WHOLE = 0;
/** Everything that describes several models. */
const GENERAL = 1;
const FIRST_OF_MODELS = 2;

/** A rule given to the engine, and the headers of its responses. */
export interface Learned {
  readonly engine: EngineRoute;
  readonly added: readonly string[];
}

/** A rule's number, and the generations that it depends on: native/calls/route_generations.h. */
export interface RuleStamp {
  readonly route: number;
  readonly generation: number;
  readonly part: number;
  readonly partGeneration: number;
}

// FNV-1a over UTF-16 units.
function partOf(model: string): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < model.length; i += 1) {
    hash = Math.imul(hash ^ model.charCodeAt(i), 0x0100_0193) >>> 0;
  }
  return FIRST_OF_MODELS + (hash % (ROUTE_PARTS - FIRST_OF_MODELS));
}

/** Numbers of the rules of a part by thread, method, path and Host. */
type Part = Map<string, number>;

export class LearnedRules {
  readonly #generations = new Uint32Array(ROUTE_PARTS);
  readonly #parts = new Map<number, Part>();
  /** Routes given to the engine, by number; of this generation of their part and the last. */
  readonly #learned = new Map<number, Learned>();
  /** Numbers of the last generation of a part. */
  readonly #before = new Map<number, readonly number[]>();
  #count = 0;
  #lastNumber = 0;

  /** No more rules can be added before all are forgotten. */
  get isFull(): boolean {
    return this.#count >= LEARNED_ROUTES_MAX;
  }

  /**
   * Registers a rule: requests like `name` are served by `engine`, or, if it is undefined, have a
   * constant response. undefined: it is known. `again`: never so, because it has another key.
   */
  add(
    name: string,
    engine: EngineRoute | undefined,
    added: readonly string[],
    again: boolean,
  ): RuleStamp | undefined {
    const number = engine === undefined ? GENERAL : partOf(engine.model);
    const part: Part = this.#parts.get(number) ?? new Map<string, number>();
    this.#parts.set(number, part);
    let route = part.get(name);
    if (route !== undefined && !again) return undefined;
    if (route === undefined) {
      this.#lastNumber += 1;
      route = this.#lastNumber;
      part.set(name, route);
      this.#count += 1;
    }
    if (engine !== undefined) this.#learned.set(route, { engine, added });
    const [generation = 0, partGeneration = 0] = [
      this.#generations[WHOLE],
      this.#generations[number],
    ];
    return { route, generation, part: number, partGeneration };
  }

  /** The rule with this number, also if it ended by the last change of its part. */
  find(route: number): Learned | undefined {
    return this.#learned.get(route);
  }

  /**
   * Ends the rules of these models and those that describe several models; undefined: all rules.
   * Returns the parts that the listener has to forget.
   */
  forget(models: ReadonlySet<string> | undefined): readonly number[] {
    if (models === undefined) {
      const known = new Set([...this.#before.keys(), ...this.#parts.keys()]);
      for (const number of known) this.#end(number);
      this.#advance(WHOLE);
      return [WHOLE];
    }
    const parts = [...new Set([GENERAL, ...[...models].map(partOf)])];
    for (const number of parts) {
      this.#end(number);
      this.#advance(number);
    }
    return parts;
  }

  #advance(number: number): void {
    this.#generations[number] = (this.#generations[number] ?? 0) + 1;
  }

  #end(number: number): void {
    for (const route of this.#before.get(number) ?? []) this.#learned.delete(route);
    const part = this.#parts.get(number);
    this.#before.delete(number);
    if (part === undefined) return;
    this.#before.set(number, [...part.values()]);
    this.#count -= part.size;
    this.#parts.delete(number);
  }
}
