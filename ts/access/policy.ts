// Who may make which call: what settings and keys come to for one kind of call on one listener, and
// the verdict on one caller. Pure. The verdict is hot where keys are set; the listener's thread.
import { lateCrypto } from '../base/late-modules.js';
import type { AcceptedKeys } from './accepted-keys.js';
import {
  ADMIN_GROUPS,
  CONTROL,
  LOGGING,
  METADATA,
  NEVER_ADMIN_GROUPS,
  NO_KEY_GROUPS,
  UNKNOWN_CALL,
  type CallGroup,
  type CallKind,
} from './groups.js';
import type { ApiKey } from './keys.js';

/** Triton's restriction: calls of these groups carry this header with this value. */
export interface HeaderRule {
  /** Lower case. */
  readonly header: string;
  /** SHA-256 of the value, in hexadecimal digits. */
  readonly digest: string;
  readonly groups: readonly CallGroup[];
}

/** What was configured, and the keys of the file. Structured-cloneable. */
export interface Policy {
  /** undefined: there is no key file. */
  readonly keys: readonly ApiKey[] | undefined;
  /** Where a key may come too, as it is; lower case, "" = only as Authorization: Bearer. */
  readonly keyHeader: string;
  /** Need no key, where there are keys. */
  readonly openGroups: readonly CallGroup[];
  readonly httpRules: readonly HeaderRule[];
  readonly grpcRules: readonly HeaderRule[];
  /** Other machines may change state without a key. */
  readonly remoteControl: boolean;
  /** There is an admin address. */
  readonly hasAdmin: boolean;
}

export const OPEN_POLICY: Policy = {
  keys: undefined,
  keyHeader: '',
  openGroups: [],
  httpRules: [],
  grpcRules: [],
  remoteControl: true,
  hasAdmin: false,
};

/** What callers come in by. */
export type Entrance = 'http' | 'grpc' | 'admin';

export interface Refusal {
  readonly http: number;
  readonly grpc: number;
  readonly message: string;
}

/** Where a credential may be, and which are right. Digests are SHA-256. */
export interface CredentialCheck {
  /** Lower case. */
  readonly header: string;
  /** Behind "Bearer ", else as it is. */
  readonly bearer: boolean;
  readonly allowed: readonly Buffer[];
  /** Known, and not for this call. */
  readonly others: readonly Buffer[];
}

/** Access to one kind of call. */
export interface CallAccess {
  /** Who needs no credential; local: this machine, over loopback or a unix socket, and not through
   * a proxy. */
  readonly openTo: 'all' | 'local' | 'none';
  readonly checks: readonly CredentialCheck[];
  /** No credential, one that nobody knows, one that is not for this. */
  readonly missing: Refusal;
  readonly unknown: Refusal;
  readonly forbidden: Refusal;
}

/** Who calls. */
export interface Caller {
  /** A header's value, "" = it is not there. */
  header(name: string): string;
  isLocal(): boolean;
}

/** What goes with 401. */
export const CHALLENGE = 'Bearer realm="serval"';

/** Of an address: an IPv4 one may stand in an IPv6 one. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

/** What a proxy adds. One on this machine is local, and its clients are not. */
export const PROXY_HEADERS: readonly string[] = [
  'forwarded',
  'x-forwarded-for',
  'x-real-ip',
  'via',
];

const cameByProxy = (caller: Caller): boolean =>
  PROXY_HEADERS.some((name) => caller.header(name) !== '');

const AUTHORIZATION = 'authorization';
const BEARER = /^bearer +([!-~]+)$/i;

const unauthenticated = (message: string): Refusal => ({ http: 401, grpc: 16, message });
const denied = (message: string): Refusal => ({ http: 403, grpc: 7, message });
const everywhere = (refusal: Refusal): Omit<CallAccess, 'openTo' | 'checks'> => ({
  missing: refusal,
  unknown: refusal,
  forbidden: refusal,
});

/** `call` undefined: of a path that is not there. */
export function callAccess(
  policy: Policy,
  call: CallKind = UNKNOWN_CALL,
  entrance: Entrance,
): CallAccess {
  const { group, changes } = call;
  if (policy.hasAdmin && entrance !== 'admin' && ADMIN_GROUPS.has(group)) {
    return closed(`${group} calls are answered on the admin address only`);
  }
  if (entrance === 'admin' && NEVER_ADMIN_GROUPS.has(group)) {
    return closed(`${group} calls are not answered on the admin address`);
  }
  const allRules = entrance === 'grpc' ? policy.grpcRules : policy.httpRules;
  const rules = allRules.filter((rule) => rule.groups.includes(group));
  const isOpen = NO_KEY_GROUPS.has(group) || policy.openGroups.includes(group);
  const needsKey = policy.keys !== undefined && !isOpen;
  const checks = [...keyChecks(policy, group), ...rules.map(ruleCheck)];
  if (needsKey || rules.length > 0) {
    return { openTo: 'none', checks, ...refusals(policy, group, entrance, rules) };
  }
  if (!changes || policy.remoteControl) {
    return { openTo: 'all', checks: [], ...everywhere(denied('')) };
  }
  const why =
    `this ${group} call changes the server: without a key it is taken from this machine only, and ` +
    `not through a proxy (${PROXY_HEADERS.join(', ')}; see --api-key-file and ` +
    '--allow-remote-control)';
  return { openTo: 'local', checks, ...everywhere(denied(why)) };
}

