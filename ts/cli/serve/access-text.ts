// Summary of access rules in the start line: what is open to whom. Pure; control plane.
import { CALL_GROUPS, type CallGroup } from '../../access/groups.js';
import { callAccess, type CallAccess, type Entrance, type Policy } from '../../access/policy.js';

/** Groups with calls that change the server. */
const CHANGED: readonly CallGroup[] = ['control', 'logging', 'tracing', 'shared-memory'];
/** Groups that have a call. */
const CALLED = CALL_GROUPS.filter((group) => group !== 'console');

/** Covers both HTTP and gRPC: if they differ, the more restricted one. */
export interface AccessFacts {
  /** Groups that everybody may read. */
  readonly open: readonly CallGroup[];
  /** Groups through which everybody may change the server, and those for which this machine may. */
  readonly changesFromAnywhere: readonly CallGroup[];
  readonly changesFromHere: readonly CallGroup[];
  /** Number of keys in the file; undefined: there is no file. */
  readonly keys: number | undefined;
  /** Groups that a header of Triton's flags opens. */
  readonly byHeader: readonly CallGroup[];
}

export function accessFacts(policy: Policy): AccessFacts {
  const openTo = (group: CallGroup, changes: boolean): readonly CallAccess['openTo'][] =>
    (['http', 'grpc'] as const).map(
      (entrance: Entrance) =>
        callAccess({ ...policy, hasAdmin: false }, { group, changes }, entrance).openTo,
    );
  const every = (
    group: CallGroup,
    changes: boolean,
    to: readonly CallAccess['openTo'][],
  ): boolean => openTo(group, changes).every((one) => to.includes(one));
  const changing = CHANGED.filter((group) => every(group, true, ['all']));
  const rules = [...policy.httpRules, ...policy.grpcRules];
  return {
    open: CALLED.filter((group) => every(group, false, ['all'])),
    changesFromAnywhere: changing,
    changesFromHere: CHANGED.filter(
      (group) => !changing.includes(group) && every(group, true, ['all', 'local']),
    ),
    keys: policy.keys?.length,
    byHeader: CALLED.filter((group) => rules.some((rule) => rule.groups.includes(group))),
  };
}

/** One line, for people. */
export function accessText(policy: Policy): string {
  const { open, changesFromAnywhere, changesFromHere, keys, byHeader } = accessFacts(policy);
  const all = open.length === CALLED.length;
  const parts = [`anyone may read ${all ? 'all' : open.join(', ') || 'nothing'}`];
  if (changesFromAnywhere.length > 0) {
    parts.push(`anyone may change ${changesFromAnywhere.join(', ')}`);
  }
  if (changesFromHere.length > 0)
    parts.push(`this machine may change ${changesFromHere.join(', ')}`);
  if (keys !== undefined) parts.push(`the rest needs one of ${keys} keys`);
  if (byHeader.length > 0) parts.push(`restricted by header: ${byHeader.join(', ')}`);
  return `access: ${parts.join('; ')}`;
}
