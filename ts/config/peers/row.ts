// A row of the tables of other servers' flags, and short constructors of rows. Control plane; read
// when a command line has a flag that is not Serval's, and by the generator of the docs.
import { switchOf } from '../values/values.js';

/**
 * works: Serval has the flag, by this name or another. mapped: ts/config/peers/mapped.ts converts
 * it. no effect: accepted with a warning. not here: refused by name.
 */
export type PeerState = 'works' | 'mapped' | 'no effect' | 'not here';

/** A flag of another server in its newest version. */
export interface PeerFlag {
  /** Kebab-case. */
  readonly name: string;
  readonly state: PeerState;
  /** The placeholder of the value; "BOOL" flags may also be given without one. */
  readonly value: string;
  /** Values that ask for Serval's fixed behaviour: accepted silently, whatever the state. */
  readonly harmless: readonly string[];
  /** Explains why it has no effect, what to use instead, or what differs. No full stop. */
  readonly note: string;
  /** Page in docs/, with an anchor if there is one; "" = none. */
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
export const notHere = row('not here');

/** A flag that Serval has; findFlag() finds it by this name. */
export const works = (name: string, value: string, page = '', note = ''): PeerFlag =>
  row('works')(name, value, note, { page });

/** Returns whether the value asks for Serval's fixed behaviour. */
export function isHarmless(flag: PeerFlag, written: string): boolean {
  const asSwitch = flag.value === 'BOOL' ? switchOf(written) : undefined;
  const text = asSwitch === undefined ? written.toLowerCase() : String(asSwitch);
  return flag.harmless.includes(text);
}
