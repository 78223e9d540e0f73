// Extracts the requests from one record of a TensorFlow Serving warmup file, a
// tensorflow.serving.PredictionLog: the messages as they were recorded, which the engine reads.
// Only MultiInference is split, into the classify and regress requests of its tasks. Control plane;
// pure. Source: tfserving.md 2 (messages), 3.6 (which kinds are run).
import { PREDICTION_LOG, PREDICT_LOG } from '../../protobuf/generated/prediction-log-fields.js';
import { CLASSIFY_METHOD } from '../../base/signatures.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import {
  TF_CLASSIFY,
  TF_PREDICT,
  TF_REGRESS,
  type MessageProtocol,
} from '../../model/request-kinds.js';
import { checkTasks, readMultiInference, taskRequest } from '../../protobuf/serving-messages.js';
import { WireReader } from '../../protobuf/reader.js';

/** A request for one run. Its model name, version and label are ignored. */
export interface RecordedRequest {
  readonly protocol: MessageProtocol;
  readonly message: Uint8Array;
}

const LOG_KINDS: Readonly<Record<number, string>> = {
  [PREDICTION_LOG.classifyLog]: 'classify_log',
  [PREDICTION_LOG.regressLog]: 'regress_log',
  [PREDICTION_LOG.multiInferenceLog]: 'multi_inference_log',
  [PREDICTION_LOG.sessionRunLog]: 'session_run_log',
  [PREDICTION_LOG.predictLog]: 'predict_log',
  [PREDICTION_LOG.predictStreamedLog]: 'predict_streamed_log',
};
const RUN_KINDS: Readonly<Record<number, string>> = {
  [PREDICTION_LOG.classifyLog]: 'ClassifyLog',
  [PREDICTION_LOG.regressLog]: 'RegressLog',
  [PREDICTION_LOG.multiInferenceLog]: 'MultiInferenceLog',
  [PREDICTION_LOG.predictLog]: 'PredictLog',
};

interface Log {
  readonly kind: number;
  readonly request: Uint8Array;
}

/**
 * The requests of `record`, in order; one, except for MultiInference. Errors: Unimplemented for the
 * kinds that TensorFlow Serving does not run either; ModelInvalid (no such message); for
 * MultiInference also InvalidArgument and Unimplemented (its tasks).
 */
export function recordedRequests(record: Uint8Array): readonly RecordedRequest[] {
  const { kind, request } = readPredictionLog(new WireReader(record, 'PredictionLog'));
  switch (kind) {
    case PREDICTION_LOG.predictLog:
      return [{ protocol: TF_PREDICT, message: request }];
    case PREDICTION_LOG.classifyLog:
      return [{ protocol: TF_CLASSIFY, message: request }];
    case PREDICTION_LOG.regressLog:
      return [{ protocol: TF_REGRESS, message: request }];
    default:
      return taskRequests(request);
  }
}

function taskRequests(message: Uint8Array): readonly RecordedRequest[] {
  const { tasks, inputs } = readMultiInference(new WireReader(message, 'MultiInferenceRequest'));
  if (tasks.length === 0) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      'multi_inference_log: expected at least one task, got none',
    );
  }
  checkTasks(tasks);
  return tasks.map((task) => ({
    protocol: task.method === CLASSIFY_METHOD ? TF_CLASSIFY : TF_REGRESS,
    message: taskRequest(task, inputs),
  }));
}

/** The last kind wins, as in any oneof; repeated occurrences of one kind are merged. */
function readPredictionLog(reader: WireReader): Log {
  let kind = 0;
  let requests: Uint8Array[] = [];
  while (reader.next()) {
    if (LOG_KINDS[reader.field] === undefined) {
      reader.skip();
      continue;
    }
    if (reader.field !== kind) requests = [];
    kind = reader.field;
    const name = RUN_KINDS[kind];
    if (name === undefined) reader.skip();
    else readLog(reader.nested(name), requests);
  }
  if (kind === 0) {
    throw new ServalError(ErrorCode.Unimplemented, 'the PredictionLog contains no request');
  }
  if (RUN_KINDS[kind] === undefined) {
    throw new ServalError(
      ErrorCode.Unimplemented,
      `${LOG_KINDS[kind]} cannot be used for warmup; ` +
        'expected predict_log, classify_log, regress_log or multi_inference_log',
    );
  }
  const [only] = requests;
  return { kind, request: requests.length === 1 && only ? only : Buffer.concat(requests) };
}

/** {request = 1}: its occurrences, which merge into one message if concatenated. */
function readLog(reader: WireReader, requests: Uint8Array[]): void {
  while (reader.next()) {
    if (reader.field === PREDICT_LOG.request) requests.push(reader.view());
    else reader.skip();
  }
}
