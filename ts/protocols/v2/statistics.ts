// Triton's statistics extension: the versions that a request covers, and the reply as plain data
// for REST (this object is the JSON) and gRPC. Control plane, any thread; pure. Source:
// v2-protocol.md 2, 11.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { DurationStat, EngineStats, ModelStats } from '../../model/engine-api.js';
import type { RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import { lookUp } from './lookup.js';

/** A loaded version that a request covers. */
export interface StatisticsTarget {
  readonly name: string;
  readonly version: string;
  readonly handle: number;
}

export interface BatchStatistics {
  readonly batch_size: number;
  readonly compute_input: DurationStat;
  readonly compute_infer: DurationStat;
  readonly compute_output: DurationStat;
}

export interface InferStatistics {
  readonly success: DurationStat;
  readonly fail: DurationStat;
  readonly queue: DurationStat;
  readonly compute_input: DurationStat;
  readonly compute_infer: DurationStat;
  readonly compute_output: DurationStat;
  readonly cache_hit: DurationStat;
  readonly cache_miss: DurationStat;
}

/** One entry of `model_stats`. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  readonly last_inference: number;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: InferStatistics;
  /** In Triton for decoupled models only; empty here. */
  readonly response_stats: Readonly<Record<string, never>>;
  readonly batch_stats: readonly BatchStatistics[];
  readonly memory_usage: readonly never[];
}

const ZERO: DurationStat = { count: 0, ns: 0 };
const copy = ({ count, ns }: DurationStat): DurationStat => ({ count, ns });

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : Number(a.name > b.name);

function target(name: string, version: VersionSnapshot): StatisticsTarget[] {
  const { handle } = version;
  const served = version.state === 'AVAILABLE' && handle !== undefined;
  return served ? [{ name, version: version.version, handle }] : [];
}

/**
 * The versions covered: by name, then version ascending. An empty name means every served version
 * of every model, an empty version every served one of this model. Errors: ModelNotFound;
 * ModelNotReady if the version, or every version of the model, is not.
 */
export function statisticsTargets(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string,
): readonly StatisticsTarget[] {
  if (name === '' && versionText === '') {
    return Object.values(snapshot.models)
      .sort(byName)
      .flatMap((model) =>
        [...model.versions].reverse().flatMap((version) => target(model.name, version)),
      );
  }
  const { model, version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  if (versionText !== '') return target(model.name, version);
  return [...model.versions].reverse().flatMap((entry) => target(model.name, entry));
}

function statisticsOf(
  { name, version }: StatisticsTarget,
  stats: ModelStats | undefined,
): ModelStatistics {
  return {
    name,
    version,
    last_inference: stats?.lastInferenceMs ?? 0,
    inference_count: stats?.inferenceCount ?? 0,
    execution_count: stats?.executionCount ?? 0,
    inference_stats: {
      success: copy(stats?.success ?? ZERO),
      fail: copy(stats?.fail ?? ZERO),
      queue: copy(stats?.queue ?? ZERO),
      compute_input: copy(stats?.computeInput ?? ZERO),
      compute_infer: copy(stats?.computeInfer ?? ZERO),
      compute_output: copy(stats?.computeOutput ?? ZERO),
      cache_hit: copy(stats?.cacheHit ?? ZERO),
      cache_miss: copy(stats?.cacheMiss ?? ZERO),
    },
    response_stats: {},
    batch_stats: (stats?.batches ?? []).map((batch) => ({
      batch_size: batch.batchSize,
      compute_input: copy(batch.computeInput),
      compute_infer: copy(batch.computeInfer),
      compute_output: copy(batch.computeOutput),
    })),
    memory_usage: [],
  };
}

/** The reply, one entry per target; zeros for a model that the engine no longer has. */
export function modelStatistics(
  targets: readonly StatisticsTarget[],
  stats: EngineStats,
): { readonly model_stats: readonly ModelStatistics[] } {
  const byHandle = new Map(stats.models.map((entry) => [entry.handle, entry]));
  return { model_stats: targets.map((one) => statisticsOf(one, byHandle.get(one.handle))) };
}
