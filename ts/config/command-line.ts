// Splits a command line into settings by name. Control plane, start-up only; pure. values.ts checks
// the values. ts/config/peers handles flags of other servers that Serval does not have.
import { SERVE_FLAGS, canonicalName, findFlag, nearestFlag } from './flags.js';
import type { FlagRow } from './values/flag-row.js';
import type { GivenPeerFlag, TakenPeerFlags } from './peers/peers.js';
import type { PeerFlag } from './peers/row.js';
import { configError, switchOf, type Written } from './values/values.js';
import { echo } from '../base/text.js';

/** The settings of a command line before their values are checked. */
export interface ParsedFlags {
  readonly settings: ReadonlyMap<string, Written>;
  readonly positional: readonly string[];
  /** Flags of other servers that have no effect here: "--flag: why". */
  readonly ignored: readonly string[];
}

/** The interface of ts/config/peers/peers.ts, present where flags of other servers are accepted. */
export interface PeerFlags {
  readonly findPeerFlag: (name: string) => PeerFlag | undefined;
  readonly takePeerFlags: (given: readonly GivenPeerFlag[], folder: string) => TakenPeerFlags;
}

/** Returns whether any argument that is written like a flag is missing from `rows`. */
export function hasOtherFlags(args: readonly string[], rows: readonly FlagRow[]): boolean {
  return args.some((arg) => arg.startsWith('--') && findFlag(nameOf(arg), rows) === undefined);
}

/**
 * Splits `--flag=value` and `--flag value`; "--" ends the flags. Errors: InvalidArgument: unknown
 * flag (names the nearest), missing value, an unsupported flag of another server.
 */
export function parseFlags(
  args: readonly string[],
  cwd: string,
  rows: readonly FlagRow[] = SERVE_FLAGS,
  peers?: PeerFlags,
): ParsedFlags {
  const settings = new Map<string, Written>();
  const positional: string[] = [];
  const others: GivenPeerFlag[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') {
      positional.push(...args.slice(i + 1));
      break;
    }
    const peer = arg.startsWith('--') ? findPeer(arg, rows, peers) : undefined;
    if (peer !== undefined) {
      const { given, takesNext } = readPeerFlag(peer, arg, args[i + 1]);
      if (takesNext) i += 1;
      others.push(given);
    } else if (arg.startsWith('-') && arg !== '-') {
      const { row, where, written, takesNext } = readFlag(arg, args[i + 1], rows);
      if (takesNext) i += 1;
      const texts = [...(settings.get(row.name)?.texts ?? []), written];
      settings.set(row.name, { where, texts, folder: cwd });
    } else {
      positional.push(arg);
    }
  }
  const taken = others.length === 0 ? undefined : peers?.takePeerFlags(others, cwd);
  for (const [name, written] of taken?.settings ?? []) {
    if (!settings.has(name)) settings.set(name, written);
  }
  return { settings, positional, ignored: taken?.ignored ?? [] };
}

/** "--flag=value" -> "flag" */
function nameOf(arg: string): string {
  const equals = arg.indexOf('=');
  return (equals < 0 ? arg : arg.slice(0, equals)).replace(/^--/, '');
}

/** Returns the other server's flag that an argument names; Serval's own flags take precedence. */
function findPeer(
  arg: string,
  rows: readonly FlagRow[],
  peers: PeerFlags | undefined,
): PeerFlag | undefined {
  const name = nameOf(arg);
  return findFlag(name, rows) === undefined ? peers?.findPeerFlag(canonicalName(name)) : undefined;
}

function readPeerFlag(
  flag: PeerFlag,
  arg: string,
  next: string | undefined,
): { readonly given: GivenPeerFlag; readonly takesNext: boolean } {
  const where = `--${nameOf(arg)}`;
  const equals = arg.indexOf('=');
  if (equals >= 0) return { given: { flag, where, text: arg.slice(equals + 1) }, takesNext: false };
  const isSwitch = flag.value === 'BOOL';
  const takesNext =
    next !== undefined && (isSwitch ? switchOf(next) !== undefined : !next.startsWith('--'));
  return { given: { flag, where, text: takesNext ? next : undefined }, takesNext };
}

interface ReadFlag {
  readonly row: FlagRow;
  readonly where: string;
  readonly written: string;
  readonly takesNext: boolean;
}

function readFlag(arg: string, next: string | undefined, rows: readonly FlagRow[]): ReadFlag {
  const equals = arg.indexOf('=');
  const name = nameOf(arg);
  const row = name.startsWith('-') ? undefined : findFlag(name, rows);
  if (row === undefined || row.positional === true) {
    const flags = rows.filter((known) => known.positional !== true);
    const nearest = nearestFlag(name.replace(/^-+/, ''), flags);
    const hint = nearest === undefined ? 'see --help all' : `did you mean --${nearest}?`;
    throw configError('command line', `unknown flag ${echo(arg)}; ${hint}`);
  }
  const where = `--${name}`;
  if (equals >= 0) return { row, where, written: arg.slice(equals + 1), takesNext: false };
  if (row.type.kind === 'bool') {
    const takesNext = next !== undefined && switchOf(next) !== undefined;
    return { row, where, written: takesNext ? next : 'true', takesNext };
  }
  if (next === undefined || next.startsWith('--')) {
    throw configError(where, `expected ${row.value} after it`);
  }
  return { row, where, written: next, takesNext: true };
}
