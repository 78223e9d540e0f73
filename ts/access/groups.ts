// Which calls there are, as access to them is given: every REST route and every gRPC method is of
// one group. Data only; any plane.

/** `statistics` and `model-config` stand apart because Triton restricts them apart. */
export const CALL_GROUPS = [
  'inference',
  'metadata',
  'model-config',
  'statistics',
  'health',
  'metrics',
  'control',
  'logging',
  'tracing',
  'shared-memory',
  'console',
] as const;

export type CallGroup = (typeof CALL_GROUPS)[number];

/** What a route or a method is, to those who let callers in. */
export interface CallKind {
  readonly group: CallGroup;
  /** It changes what the server does: loads, unloads, settings, regions of memory. */
  readonly changes: boolean;
}

const reads = (group: CallGroup): CallKind => ({ group, changes: false });
const changes = (group: CallGroup): CallKind => ({ group, changes: true });

export const INFERENCE = reads('inference');
export const METADATA = reads('metadata');
export const MODEL_CONFIG = reads('model-config');
export const STATISTICS = reads('statistics');
export const HEALTH = reads('health');
export const METRICS = reads('metrics');
export const CONTROL = reads('control');
export const CONTROL_CHANGE = changes('control');
export const LOGGING = reads('logging');
export const LOGGING_CHANGE = changes('logging');
export const TRACING = reads('tracing');
export const TRACING_CHANGE = changes('tracing');
export const SHARED_MEMORY = reads('shared-memory');
export const SHARED_MEMORY_CHANGE = changes('shared-memory');
export const CONSOLE = reads('console');
/** What no route and no method has: paths that are not there. */
export const UNKNOWN_CALL = METADATA;

/** With an admin address these are answered there only. */
export const ADMIN_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>([
  'control',
  'logging',
  'tracing',
  'metrics',
  'statistics',
  'console',
]);
/** These need no key where there are keys: a browser sends none with the page that asks for it. */
export const NO_KEY_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>(['console']);
/** And these everywhere but there. */
export const NEVER_ADMIN_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>([
  'inference',
  'shared-memory',
]);

const EVERY = 'all';
/** Of models as they are described: one word for three groups. */
const WIDE: Readonly<Record<string, readonly CallGroup[]>> = {
  metadata: ['metadata', 'model-config', 'statistics'],
  [EVERY]: CALL_GROUPS,
};

/** The words that name groups, for texts. */
export const GROUP_WORDS: readonly string[] = [...CALL_GROUPS, EVERY];

/** What one word names; undefined = nothing. `metadata` has model-config and statistics in it,
 * `all` has all. */
export function groupsOf(word: string): readonly CallGroup[] | undefined {
  if (Object.hasOwn(WIDE, word)) return WIDE[word];
  const group = CALL_GROUPS.find((known) => known === word);
  return group === undefined ? undefined : [group];
}
