// Collects notes while a message is decoded from any format: problems, and where members were
// written. Control plane, any thread.
import { echo, meant } from '../base/text.js';
import type { ConfigProblem } from './problem.js';
import type { FieldSchema, MessageSchema, MessageValue } from './schema.js';

/** Positions at which the members of decoded messages were written. */
export interface Places {
  /** Location of the message itself, of a member, or of one element of a member. */
  at(message: MessageValue, field?: string, index?: number): string;
  /** Whether anything in the message, at any depth, was a problem. */
  isBroken(message: MessageValue): boolean;
}

export interface Decoded {
  /** Without the members that were a problem. */
  readonly value: MessageValue;
  readonly problems: readonly ConfigProblem[];
  readonly places: Places;
}

/** The error for a name that a schema does not have. */
export function unknownField(name: string, schema: MessageSchema): string {
  const hint = meant(name, Object.keys(schema.fields));
  return `unknown field ${echo(name)} of ${schema.name}${hint}`;
}

/** The members of one message that have been written so far. */
export class WrittenMembers {
  readonly #names = new Set<string>();
  readonly #oneofs = new Map<string, string>();

  /** Why `name` may not be written now; undefined if it may. */
  refusal(name: string, known: FieldSchema, mayRepeat: boolean): string | undefined {
    const again = this.#names.has(name);
    this.#names.add(name);
    if (again && !mayRepeat) return `${name}: expected one value, got a second one`;
    if (known.oneof === undefined) return undefined;
    const first = this.#oneofs.get(known.oneof) ?? name;
    this.#oneofs.set(known.oneof, first);
    return first === name ? undefined : `${name}: expected it or ${first}, got both`;
  }
}

/** Collects problems and places while a message is decoded from any format. */
export class DecodeNotes implements Places {
  readonly problems: ConfigProblem[] = [];
  readonly #places = new WeakMap<object, { own: string; fields: Map<string, string[]> }>();
  readonly #broken = new WeakSet<object>();

  problem(place: string, text: string): undefined {
    this.problems.push({ place, message: text });
  }

  begin(value: MessageValue, own: string): void {
    this.#places.set(value, { own, fields: new Map() });
  }

  note(value: MessageValue, name: string, place: string): void {
    const fields = this.#places.get(value)?.fields;
    const known = fields?.get(name);
    if (known === undefined) fields?.set(name, [place]);
    else known.push(place);
  }

  /** `problemsBefore`: the number of problems when the message began. */
  end(value: MessageValue, problemsBefore: number): void {
    if (this.problems.length > problemsBefore) this.#broken.add(value);
  }

  at(value: MessageValue, name?: string, index = 0): string {
    const places = this.#places.get(value);
    const found = name === undefined ? undefined : places?.fields.get(name);
    return found?.[index] ?? found?.[0] ?? places?.own ?? '';
  }

  isBroken(value: MessageValue): boolean {
    return this.#broken.has(value);
  }
}
