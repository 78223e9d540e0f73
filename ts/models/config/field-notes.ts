// Applies the field tables (ts/config/peers) to a decoded configuration: fields without effect give
// warnings, unsupported fields give problems. Control plane; pure.
import type { FieldRow, FieldTable } from '../../config/peers/field-row.js';
import type { Places } from '../../protobuf/decode-notes.js';
import type { ConfigProblem } from '../../protobuf/problem.js';
import { defaultValue, type FieldSchema, type FieldType } from '../../protobuf/schema.js';
import type { MessageSchema, MessageValue } from '../../protobuf/schema.js';

export interface FieldNotes {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** Checks every member that is set and differs from its default. */
export function fieldNotes(
  value: MessageValue,
  schema: MessageSchema,
  table: FieldTable,
  places: Places,
): FieldNotes {
  const walk = new Walk(table, places);
  walk.message(value, schema);
  return walk;
}

class Walk implements FieldNotes {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: ConfigProblem[] = [];
  readonly #table: FieldTable;
  readonly #places: Places;

  constructor(table: FieldTable, places: Places) {
    this.#table = table;
    this.#places = places;
  }

  message(value: MessageValue, schema: MessageSchema): void {
    const rows = this.#table[schema.name];
    if (rows === undefined) return; // a wrapper: the field's row covers it
    for (const [name, member] of Object.entries(value)) {
      const [row, field] = [rows[name], schema.fields[name]];
      if (row === undefined || field === undefined) continue;
      if (row.state === 'works') this.#inside(member, field);
      else if (row.byPresence || isWritten(member, field)) this.#note(value, name, row);
    }
  }

  #inside(member: unknown, { type, repeated, mapKey }: FieldSchema): void {
    if (type.kind !== 'message') return;
    if (repeated) for (const one of member as readonly MessageValue[]) this.message(one, type);
    else if (mapKey !== undefined) {
      for (const one of Object.values(member as MessageValue)) {
        this.message(one as MessageValue, type);
      }
    } else this.message(member as MessageValue, type);
  }

  #note(of: MessageValue, name: string, { state, note }: FieldRow): void {
    const said = { place: this.#places.at(of, name), message: `${name}: ${note}` };
    (state === 'no effect' ? this.warnings : this.problems).push(said);
  }
}

/** Whether a member is set: lists and maps by their length, messages by their members. */
function isWritten(member: unknown, { type, repeated, mapKey }: FieldSchema): boolean {
  if (repeated) return (member as readonly unknown[]).length > 0;
  if (mapKey !== undefined) return Object.keys(member as MessageValue).length > 0;
  return saysSomething(member, type);
}

function saysSomething(member: unknown, type: FieldType): boolean {
  if (type.kind === 'opaque') return true;
  if (type.kind !== 'message') return member !== defaultValue(type);
  return Object.entries(member as MessageValue).some(([name, inner]) => {
    const field = type.fields[name];
    return field !== undefined && isWritten(inner, field);
  });
}
