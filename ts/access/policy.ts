// Access policy: combines settings and keys into the access rules for one kind of call on one
// listener, and judges one caller by them. Pure. judge() is hot where keys are set; the listener's
// thread.
import { GrpcCode } from '../base/errors.js';
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

/** Triton's restriction: calls of these groups must carry this header with this value. */
export interface HeaderRule {
  /** Lower case. */
  readonly header: string;
  /** SHA-256 of the value, in hexadecimal digits. */
  readonly digest: string;
  readonly groups: readonly CallGroup[];
}

/** The configured access settings and the keys of the file. Structured-cloneable. */
export interface Policy {
  /** undefined: there is no key file. */
  readonly keys: readonly ApiKey[] | undefined;
  /** Header that may also carry the bare key; lower case, "" = only Authorization: Bearer. */
  readonly keyHeader: string;
  /** Groups that need no key even where keys are set. */
  readonly openGroups: readonly CallGroup[];
  readonly httpRules: readonly HeaderRule[];
  readonly grpcRules: readonly HeaderRule[];
  /** Other machines may change the server's state without a key. */
  readonly remoteControl: boolean;
  /** The server has an admin address. */
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

/** The listener that a caller comes through. */
export type Entrance = 'http' | 'grpc' | 'admin';

export interface Refusal {
  readonly http: number;
  readonly grpc: number;
  readonly message: string;
}

/** The header that may carry a credential, and the accepted credentials. Digests are SHA-256. */
export interface CredentialCheck {
  /** Lower case. */
  readonly header: string;
  /** The credential follows "Bearer "; otherwise it is the whole header value. */
  readonly bearer: boolean;
  readonly allowed: readonly Buffer[];
  /** ApiKey.caller of each allowed one, 0 = none. */
  readonly callers: readonly number[];
  /** Digests of known credentials that this call does not accept. */
  readonly others: readonly Buffer[];
}

/** Access to one kind of call. */
export interface CallAccess {
  /**
   * Callers that need no credential; local: this machine, over loopback or a unix socket, and not
   * through a proxy.
   */
  readonly openTo: 'all' | 'local' | 'none';
  readonly checks: readonly CredentialCheck[];
  /** Refusals for: no credential, an unknown one, a known one that this call does not accept. */
  readonly missing: Refusal;
  readonly unknown: Refusal;
  readonly forbidden: Refusal;
}

/** The caller of a request. */
export interface Caller {
  /** A header's value; "" = absent. */
  header(name: string): string;
  isLocal(): boolean;
}

/** The WWW-Authenticate value of a 401 response. */
export const CHALLENGE = 'Bearer realm="serval"';

/** Returns whether an address is loopback; it may be an IPv4 address mapped into IPv6. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

/** Headers that a proxy adds. A proxy on this machine is local, but its clients are not. */
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

const unauthenticated = (message: string): Refusal => ({
  http: 401,
  grpc: GrpcCode.UNAUTHENTICATED,
  message,
});
const denied = (message: string): Refusal => ({
  http: 403,
  grpc: GrpcCode.PERMISSION_DENIED,
  message,
});
const everywhere = (refusal: Refusal): Omit<CallAccess, 'openTo' | 'checks'> => ({
  missing: refusal,
  unknown: refusal,
  forbidden: refusal,
});

/** `call` undefined: a path that does not exist. */
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
    `this ${group} call changes the server: without a key it is accepted from this machine only, ` +
    `and not through a proxy (${PROXY_HEADERS.join(', ')}; see --api-key-file and ` +
    '--allow-remote-control)';
  return { openTo: 'local', checks, ...everywhere(denied(why)) };
}

/**
 * Returns whether callers of control-group calls may see the server's file paths: on the admin
 * address, and where such a call needs a key, as the log settings call does.
 */
export function seesPaths(policy: Policy, entrance: Entrance): boolean {
  if (entrance === 'admin') return true;
  const locked = (call: CallKind): boolean => callAccess(policy, call, entrance).openTo === 'none';
  return locked(CONTROL) && locked(LOGGING);
}

/**
 * Returns whether some callers may infer or check readiness but not see metadata, which contains
 * the reasons of failed loads.
 */
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
  const of = (may: boolean): readonly ApiKey[] =>
    keys.filter((key) => key.groups.includes(group) === may);
  const digest = (key: ApiKey): Buffer => Buffer.from(key.digest, 'hex');
  const [allowed, others] = [of(true).map(digest), of(false).map(digest)];
  const callers = of(true).map(({ caller = 0 }) => caller);
  const bearer = { header: AUTHORIZATION, bearer: true, allowed, callers, others };
  if (keyHeader === '') return [bearer];
  return [bearer, { header: keyHeader, bearer: false, allowed, callers, others }];
}

const ruleCheck = ({ header, digest }: HeaderRule): CredentialCheck => ({
  header,
  bearer: false,
  allowed: [Buffer.from(digest, 'hex')],
  callers: [0],
  others: [],
});

/** Uses Triton's texts where only Triton's rule applies: clients match on them. */
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

/**
 * Returns why a caller is refused, or, if it is allowed, the number of its key's caller (0 = none).
 * `accepted`: the cache of credentials that this same access accepted before.
 */
export function judgeCaller(
  access: CallAccess,
  caller: Caller,
  accepted?: AcceptedKeys,
): Refusal | number {
  if (access.openTo === 'all') return 0;
  if (access.openTo === 'local' && caller.isLocal() && !cameByProxy(caller)) return 0;
  let outcome = access.missing;
  let check = -1;
  for (const { header, bearer, allowed, callers, others } of access.checks) {
    check += 1;
    const value = caller.header(header);
    if (value === '') continue;
    const known = accepted?.find(check, value);
    if (known !== undefined) return known;
    const credential = bearer ? (BEARER.exec(value)?.[1] ?? '') : value;
    if (outcome === access.missing) outcome = access.unknown;
    if (credential === '') continue;
    const digest = sha256(credential);
    // Always evaluates both, so that the time reveals nothing about which one matched.
    const may = placeOf(digest, allowed);
    const isOther = placeOf(digest, others) >= 0;
    if (may >= 0) {
      const number = callers[may] ?? 0;
      accepted?.add(check, value, number);
      return number;
    }
    if (isOther) outcome = access.forbidden;
  }
  return outcome;
}

/** Returns why a caller is refused; undefined: it is allowed. `accepted`: see judgeCaller(). */
export function judge(
  access: CallAccess,
  caller: Caller,
  accepted?: AcceptedKeys,
): Refusal | undefined {
  const judged = judgeCaller(access, caller, accepted);
  return typeof judged === 'number' ? undefined : judged;
}

// Uses the one-shot call that Node has since 20.12: a hash object per request doubles the cost and
// adds garbage collection.
function sha256(text: string): Buffer {
  const { hash, createHash } = lateCrypto() as Partial<ReturnType<typeof lateCrypto>> &
    Pick<ReturnType<typeof lateCrypto>, 'createHash'>;
  if (hash === undefined) return createHash('sha256').update(text).digest();
  return Buffer.from(hash('sha256', text, 'hex'), 'hex');
}

/** The index of the digest, -1 = it is not there; compares all of them. */
function placeOf(digest: Buffer, digests: readonly Buffer[]): number {
  const { timingSafeEqual } = lateCrypto();
  let place = 0;
  for (const [index, one] of digests.entries()) {
    place |= timingSafeEqual(digest, one) ? index + 1 : 0;
  }
  return place - 1;
}
