// Locks of gRPC's methods, for both listeners: what access comes to for each, as a table that the
// native listener takes, and as grpc-js's calls are looked at. Control plane but for the verdicts;
// the listener's thread.
import type { Metadata } from '@grpc/grpc-js';
import { AcceptedKeys } from '../../access/accepted-keys.js';
import type { CallKind } from '../../access/groups.js';
import { isLoopback, judge, type CallAccess, type Caller } from '../../access/policy.js';
import { GrpcStatus, type GrpcService } from '../grpc-call.js';

/** What access to a kind of call is; undefined: of a method without a kind. */
export type AccessOf = (call: CallKind | undefined) => CallAccess;

/** The addon's, of native/calls/access.h: a check's digests one behind the other. */
export interface NativeAccess {
  readonly accesses: readonly NativeCallAccess[];
  /** For each method the index of its access. */
  readonly ofMethod: readonly number[];
}

type NativeCallAccess = Omit<CallAccess, 'checks'> & {
  readonly checks: readonly {
    readonly header: string;
    readonly bearer: boolean;
    readonly allowed: Buffer;
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

/** What a call of grpc-js says of who calls. */
export interface PeerCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** What getPeer() says of a unix socket's clients: the listener's own sockets say so. */
export const UNIX_PEER = 'unix';

function callerOf(call: PeerCall): Caller {
  return {
    header: (name) => String(call.metadata.get(name)[0] ?? ''),
    isLocal: () => {
      const peer = call.getPeer();
      return peer === UNIX_PEER || isLoopback(peer.replace(/:\d+$/, ''));
    },
  };
}

/** The locks of all methods, as they are now. */
export class MethodLocks {
  readonly #kinds = new Map<string, CallKind | undefined>();
  #accessOf: AccessOf | undefined;
  /** By method, with those who were let in. */
  readonly #locks = new Map<
    string,
    { readonly access: CallAccess; readonly accepted: AcceptedKeys }
  >();

  constructor(services: readonly GrpcService[], accessOf: AccessOf | undefined) {
    this.#accessOf = accessOf;
    for (const { name, unary, streams, calls = {} } of services) {
      for (const method of [...Object.keys(unary), ...Object.keys(streams)]) {
        this.#kinds.set(`/${name}/${method}`, calls[method]);
      }
    }
  }

  set accessOf(accessOf: AccessOf) {
    this.#locks.clear();
    this.#accessOf = accessOf;
  }

  /** Why a call may not be; undefined: it may. */
  refusal(path: string, call: PeerCall): GrpcStatus | undefined {
    if (this.#accessOf === undefined) return undefined;
    let lock = this.#locks.get(path);
    if (lock === undefined) {
      const access = this.#accessOf(this.#kinds.get(path));
      lock = { access, accepted: new AcceptedKeys() };
      this.#locks.set(path, lock);
    }
    if (lock.access.openTo === 'all') return undefined;
    const refusal = judge(lock.access, callerOf(call), lock.accepted);
    return refusal && new GrpcStatus(refusal.grpc, refusal.message);
  }
}
