// What a row of the tables of other servers' flags is, and short forms that make rows. Control
// plane; read when a command line has a flag that is not ours, and by what writes the docs.
import { switchOf } from '../values/values.js';

/** works: a flag here, by this name or another. mapped: ts/config/peers/mapped.ts says what it
 * means. no effect: taken with a warning. not yet, not here: refused by name. */
export type PeerState = 'works' | 'mapped' | 'no effect' | 'not yet' | 'not here';

/** A flag of another server, in its newest version. */
export interface PeerFlag {
  /** Kebab-case. */
  readonly name: string;
  readonly state: PeerState;
  /** What stands for the value; "BOOL" also stands alone. */
  readonly value: string;
  /** Values that ask for what is so anyway: taken without a word, whatever the state. */
  readonly harmless: readonly string[];
  /** Why it has no effect; what to do instead; what is different. No full stop. */
  readonly note: string;
  /** Of docs/, with an anchor where there is one; "" = none. */
  readonly page: string;
}

type Extra = Partial<Pick<PeerFlag, 'harmless' | 'page'>>;

const row =
  (state: PeerState) =>
  (name: string, value: string, note: string, extra: Extra = {}): PeerFlag => ({
    name,
    state,
    value,
    harmless: [],
    page: '',
    note,
    ...extra,
  });

export const mapped = row('mapped');
export const noEffect = row('no effect');
export const notYet = row('not yet');
export const notHere = row('not here');

/** A flag of ours; findFlag() knows it by this name. */
export const works = (name: string, value: string, page = '', note = ''): PeerFlag =>
  row('works')(name, value, note, { page });

/** Whether the value asks for what is so anyway. */
export function isHarmless(flag: PeerFlag, written: string): boolean {
  const asSwitch = flag.value === 'BOOL' ? switchOf(written) : undefined;
  const text = asSwitch === undefined ? written.toLowerCase() : String(asSwitch);
  return flag.harmless.includes(text);
}
