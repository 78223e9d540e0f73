// Structure of a model as its configuration has it: the steps of an ensemble with the tensors
// between them, and the slots of a model with sequences. Pure; the browser's thread. Source:
// Triton's ModelEnsembling and ModelSequenceBatching; docs/guides/sequences.md.

/** The members that are read of GET /v2/models/NAME/config. */
export interface ModelConfig {
  readonly max_batch_size?: number;
  readonly input?: readonly { readonly name: string }[];
  readonly output?: readonly { readonly name: string }[];
  readonly ensemble_scheduling?: { readonly step?: readonly StepConfig[] };
  readonly sequence_batching?: SequenceConfig;
  readonly instance_group?: readonly GroupConfig[];
}

interface StepConfig {
  readonly model_name: string;
  /** Written as a text if it is an int64. */
  readonly model_version?: number | string;
  readonly input_map?: Readonly<Record<string, string>>;
  readonly output_map?: Readonly<Record<string, string>>;
}

interface SequenceConfig {
  readonly max_sequence_idle_microseconds?: number | string;
  readonly oldest?: { readonly max_candidate_sequences?: number };
}

interface GroupConfig {
  readonly count?: number;
  readonly kind?: string;
  readonly gpus?: readonly number[];
}

/** A tensor of a step's model, and the ensemble's tensor that it is. */
export interface Link {
  readonly name: string;
  readonly tensor: string;
}

export interface FlowStep {
  readonly model: string;
  /** "" = the newest. */
  readonly version: string;
  readonly reads: readonly Link[];
  readonly writes: readonly Link[];
}

export interface Flow {
  readonly steps: readonly FlowStep[];
  /** Names of the ensemble's tensors: its inputs first, then those that steps write, in order. */
  readonly tensors: readonly string[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

const linksOf = (map: Readonly<Record<string, string>> = {}): readonly Link[] =>
  Object.entries(map).map(([name, tensor]) => ({ name, tensor }));

function stepOf({ model_name: model, model_version: version, ...maps }: StepConfig): FlowStep {
  const number = Number(version ?? -1);
  return {
    model,
    version: number < 0 ? '' : String(version),
    reads: linksOf(maps.input_map),
    writes: linksOf(maps.output_map),
  };
}

/** undefined: it is no ensemble. */
export function flowOf(config: ModelConfig | undefined): Flow | undefined {
  const steps = config?.ensemble_scheduling?.step?.map(stepOf) ?? [];
  if (config === undefined || steps.length === 0) return undefined;
  const inputs = (config.input ?? []).map(({ name }) => name);
  const written = steps.flatMap(({ writes }) => writes.map(({ tensor }) => tensor));
  return {
    steps,
    tensors: [...new Set([...inputs, ...written])],
    inputs,
    outputs: (config.output ?? []).map(({ name }) => name),
  };
}

export interface SequenceFacts {
  readonly strategy: 'direct' | 'oldest';
  /** Sequences that can have a slot at a time, over all instances. */
  readonly slots: number;
  readonly idleSeconds: number;
}

/** Triton's default of max_sequence_idle_microseconds. */
const IDLE_US = 1_000_000;

function instancesOf(groups: readonly GroupConfig[]): number {
  const counts = groups.map(({ count = 1, kind, gpus = [] }) => {
    const devices = kind === 'KIND_GPU' ? gpus.length : 0;
    return Math.max(1, count) * Math.max(1, devices);
  });
  return Math.max(
    1,
    counts.reduce((sum, count) => sum + count, 0),
  );
}

/** undefined: the model has no sequences. */
export function sequencesOf(config: ModelConfig | undefined): SequenceFacts | undefined {
  const sequences = config?.sequence_batching;
  if (config === undefined || sequences === undefined) return undefined;
  const { oldest, max_sequence_idle_microseconds: idle } = sequences;
  const each = oldest === undefined ? config.max_batch_size : oldest.max_candidate_sequences;
  return {
    strategy: oldest === undefined ? 'direct' : 'oldest',
    slots: Math.max(1, each ?? 1) * instancesOf(config.instance_group ?? []),
    idleSeconds: (Number(idle ?? 0) || IDLE_US) / 1e6,
  };
}
