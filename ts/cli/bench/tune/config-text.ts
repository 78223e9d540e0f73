// Settings as files: config.pbtxt, and TensorFlow Serving's batching parameters. Control plane;
// pure. Source: v2-protocol.md 11, tfserving.md 3.5.
import type { TunedSettings } from '../types.js';

/** Batches that may wait: TensorFlow Serving's default of 10 refuses requests of a full load. */
const ENQUEUED_BATCHES = 100;

/** ONNX Runtime's threads of a session, by the name that Triton's backend has for them. */
export const THREADS_PARAMETER = 'intra_op_thread_count';

/** A string of text proto. */
const quoted = (text: string): string =>
  `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;

/** A config.pbtxt by which a model is served with `settings`. `notes`: comments above it; a
 * setting that is undefined is left out, so that the server's default holds. */
export function configText(
  settings: TunedSettings,
  name: string,
  notes: readonly string[] = [],
): string {
  const said = notes.map((note) => `# ${note.replaceAll(/\s+/g, ' ')}`);
  return `${[...said, `name: ${quoted(name)}`, ...settingBlocks(settings)].join('\n')}\n`;
}

/** The fields of what is set. */
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

/** A file for --batching-parameters-file of Serval and tensorflow_model_server, with the flags that
 * go with it as a comment; undefined where `settings` have no batches. `cores`: what TensorFlow
 * Serving has threads for, where `settings` does not say. */
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
