// EngineStats bytes as plain objects. Control plane, any thread. Counts are doubles here: exact up
// to 2^53, which is 104 days of nanoseconds.
import { ByteBuffer } from 'flatbuffers';
import type { BatchStat, DurationStat, EngineStats, ModelStats } from '../model/engine-api.js';
import { readAll } from './flat-tensors.js';
import type { BatchStat as FbBatchStat } from './generated/serval/fb/batch-stat.js';
import type { DurationStat as FbDurationStat } from './generated/serval/fb/duration-stat.js';
import { EngineStats as FbEngineStats } from './generated/serval/fb/engine-stats.js';
import type { ModelStats as FbModelStats } from './generated/serval/fb/model-stats.js';

function readDuration(duration: FbDurationStat | null): DurationStat {
  if (duration === null) return { count: 0, ns: 0 };
  return { count: Number(duration.count()), ns: Number(duration.ns()) };
}

function readBatch(batch: FbBatchStat): BatchStat {
  return {
    batchSize: Number(batch.batchSize()),
    computeInput: readDuration(batch.computeInput()),
    computeInfer: readDuration(batch.computeInfer()),
    computeOutput: readDuration(batch.computeOutput()),
  };
}

function readModel(model: FbModelStats): ModelStats {
  return {
    handle: model.handle(),
    requestsInline: Number(model.requestsInline()),
    requestsQueued: Number(model.requestsQueued()),
    failures: Number(model.failures()),
    cancelled: Number(model.cancelled()),
    queueFull: Number(model.queueFull()),
    queueNs: Number(model.queueNs()),
    computeNs: Number(model.computeNs()),
    lastInferenceMs: Number(model.lastInferenceMs()),
    inferenceCount: Number(model.inferenceCount()),
    executionCount: Number(model.executionCount()),
    success: readDuration(model.success()),
    fail: readDuration(model.fail()),
    queue: readDuration(model.queue()),
    computeInput: readDuration(model.computeInput()),
    computeInfer: readDuration(model.computeInfer()),
    computeOutput: readDuration(model.computeOutput()),
    batches: readAll(model.batchesLength(), (i) => model.batches(i), readBatch),
    rejected: Number(model.rejected()),
    pending: Number(model.pending()),
  };
}

/** EngineStats bytes as an object. */
export function readStats(bytes: ByteBuffer): EngineStats {
  const stats = FbEngineStats.getRootAsEngineStats(bytes);
  return {
    models: readAll(stats.modelsLength(), (i) => stats.models(i), readModel),
    tensorBytesCopied: Number(stats.tensorBytesCopied()),
    tensorBytesViewed: Number(stats.tensorBytesViewed()),
    bodiesOpen: Number(stats.bodiesOpen()),
    ticketsOpen: Number(stats.ticketsOpen()),
  };
}

/** The same for plain bytes. */
export function readStatsBytes(bytes: Uint8Array): EngineStats {
  return readStats(new ByteBuffer(bytes));
}
