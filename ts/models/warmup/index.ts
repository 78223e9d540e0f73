// The warmup requests of a version, run before it becomes AVAILABLE: those recorded in TensorFlow
// Serving's warmup file, then those of Triton's model_warmup. Control plane, main thread.
// Source: tfserving.md 3.6; v2-protocol.md 3.
import { dirname, join } from 'node:path';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { WARMUP_END_MS, WARMUP_MS_MAX, WARMUP_RUNS_MAX } from '../../base/limits.js';
import type { Logger } from '../../base/logger.js';
import type { TritonConfig } from '../config/types.js';
import { V2_GRPC, type MessageProtocol } from '../../model/request-kinds.js';
import type { PreparedVersion } from './prepare.js';
import { sampleRequest, warmupSamples } from './model-warmup.js';
import { recordedRequests, type RecordedRequest } from './prediction-log.js';
import { readTfRecords } from './tf-record.js';

export interface WarmupInputs {
  /** The model's name, for the log. */
  readonly name: string;
  /** Folder that contains assets.extra/; may be a file or missing: no recorded requests then. */
  readonly versionFolder: string;
  /** Folder that contains warmup/, the data files of model_warmup. */
  readonly modelFolder: string;
  readonly config: TritonConfig | undefined;
  /** Whether the model's shapes begin with the batch dim. */
  readonly batchDim: boolean;
  /** Runs of each recorded request; 0 means 1. */
  readonly iterations: number;
}

export interface WarmupMessage {
  readonly protocol: MessageProtocol;
  /** A request message of that protocol. Borrowed until the next one is requested. */
  readonly message: Uint8Array;
  /** Origin of the request for error texts: "warmup record 3", "model_warmup 'zeros'". */
  readonly label: string;
}

const WARMUP_FILE = join('assets.extra', 'tf_serving_warmup_requests');

/**
 * Yields every request as often as it must run; each is read or made on demand. Errors: ServalError
 * prefixed with the label.
 */
export async function* warmupMessages(inputs: WarmupInputs): AsyncGenerator<WarmupMessage> {
  yield* recordedMessages(inputs);
  yield* configuredMessages(inputs);
}

async function* recordedMessages(inputs: WarmupInputs): AsyncGenerator<WarmupMessage> {
  const runs = Math.max(1, inputs.iterations);
  for await (const { index, data } of readTfRecords(join(inputs.versionFolder, WARMUP_FILE))) {
    const label = `warmup record ${index}`;
    let requests: readonly RecordedRequest[];
    try {
      requests = recordedRequests(data);
    } catch (error) {
      throw labelled(label, error);
    }
    for (let run = 0; run < runs; run += 1) {
      for (const request of requests) yield { ...request, label };
    }
  }
}

async function* configuredMessages(inputs: WarmupInputs): AsyncGenerator<WarmupMessage> {
  for (const sample of warmupSamples(inputs.config)) {
    if (sample.batchSize === 0) continue;
    const label = `model_warmup '${sample.name}'`;
    let message: Uint8Array;
    try {
      message = await sampleRequest(sample, inputs.modelFolder, inputs.batchDim);
    } catch (error) {
      throw labelled(label, error);
    }
    for (let run = 0; run < sample.count; run += 1) yield { protocol: V2_GRPC, message, label };
  }
}

/** Defaults: the values in limits.ts. */
export interface WarmupLimits {
  readonly runsMax?: number;
  readonly msMax?: number;
  readonly endMs?: number;
}

type WarmUp = (
  protocol: MessageProtocol,
  message: Uint8Array,
  signal: AbortSignal,
) => Promise<unknown>;

/**
 * Runs every warmup request in sequence, and logs their number and duration. The first failure ends
 * it. After a maximum number of runs or time, no more begin and the version is served. Errors:
 * ServalError prefixed with the label; those of `warmUp` keep their code. Cancelled if `signal`
 * aborts it, DeadlineExceeded if a run never ends.
 */
export async function runWarmup(
  inputs: WarmupInputs,
  warmUp: WarmUp,
  logger: Logger,
  signal?: AbortSignal,
  limits: WarmupLimits = {},
): Promise<{ requests: number }> {
  const { runsMax = WARMUP_RUNS_MAX, msMax = WARMUP_MS_MAX, endMs = WARMUP_END_MS } = limits;
  const started = performance.now();
  const ending = new AbortController();
  const ended = ending.signal;
  const unwanted = (): void => {
    ending.abort(new ServalError(ErrorCode.Cancelled, 'the version is no longer wanted'));
  };
  const late = setTimeout(() => {
    ending.abort(
      new ServalError(ErrorCode.DeadlineExceeded, `the warm-up took longer than ${endMs} ms`),
    );
  }, endMs);
  if (signal?.aborted === true) unwanted();
  signal?.addEventListener('abort', unwanted);
  try {
    return await runAll(inputs, warmUp, logger, ended, { runsMax, msMax, started });
  } finally {
    clearTimeout(late);
    signal?.removeEventListener('abort', unwanted);
  }
}

async function runAll(
  inputs: WarmupInputs,
  warmUp: WarmUp,
  logger: Logger,
  ended: AbortSignal,
  { runsMax, msMax, started }: { runsMax: number; msMax: number; started: number },
): Promise<{ requests: number }> {
  let requests = 0;
  for await (const { protocol, message, label } of warmupMessages(inputs)) {
    if (requests >= runsMax || performance.now() - started >= msMax) {
      logger.warn('warm-up stopped at its limit', {
        model: inputs.name,
        folder: inputs.versionFolder,
        requests,
        runsMax,
        msMax,
      });
      break;
    }
    try {
      if (!ended.aborted) await warmUp(protocol, message, ended);
    } catch (error) {
      if (!ended.aborted) throw labelled(label, error);
    }
    if (ended.aborted) throw labelled(label, ended.reason);
    requests += 1;
  }
  for (const sample of warmupSamples(inputs.config)) {
    if (sample.batchSize > 0) continue;
    logger.warn('model_warmup sample has batch_size 0 and was not run', {
      model: inputs.name,
      sample: sample.name,
    });
  }
  const fields = { model: inputs.name, folder: inputs.versionFolder, requests };
  if (requests === 0) logger.debug('no warmup requests', fields);
  else logger.info('warmed up', { ...fields, warmupMs: Math.round(performance.now() - started) });
  return { requests };
}

function labelled(label: string, error: unknown): ServalError {
  const message = reasonOf(error);
  const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
  return new ServalError(code, `${label}: ${message}`);
}

/**
 * Returns a registry's `prepare` function, which runs the warmup requests of a loaded version.
 * `iterations`: runs of each recorded request; 0 means 1.
 */
export function warmUpWith(
  warmUp: (handle: number, ...request: Parameters<WarmUp>) => Promise<unknown>,
  iterations: number,
  logger: Logger,
): (version: PreparedVersion, signal: AbortSignal) => Promise<void> {
  return async ({ name, path, config, loaded }, signal) => {
    const batchDim = Number(config?.['max_batch_size'] ?? 0) > 0 || loaded.batchMode !== 'off';
    const inputs = {
      name,
      versionFolder: path,
      modelFolder: dirname(path),
      config,
      batchDim,
      iterations,
    };
    await runWarmup(inputs, (...request) => warmUp(loaded.handle, ...request), logger, signal);
  };
}
