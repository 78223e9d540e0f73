// Logged requests as tensorflow.serving.PredictionLog. Control plane, main thread; pure.
// Source: tfserving.md 2 "PredictionLog", "LogMetadata".
import { ErrorCode } from '../../../base/errors.js';
import type { LoggedRequest } from '../../../base/generated/engine.js';
import { Protocol } from '../../../base/generated/engine.js';
import { writeModelSpec } from '../../../protobuf/serving-messages.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';

const CLASSIFY_LOG = 2;
const REGRESS_LOG = 3;
const MULTI_INFERENCE_LOG = 4;
const PREDICT_LOG = 6;

/** Request messages that TensorFlow Serving has, with the log field that holds each. */
const AS_THEY_ARE: ReadonlyMap<number, number> = new Map([
  [Protocol.TfPredict, PREDICT_LOG],
  [Protocol.TfClassify, CLASSIFY_LOG],
  [Protocol.TfRegress, REGRESS_LOG],
  [Protocol.TfMultiInference, MULTI_INFERENCE_LOG],
]);
/** All other protocols, whose requests the engine converts to such messages. */
const MADE: ReadonlyMap<number, number> = new Map([
  [Protocol.V1Classify, CLASSIFY_LOG],
  [Protocol.V1Regress, REGRESS_LOG],
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
  const log = asItIs ?? MADE.get(request.protocol) ?? PREDICT_LOG;
  if (asItIs === undefined && request.tensorflow.length === 0) {
    return { kind: 'fault', reason: request.tensorflowFault || 'it was not read in time' };
  }
  const writer = new ProtobufWriter();
  writer.message(1, (metadata) => {
    metadata.message(1, (spec) => writeModelSpec(spec, request.model, request.version, ''));
    metadata.message(2, (sampling) => sampling.double(1, samplingRate));
    metadata.varint(4, Math.floor(request.timeMs / 1000));
  });
  if (asItIs === undefined) {
    writer.bytes(log, request.tensorflow);
  } else {
    writer.message(log, (pair) => {
      pair.bytes(1, request.request);
      pair.bytes(2, request.response);
    });
  }
  return { kind: 'record', bytes: writer.concat() };
}
