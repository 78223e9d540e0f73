// Clock changes of time zones in the form of plans (proto/plan.fbs), computed with Intl. Importer's
// worker thread; pure. Source: tabular.md 2.1 (X4); java.time.ZoneId for the valid names.
import type { Zone } from './generated/plan.js';

const DAY_MS = 86_400_000;
/** Clocks have been set by law since then. */
const FIRST_MS = Date.UTC(1840, 0, 1);
/** After this time clocks behave as 400 years earlier: the calendar repeats. */
const END_MS = Date.UTC(2500, 0, 1);
/** Within this time, clocks are not set forward and back again. */
const STEP_MS = 7 * DAY_MS;

/** Old names that Java accepts and Intl lacks or reads differently. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Anchorage',
  BET: 'America/Sao_Paulo',
  BST: 'Asia/Dhaka',
  CAT: 'Africa/Harare',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Addis_Ababa',
  ECT: 'Europe/Paris',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
  EST: '-05:00',
  MST: '-07:00',
  HST: '-10:00',
};

const OFFSET = /^(?:Z|(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?)?)$/;
/** The format that Intl writes for "longOffset". */
const WRITTEN_OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;
const HOURS_MAX = 18;

/**
 * Parses a zone name such as "Europe/Berlin", "+01:00" or "UTC". Errors: RangeError: no such zone.
 */
export function zoneOf(name: string): Zone {
  const full = SHORT_NAMES[name] ?? name;
  const fixed = full === '' ? null : OFFSET.exec(full);
  if (fixed !== null) {
    const offset = secondsOf(fixed);
    if (Math.abs(offset) > HOURS_MAX * 3600) throw unknown(name);
    return { name, transitions: new Float64Array(), offsets: Int32Array.of(offset) };
  }
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: full, timeZoneName: 'longOffset' });
  } catch {
    throw unknown(name);
  }
  const offsetAt = (ms: number): number => {
    const written = WRITTEN_OFFSET.exec(format.format(ms));
    if (written === null) throw unknown(name);
    return secondsOf(written);
  };
  return { name, ...transitionsOf(offsetAt) };
}

function unknown(name: string): RangeError {
  return new RangeError(
    `unknown time zone '${name}': expected a name such as Europe/Berlin, or an offset such as +01:00`,
  );
}

function secondsOf([, sign, hours = '0', minutes = '0', seconds = '0']: RegExpExecArray): number {
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === '-' ? -offset : offset;
}

function transitionsOf(offsetAt: (ms: number) => number): Pick<Zone, 'transitions' | 'offsets'> {
  const transitions: number[] = [];
  const offsets = [offsetAt(FIRST_MS)];
  for (let from = FIRST_MS, before = offsets[0]; from < END_MS; from += STEP_MS) {
    const to = Math.min(from + STEP_MS, END_MS - 1000);
    const after = offsetAt(to);
    if (after === before) continue;
    transitions.push(changeBetween(from, to, after, offsetAt));
    offsets.push(after);
    before = after;
  }
  return { transitions: Float64Array.from(transitions), offsets: Int32Array.from(offsets) };
}

/** The second at which it is `after` first. */
function changeBetween(
  from: number,
  to: number,
  after: number,
  offsetAt: (ms: number) => number,
): number {
  let [low, high] = [from / 1000, to / 1000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000) === after) high = middle;
    else low = middle;
  }
  return high;
}
