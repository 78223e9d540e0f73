// What a row of the tables of other servers' configuration files is: a field of a message, and what
// becomes of it. Control plane; data only.

/** no effect: a warning when it is written. not yet, not here: its model, or its file, is refused.
 * A row of a message without a table of its own holds for everything in it. */
export type FieldState = 'works' | 'no effect' | 'not yet' | 'not here';

export interface FieldRow {
  readonly state: FieldState;
  /** A clause without a full stop; "" = nothing to say. */
  readonly note: string;
  /** true: an empty message means something too. */
  readonly byPresence: boolean;
}

/** Message, as its schema calls it -> field -> row. */
export type FieldTable = Readonly<Record<string, Readonly<Record<string, FieldRow>>>>;

const row =
  (state: FieldState) =>
  (note: string, byPresence = false): FieldRow => ({ state, note, byPresence });

export const worksBut = row('works');
export const noEffect = row('no effect');
export const notYet = row('not yet');
export const notHere = row('not here');

/** Fields that mean what they mean there. */
export function works<Names extends string>(...names: readonly Names[]): Record<Names, FieldRow> {
  return Object.fromEntries(names.map((name) => [name, worksBut('')])) as Record<Names, FieldRow>;
}
