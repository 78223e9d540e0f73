// The groups of calls that access is granted by: every REST route and every gRPC method belongs to
// one group. Data only; any plane.

/** `statistics` and `model-config` are separate groups because Triton restricts them separately. */
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

/** The access properties of a route or a method. */
export interface CallKind {
  readonly group: CallGroup;
  /** The call changes the server's state: loads, unloads, settings, shared-memory regions. */
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
/** The kind of paths that no route or method has. */
export const UNKNOWN_CALL = METADATA;

/** With an admin address, calls of these groups are answered only there. */
export const ADMIN_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>([
  'control',
  'logging',
  'tracing',
  'metrics',
  'statistics',
  'console',
]);
/**
 * These need no key even where keys are set: a browser sends none with the page that prompts for
 * it.
 */
export const NO_KEY_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>(['console']);
/** Calls of these groups are answered everywhere except on the admin address. */
export const NEVER_ADMIN_GROUPS: ReadonlySet<CallGroup> = new Set<CallGroup>([
  'inference',
  'shared-memory',
]);

const EVERY = 'all';
/** Words that name several groups: `metadata` covers three. */
const WIDE: Readonly<Record<string, readonly CallGroup[]>> = {
  metadata: ['metadata', 'model-config', 'statistics'],
  [EVERY]: CALL_GROUPS,
};

/** The words that name groups, for messages. */
export const GROUP_WORDS: readonly string[] = [...CALL_GROUPS, EVERY];

/**
 * Returns the groups that a word names; undefined: none. `metadata` includes model-config and
 * statistics; `all` includes every group.
 */
export function groupsOf(word: string): readonly CallGroup[] | undefined {
  if (Object.hasOwn(WIDE, word)) return WIDE[word];
  const group = CALL_GROUPS.find((known) => known === word);
  return group === undefined ? undefined : [group];
}
