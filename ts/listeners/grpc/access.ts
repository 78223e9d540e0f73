// Access to gRPC methods: the lock of each, as a table for the listener. Control plane; the thread
// that owns the listener.
import type { CallKind } from '../../access/groups.js';
import type { CallAccess } from '../../access/policy.js';

/** Access to a kind of call; undefined: to a method without a kind. */
export type AccessOf = (call: CallKind | undefined) => CallAccess;

/** The addon's form, see native/calls/access.h: a check's digests are concatenated. */
export interface NativeAccess {
  readonly accesses: readonly NativeCallAccess[];
  /** For each method, the index of its access. */
  readonly ofMethod: readonly number[];
}

type NativeCallAccess = Omit<CallAccess, 'checks'> & {
  readonly checks: readonly {
    readonly header: string;
    readonly bearer: boolean;
    readonly allowed: Buffer;
    readonly callers: readonly number[];
    readonly others: Buffer;
  }[];
};

/** `kinds`: of each method. */
export function nativeAccess(
  kinds: readonly (CallKind | undefined)[],
  accessOf: AccessOf,
): NativeAccess {
  const indices = new Map<string, number>();
  const accesses: NativeCallAccess[] = [];
  const ofMethod = kinds.map((kind) => {
    const name = kind === undefined ? '' : `${kind.group} ${kind.changes}`;
    const known = indices.get(name);
    if (known !== undefined) return known;
    const access = accessOf(kind);
    const checks = access.checks.map((check) => ({
      ...check,
      allowed: Buffer.concat(check.allowed),
      others: Buffer.concat(check.others),
    }));
    const index = accesses.push({ ...access, checks }) - 1;
    indices.set(name, index);
    return index;
  });
  return { accesses, ofMethod };
}
