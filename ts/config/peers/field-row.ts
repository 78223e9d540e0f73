// A row of the tables of other servers' configuration files: a field of a message and how Serval
// handles it. Control plane; data only.

/**
 * no effect: warns when the field is set. not here: refuses its model or its file. A row
 * of a message without its own table applies to everything in it.
 */
export type FieldState = 'works' | 'no effect' | 'not here';

export interface FieldRow {
  readonly state: FieldState;
  /** A clause without a full stop; "" = none. */
  readonly note: string;
  /** true: an empty message is meaningful too. */
  readonly byPresence: boolean;
}

/** Message, by its schema name, to field to row. */
export type FieldTable = Readonly<Record<string, Readonly<Record<string, FieldRow>>>>;

const row =
  (state: FieldState) =>
  (note: string, byPresence = false): FieldRow => ({ state, note, byPresence });

export const worksBut = row('works');
export const noEffect = row('no effect');
export const notHere = row('not here');

/** Rows of fields that have the same meaning as in the other server. */
export function works<Names extends string>(...names: readonly Names[]): Record<Names, FieldRow> {
  return Object.fromEntries(names.map((name) => [name, worksBut('')])) as Record<Names, FieldRow>;
}
