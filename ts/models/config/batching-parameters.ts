// TensorFlow Serving's --batching_parameters_file and batching_params.pbtxt, and the engine
// settings they map to. Control plane; pure except for the machine's core count. Source:
// tfserving.md 3.5.
import { availableParallelism } from 'node:os';
import { BATCHING_FIELDS } from '../../config/peers/serving-fields.js';
import { MODEL_THREADS_MAX, UINT32_MAX } from '../../base/limits.js';
import type { BatchPolicy, ModelSpec } from '../../model/engine-api.js';
import { BATCHING_PARAMETERS } from '../../protobuf/generated/serving-config.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read } from '../../protobuf/schema.js';
import type { Places } from '../../protobuf/decode-notes.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { ConfigFileError, parseTextProto } from '../../protobuf/text-format.js';
import { fieldNotes } from './field-notes.js';
import type { BatchingParameters } from '../../model/batching-parameters.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

const MAX_BATCH_SIZE_DEFAULT = 1000;
const MAX_ENQUEUED_BATCHES_DEFAULT = 10;
/** Longest queue that --queue-requests-max allows. */
const QUEUE_REQUESTS_MAX = 1_000_000;

export const NO_BATCHING: BatchPolicy = {
  mode: 'off',
  rowsMax: 0,
  requestRowsMax: 0,
  preferredRows: [],
  allowedRows: [],
  anyRows: false,
  delayUs: 0,
  split: false,
  padInner: false,
  preserveOrdering: false,
  onlyIfBatchable: false,
};

/** Settings that --enable-batching alone implies. */
export function defaultBatchingParameters(): BatchingParameters {
  return {
    maxBatchSize: MAX_BATCH_SIZE_DEFAULT,
    batchTimeoutMicros: 0,
    maxEnqueuedBatches: MAX_ENQUEUED_BATCHES_DEFAULT,
    numBatchThreads: Math.min(availableParallelism(), MODEL_THREADS_MAX),
    allowedBatchSizes: [],
    padVariableLengthInputs: false,
    enableLargeBatchSplitting: false,
    maxExecutionBatchSize: MAX_BATCH_SIZE_DEFAULT,
  };
}

export interface ParsedBatchingParameters {
  /** undefined when there is a problem. */
  readonly parameters: BatchingParameters | undefined;
  readonly problems: readonly ConfigProblem[];
  /** Settings that are read but have no effect. */
  readonly warnings: readonly ConfigProblem[];
}

/** `path` names the file in problem locations. */
export function parseBatchingParameters(text: string, path: string): ParsedBatchingParameters {
  try {
    const { value, problems, places } = decodeText(
      parseTextProto(text, path),
      BATCHING_PARAMETERS,
      path,
    );
    const { warnings } = fieldNotes(value, BATCHING_PARAMETERS, BATCHING_FIELDS, places);
    if (problems.length > 0) return { parameters: undefined, problems, warnings };
    return { ...checkedParameters(value, places), warnings };
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    return { parameters: undefined, problems: [error.problem], warnings: [] };
  }
}

/** Parameters of a BatchingParameters message that was decoded without problems. */
export function checkedParameters(
  value: MessageValue,
  places: Places,
): Pick<ParsedBatchingParameters, 'parameters' | 'problems'> {
  const parameters = parametersOf(value);
  const problems = checkParameters(parameters, value, places);
  return { parameters: problems.length === 0 ? parameters : undefined, problems };
}

function parametersOf(value: MessageValue): BatchingParameters {
  const standard = defaultBatchingParameters();
  const int = (name: string, otherwise: number): number => {
    const found = read.child(value, name);
    return found === undefined ? otherwise : read.int(found, 'value');
  };
  const maxBatchSize = int('max_batch_size', standard.maxBatchSize);
  const split = read.bool(read.child(value, 'enable_large_batch_splitting'), 'value');
  return {
    maxBatchSize,
    batchTimeoutMicros: int('batch_timeout_micros', standard.batchTimeoutMicros),
    maxEnqueuedBatches: int('max_enqueued_batches', standard.maxEnqueuedBatches),
    numBatchThreads: int('num_batch_threads', standard.numBatchThreads),
    allowedBatchSizes: read.ints(value, 'allowed_batch_sizes'),
    padVariableLengthInputs: read.bool(value, 'pad_variable_length_inputs'),
    enableLargeBatchSplitting: split,
    maxExecutionBatchSize: split ? int('max_execution_batch_size', maxBatchSize) : maxBatchSize,
  };
}

function checkParameters(
  parameters: BatchingParameters,
  value: MessageValue,
  places: Places,
): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const say = (name: string, text: string, index = 0): void => {
    problems.push({ place: places.at(value, name, index), message: `${name}: ${text}` });
  };
  const range = (name: string, got: number, min: number, max: number): void => {
    if (got < min || got > max) say(name, `expected ${min} to ${max}, got ${got}`);
  };
  range('max_batch_size', parameters.maxBatchSize, 1, UINT32_MAX);
  range('batch_timeout_micros', parameters.batchTimeoutMicros, 0, UINT32_MAX);
  range('max_enqueued_batches', parameters.maxEnqueuedBatches, 1, Number.MAX_SAFE_INTEGER);
  range('num_batch_threads', parameters.numBatchThreads, 1, MODEL_THREADS_MAX);
  if (parameters.maxExecutionBatchSize !== parameters.maxBatchSize) {
    range('max_execution_batch_size', parameters.maxExecutionBatchSize, 1, parameters.maxBatchSize);
  }
  const sizes = parameters.allowedBatchSizes;
  const wrong = sizes.findIndex((size, i) => size <= (sizes[i - 1] ?? 0));
  if (wrong >= 0) {
    const expected = `expected more than ${sizes[wrong - 1] ?? 0}`;
    say('allowed_batch_sizes', `${expected}, got ${sizes[wrong] ?? 0}`, wrong);
  }
  const last = sizes.at(-1);
  const { enableLargeBatchSplitting: split, maxExecutionBatchSize } = parameters;
  if (last !== undefined && wrong < 0 && last !== maxExecutionBatchSize) {
    const name = split ? 'max_execution_batch_size' : 'max_batch_size';
    const expected = `expected the last to be ${name}, ${maxExecutionBatchSize}`;
    say('allowed_batch_sizes', `${expected}, got ${last}`, sizes.length - 1);
  }
  return problems;
}

/** Engine settings of base-path models, from TensorFlow Serving's parameters. */
export function batchingSettings(parameters: BatchingParameters): Partial<ModelSpec> {
  const { maxBatchSize, maxEnqueuedBatches } = parameters;
  const batch: BatchPolicy = {
    ...NO_BATCHING,
    mode: 'on',
    rowsMax: parameters.maxExecutionBatchSize,
    requestRowsMax: parameters.enableLargeBatchSplitting ? 0 : maxBatchSize,
    allowedRows: parameters.allowedBatchSizes,
    delayUs: parameters.batchTimeoutMicros,
    padInner: parameters.padVariableLengthInputs,
    split: parameters.enableLargeBatchSplitting,
    onlyIfBatchable: true,
  };
  const queueRequestsMax = Math.min(maxEnqueuedBatches * maxBatchSize, QUEUE_REQUESTS_MAX);
  return { instances: parameters.numBatchThreads, queueRequestsMax, batch };
}
