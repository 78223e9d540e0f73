// Writes settings as files: config.pbtxt, and TensorFlow Serving's batching parameters. Control
// plane; pure. Source: v2-protocol.md 11, tfserving.md 3.5.
import type { TunedSettings } from '../types.js';

/** Maximum waiting batches: TensorFlow Serving's default of 10 refuses requests at full load. */
const ENQUEUED_BATCHES = 100;

/** ONNX Runtime's threads of a session, by the name in Triton's backend. */
export const THREADS_PARAMETER = 'intra_op_thread_count';

/** A string of text proto. */
const quoted = (text: string): string =>
  `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;

/**
 * A config.pbtxt that serves a model with `settings`. `notes`: comments above it; undefined
 * settings are omitted, so that the server's default applies.
 */
export function configText(
  settings: TunedSettings,
  name: string,
  notes: readonly string[] = [],
): string {
  const said = notes.map((note) => `# ${note.replaceAll(/\s+/g, ' ')}`);
  return `${[...said, `name: ${quoted(name)}`, ...settingBlocks(settings)].join('\n')}\n`;
}

/** The fields of the settings that are set. */
export function settingBlocks(settings: TunedSettings): readonly string[] {
  const { instances, threads, maxBatchSize } = settings;
  return [
    ...(maxBatchSize === undefined ? [] : [`max_batch_size: ${maxBatchSize}`]),
    ...(instances === undefined
      ? []
      : [`instance_group [\n  {\n    count: ${instances}\n    kind: KIND_CPU\n  }\n]`]),
    ...(maxBatchSize === undefined || maxBatchSize === 0 ? [] : [batchingBlock(settings)]),
    ...(threads === undefined ? [] : [parameter(THREADS_PARAMETER, String(threads))]),
  ];
}

function batchingBlock(settings: TunedSettings): string {
  const { preferredBatchSize, maxQueueDelayMicroseconds = 0 } = settings;
  const members = [
    ...(preferredBatchSize === undefined
      ? []
      : [`preferred_batch_size: [ ${preferredBatchSize} ]`]),
    `max_queue_delay_microseconds: ${maxQueueDelayMicroseconds}`,
  ];
  return `dynamic_batching {\n${members.map((member) => `  ${member}\n`).join('')}}`;
}

const parameter = (key: string, value: string): string =>
  `parameters {\n  key: ${quoted(key)}\n  value {\n    string_value: ${quoted(value)}\n  }\n}`;

/**
 * A file for --batching-parameters-file of Serval and tensorflow_model_server, with the necessary
 * flags as a comment; undefined if `settings` have no batches. `cores`: TensorFlow Serving's number
 * of threads if `settings` does not say.
 */
export function batchingParametersText(settings: TunedSettings, cores: number): string | undefined {
  const { instances = 1, threads, maxBatchSize = 0, maxQueueDelayMicroseconds = 0 } = settings;
  if (maxBatchSize === 0) return undefined;
  const parallelism = threads === undefined ? cores : Math.min(cores, threads * instances);
  return [
    '# --enable_batching --batching_parameters_file=FILE ' +
      `--tensorflow_intra_op_parallelism=${parallelism}`,
    `max_batch_size { value: ${maxBatchSize} }`,
    `batch_timeout_micros { value: ${maxQueueDelayMicroseconds} }`,
    `num_batch_threads { value: ${instances} }`,
    `max_enqueued_batches { value: ${ENQUEUED_BATCHES} }`,
    '',
  ].join('\n');
}
