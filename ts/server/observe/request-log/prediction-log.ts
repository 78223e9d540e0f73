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

/** Of the messages that TensorFlow Serving has, the log that they go into. */
const AS_THEY_ARE: ReadonlyMap<number, number> = new Map([
  [Protocol.TfPredict, PREDICT_LOG],
  [Protocol.TfClassify, CLASSIFY_LOG],
  [Protocol.TfRegress, REGRESS_LOG],
  [Protocol.TfMultiInference, MULTI_INFERENCE_LOG],
]);
/** Of all others, which the engine makes such messages of. */
const MADE: ReadonlyMap<number, number> = new Map([
  [Protocol.V1Classify, CLASSIFY_LOG],
  [Protocol.V1Regress, REGRESS_LOG],
]);

/** What a request comes to: a record; none, since it failed; or why none can be made of it. */
export type LoggedForm =
  | { readonly kind: 'record'; readonly bytes: Uint8Array }
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly reason: string };

/** The request as it was sent with its answer, or the two messages that the engine made of those of
 * other protocols. What failed would fail as a warm-up too: none.
 * `samplingRate`: what the record says of it. */
export function predictionLog(request: LoggedRequest, samplingRate: number): LoggedForm {
  if (request.code !== ErrorCode.Ok) return { kind: 'none' };
  const asItIs = AS_THEY_ARE.get(request.protocol);
  const log = asItIs ?? MADE.get(request.protocol) ?? PREDICT_LOG;
  if (asItIs === undefined && request.tensorflow.length === 0) {
    return { kind: 'fault', reason: request.tensorflowFault || 'it was not asked for in time' };
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