/** Whether callers of the control group's calls may see paths of the server: on the admin address,
 * and where such a call needs a key, as its log settings do. */
export function seesPaths(policy: Policy, entrance: Entrance): boolean {
  if (entrance === 'admin') return true;
  const locked = (call: CallKind): boolean => callAccess(policy, call, entrance).openTo === 'none';
  return locked(CONTROL) && locked(LOGGING);
}

/** Whether there are callers who may infer or ask for readiness and may not see metadata, where the
 * reasons of failed loads are. */
export function hidesReasons(policy: Policy): boolean {
  return (['http', 'grpc'] as const).some(
    (entrance) => callAccess(policy, METADATA, entrance).openTo !== 'all',
  );
}

function closed(message: string): CallAccess {
  return { openTo: 'none', checks: [], ...everywhere(denied(message)) };
}

function keyChecks({ keys, keyHeader }: Policy, group: CallGroup): readonly CredentialCheck[] {
  if (keys === undefined) return [];
  const digests = (may: boolean): readonly Buffer[] =>
    keys
      .filter((key) => key.groups.includes(group) === may)
      .map((key) => Buffer.from(key.digest, 'hex'));
  const [allowed, others] = [digests(true), digests(false)];
  const bearer = { header: AUTHORIZATION, bearer: true, allowed, others };
  if (keyHeader === '') return [bearer];
  return [bearer, { header: keyHeader, bearer: false, allowed, others }];
}

const ruleCheck = ({ header, digest }: HeaderRule): CredentialCheck => ({
  header,
  bearer: false,
  allowed: [Buffer.from(digest, 'hex')],
  others: [],
});

/** Triton's words where Triton's rule is all there is: clients look for them. */
function refusals(
  { keys, keyHeader }: Policy,
  group: CallGroup,
  entrance: Entrance,
  rules: readonly HeaderRule[],
): Omit<CallAccess, 'openTo' | 'checks'> {
  if (keys === undefined) {
    const what = entrance === 'grpc' ? 'protocol' : 'API';
    const headers = rules.map((rule) => `'${rule.header}'`).join(' or ');
    return everywhere(denied(`This ${what} is restricted, expecting header ${headers}`));
  }
  const own = keyHeader === '' ? '' : ` or '${keyHeader}: KEY'`;
  const expected = `${group} calls need a key: expected 'authorization: Bearer KEY'${own}`;
  return {
    missing: unauthenticated(`${expected}, got none`),
    unknown: unauthenticated(`${expected}, got one that is not known`),
    forbidden: denied(`the key that was sent is not for ${group} calls`),
  };
}

/** Why a caller may not; undefined: it may. `accepted`: whom this very access let in before. */
export function judge(
  access: CallAccess,
  caller: Caller,
  accepted?: AcceptedKeys,
): Refusal | undefined {
  if (access.openTo === 'all') return undefined;
  if (access.openTo === 'local' && caller.isLocal() && !cameByProxy(caller)) return undefined;
  let outcome = access.missing;
  let check = -1;
  for (const { header, bearer, allowed, others } of access.checks) {
    check += 1;
    const value = caller.header(header);
    if (value === '') continue;
    if (accepted?.has(check, value) === true) return undefined;
    const credential = bearer ? (BEARER.exec(value)?.[1] ?? '') : value;
    if (outcome === access.missing) outcome = access.unknown;
    if (credential === '') continue;
    const digest = sha256(credential);
    // Both, always: how long it takes says nothing of which it is.
    const may = isAmong(digest, allowed);
    const known = isAmong(digest, others);
    if (may) {
      accepted?.add(check, value);
      return undefined;
    }
    if (known) outcome = access.forbidden;
  }
  return outcome;
}

// In one call, which Node has from 20.12 on: an object for each request costs as much again, and
// later its collection.
function sha256(text: string): Buffer {
  const { hash, createHash } = lateCrypto() as Partial<ReturnType<typeof lateCrypto>> &
    Pick<ReturnType<typeof lateCrypto>, 'createHash'>;
  if (hash === undefined) return createHash('sha256').update(text).digest();
  return Buffer.from(hash('sha256', text, 'hex'), 'hex');
}

function isAmong(digest: Buffer, digests: readonly Buffer[]): boolean {
  const { timingSafeEqual } = lateCrypto();
  let found = 0;
  for (const one of digests) found |= timingSafeEqual(digest, one) ? 1 : 0;
  return found === 1;
}
