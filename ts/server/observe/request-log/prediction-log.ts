// Logged requests as tensorflow.serving.PredictionLog. Control plane, main thread; pure.
// Source: tfserving.md 2 "PredictionLog", "LogMetadata".
import { SAMPLING_CONFIG } from '../../../protobuf/generated/tensorflow-serving-fields.js';
import {
  LOG_METADATA,
  PREDICTION_LOG,
  PREDICT_LOG,
} from '../../../protobuf/generated/prediction-log-fields.js';
import { ErrorCode } from '../../../base/errors.js';
import type { LoggedRequest } from '../../../base/generated/engine.js';
import { Protocol } from '../../../base/generated/engine.js';
import { writeModelSpec } from '../../../protobuf/serving-messages.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';

/** Request messages that TensorFlow Serving has, with the log field that holds each. */
const AS_THEY_ARE: ReadonlyMap<number, number> = new Map([
  [Protocol.TfPredict, PREDICTION_LOG.predictLog],
  [Protocol.TfClassify, PREDICTION_LOG.classifyLog],
  [Protocol.TfRegress, PREDICTION_LOG.regressLog],
  [Protocol.TfMultiInference, PREDICTION_LOG.multiInferenceLog],
]);
/** All other protocols, whose requests the engine converts to such messages. */
const MADE: ReadonlyMap<number, number> = new Map([
  [Protocol.V1Classify, PREDICTION_LOG.classifyLog],
  [Protocol.V1Regress, PREDICTION_LOG.regressLog],
]);

/** Result for a request: a record; none, since the request failed; or why it has no record form. */
export type LoggedForm =
  | { readonly kind: 'record'; readonly bytes: Uint8Array }
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly reason: string };

/**
 * The record of the request as sent with its response, or of the two messages that the engine made
 * from those of other protocols. Failed requests have no record: they would also fail as a warm-up.
 * `samplingRate`: stored in the record.
 */
export function predictionLog(request: LoggedRequest, samplingRate: number): LoggedForm {
  if (request.code !== ErrorCode.Ok) return { kind: 'none' };
  const asItIs = AS_THEY_ARE.get(request.protocol);
  const log = asItIs ?? MADE.get(request.protocol) ?? PREDICTION_LOG.predictLog;
  if (asItIs === undefined && request.tensorflow.length === 0) {
    return { kind: 'fault', reason: request.tensorflowFault || 'it was not read in time' };
  }
  const writer = new ProtobufWriter();
  writer.message(PREDICTION_LOG.logMetadata, (metadata) => {
    metadata.message(LOG_METADATA.modelSpec, (spec) =>
      writeModelSpec(spec, request.model, request.version, ''),
    );
    metadata.message(LOG_METADATA.samplingConfig, (sampling) =>
      sampling.double(SAMPLING_CONFIG.samplingRate, samplingRate),
    );
    metadata.varint(LOG_METADATA.timestampSecs, Math.floor(request.timeMs / 1000));
  });
  if (asItIs === undefined) {
    writer.bytes(log, request.tensorflow);
  } else {
    writer.message(log, (pair) => {
      pair.bytes(PREDICT_LOG.request, request.request);
      pair.bytes(PREDICT_LOG.response, request.response);
    });
  }
  return { kind: 'record', bytes: writer.concat() };
}
