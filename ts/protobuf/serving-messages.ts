// TensorFlow Serving's messages, as far as several parts of the server read them: ModelSpec, and a
// recorded MultiInferenceRequest, which warm-up splits into one request for each of its tasks (the
// engine serves those of clients). Tensors and examples keep their bytes. Control plane, any
// thread; pure. Source: tfserving.md 2.
import { INT64_VALUE } from './generated/wrappers-fields.js';
import {
  MODEL_SPEC,
  MULTI_INFERENCE_REQUEST,
  INFERENCE_TASK,
  CLASSIFICATION_REQUEST,
} from './generated/tensorflow-serving-fields.js';
import { MULTI_INFERENCE_TASKS_MAX } from '../base/limits.js';
import { CLASSIFY_METHOD, DEFAULT_SIGNATURE, REGRESS_METHOD } from '../base/signatures.js';
import { ErrorCode, ServalError } from '../base/errors.js';
import { ProtobufWriter } from './writer.js';
import type { WireReader } from './reader.js';

/** tensorflow.serving.ModelSpec. At most one of version (decimal text) and label is set. */
export interface ModelSpecMessage {
  name: string;
  version: string | undefined;
  label: string | undefined;
  /** "" = serving_default. */
  signature: string;
}

export function emptyModelSpec(): ModelSpecMessage {
  return { name: '', version: undefined, label: undefined, signature: '' };
}

/**
 * Reads one occurrence of a ModelSpec into `spec`: repeated occurrences are merged; the last
 * version or label wins. Errors: the reader's.
 */
export function readModelSpec(reader: WireReader, spec: ModelSpecMessage): void {
  while (reader.next()) {
    switch (reader.field) {
      case MODEL_SPEC.name:
        spec.name = reader.string();
        break;
      case MODEL_SPEC.version:
        spec.version = readInt64Value(reader.nested('Int64Value'), spec.version ?? '0');
        spec.label = undefined;
        break;
      case MODEL_SPEC.signatureName:
        spec.signature = reader.string();
        break;
      case MODEL_SPEC.versionLabel:
        spec.label = reader.string();
        spec.version = undefined;
        break;
      default:
        reader.skip();
    }
  }
}

function readInt64Value(reader: WireReader, before: string): string {
  let value = before;
  while (reader.next()) {
    if (reader.field === INT64_VALUE.value) value = reader.int64().toString();
    else reader.skip();
  }
  return value;
}

/** The fields of a ModelSpec; `version` is decimal text, undefined = none. */
export function writeModelSpec(
  writer: ProtobufWriter,
  name: string,
  version: string | undefined,
  signature: string,
): void {
  if (name !== '') writer.string(MODEL_SPEC.name, name);
  if (version !== undefined) {
    writer.message(MODEL_SPEC.version, (value) => {
      if (version !== '0') value.varint(INT64_VALUE.value, BigInt(version));
    });
  }
  if (signature !== '') writer.string(MODEL_SPEC.signatureName, signature);
}

/** One InferenceTask. */
export interface InferenceTask {
  readonly spec: ModelSpecMessage;
  readonly method: string;
}

export interface MultiInference {
  readonly tasks: readonly InferenceTask[];
  /** The occurrences of the field `input`: Input messages, to be merged into one. */
  readonly inputs: readonly Uint8Array[];
}

/** Errors: the reader's; InvalidArgument: too many tasks. */
export function readMultiInference(reader: WireReader): MultiInference {
  const tasks: InferenceTask[] = [];
  const inputs: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === MULTI_INFERENCE_REQUEST.tasks) {
      if (tasks.length === MULTI_INFERENCE_TASKS_MAX) {
        throw new ServalError(
          ErrorCode.InvalidArgument,
          `MultiInferenceRequest: expected at most ${MULTI_INFERENCE_TASKS_MAX} tasks, got more`,
        );
      }
      tasks.push(readTask(reader.nested('InferenceTask')));
    } else if (reader.field === MULTI_INFERENCE_REQUEST.input) {
      inputs.push(reader.view());
    } else {
      reader.skip();
    }
  }
  return { tasks, inputs };
}

function readTask(reader: WireReader): InferenceTask {
  const spec = emptyModelSpec();
  let method = '';
  while (reader.next()) {
    if (reader.field === INFERENCE_TASK.modelSpec) readModelSpec(reader.nested('ModelSpec'), spec);
    else if (reader.field === INFERENCE_TASK.methodName) method = reader.string();
    else reader.skip();
  }
  return { spec, method };
}

/**
 * TensorFlow Serving's checks of the tasks, in its order and with its texts. The existing
 * signatures are not known here. Errors: InvalidArgument, Unimplemented.
 */
export function checkTasks(tasks: readonly InferenceTask[]): void {
  const seen = new Set<string>();
  for (const { spec, method } of tasks) {
    if (spec.name === '') {
      throw new ServalError(ErrorCode.InvalidArgument, 'Found ModelSpec with an empty model name.');
    }
    if (spec.name !== tasks[0]?.spec.name) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        'All ModelSpecs in a ' + 'MultiInferenceRequest must access the same model name.',
      );
    }
    const signature = spec.signature || DEFAULT_SIGNATURE;
    if (seen.has(signature)) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `Duplicate evaluation of signature: ${signature}`,
      );
    }
    seen.add(signature);
    if (method !== CLASSIFY_METHOD && method !== REGRESS_METHOD) {
      throw new ServalError(
        ErrorCode.Unimplemented,
        `Unsupported signature method_name: ${method}`,
      );
    }
  }
}

/** A ClassificationRequest or RegressionRequest (they have the same form) for one task. */
export function taskRequest({ spec }: InferenceTask, inputs: readonly Uint8Array[]): Uint8Array {
  const writer = new ProtobufWriter();
  writer.message(CLASSIFICATION_REQUEST.modelSpec, (one) =>
    writeModelSpec(one, spec.name, undefined, spec.signature),
  );
  for (const input of inputs) writer.bytes(CLASSIFICATION_REQUEST.input, input);
  return writer.concat();
}
