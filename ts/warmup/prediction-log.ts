// Turns one record of a TensorFlow Serving warmup file, a tensorflow.serving.PredictionLog, into a
// V2 ModelInferRequest. Control plane; pure.
// Source: tfserving.md 2 (messages), 3.6 (which kinds are run).
import { ErrorCode, ServalError } from '../errors.js';
import { encodeInferRequest } from './infer-request.js';
import { readTensorProto } from './tensor-proto.js';
import { WireReader } from './wire-reader.js';

const PREDICT_LOG = 6;
const LOG_KINDS: Readonly<Record<number, string>> = {
  2: 'classify_log', 3: 'regress_log', 4: 'multi_inference_log', 5: 'session_run_log',
  6: 'predict_log', 7: 'predict_streamed_log',
};
/** Kinds that TensorFlow Serving runs, and that need a TensorFlow model. */
const TENSORFLOW_KINDS: ReadonlySet<number> = new Set([2, 3, 4]);

const DEFAULT_SIGNATURE = 'serving_default';

interface PredictRequest {
  signature: string;
  /** Alias -> its TensorProto, unread. */
  readonly inputs: Map<string, readonly WireReader[]>;
  readonly outputs: string[];
}

/** The request of `record`, for a model whose only signature is `signature`. Its model name,
 * version and label are ignored.
 * Errors: Unimplemented for other kinds than predict_log; SignatureNotFound; InvalidArgument,
 * Unimplemented (a tensor); ModelInvalid (no such message). */
export function recordedRequest(record: Uint8Array, signature: string): Uint8Array {
  const request = readPredictionLog(new WireReader(record, 'PredictionLog'));
  const asked = request.signature === '' ? DEFAULT_SIGNATURE : request.signature;
  if (asked !== DEFAULT_SIGNATURE && asked !== signature) {
    throw new ServalError(ErrorCode.SignatureNotFound,
      `Serving signature key "${asked}" not found. Expected "${signature}"`);
  }
  const tensors = [...request.inputs].map(([name, readers]) => readTensorProto(readers, name));
  return encodeInferRequest(tensors, request.outputs);
}

function newRequest(): PredictRequest {
  return { signature: '', inputs: new Map(), outputs: [] };
}

/** Of the kinds the last one counts, as in any oneof. */
function readPredictionLog(reader: WireReader): PredictRequest {
  let kind = 0;
  let request = newRequest();
  while (reader.next()) {
    if (LOG_KINDS[reader.field] === undefined) {
      reader.skip();
      continue;
    }
    if (reader.field !== kind) request = newRequest();
    kind = reader.field;
    if (kind === PREDICT_LOG) readPredictLog(reader.nested('PredictLog'), request);
    else reader.skip();
  }
  if (kind !== PREDICT_LOG) throw unimplementedKind(kind);
  return request;
}

function unimplementedKind(kind: number): ServalError {
  const name = LOG_KINDS[kind];
  if (name === undefined) {
    return new ServalError(ErrorCode.Unimplemented, 'the PredictionLog holds no request');
  }
  const why = TENSORFLOW_KINDS.has(kind)
    ? 'comes with TensorFlow models, which this version does not serve yet'
    : 'cannot be used for warmup';
  return new ServalError(ErrorCode.Unimplemented, `${name} ${why}; expected predict_log`);
}

function readPredictLog(reader: WireReader, request: PredictRequest): void {
  while (reader.next()) {
    if (reader.field === 1) readPredictRequest(reader.nested('PredictRequest'), request);
    else reader.skip();
  }
}

function readPredictRequest(reader: WireReader, request: PredictRequest): void {
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        readModelSpec(reader.nested('ModelSpec'), request);
        break;
      case 2:
        readInput(reader.nested('PredictRequest.InputsEntry'), request);
        break;
      case 3:
        request.outputs.push(reader.string());
        break;
      default:
        reader.skip();
    }
  }
}

function readModelSpec(reader: WireReader, request: PredictRequest): void {
  while (reader.next()) {
    if (reader.field === 3) request.signature = reader.string();
    else reader.skip();
  }
}

/** Of entries with one key the last counts, as in any map. */
function readInput(reader: WireReader, request: PredictRequest): void {
  let name = '';
  const values: WireReader[] = [];
  while (reader.next()) {
    if (reader.field === 1) name = reader.string();
    else if (reader.field === 2) values.push(reader.nested('TensorProto'));
    else reader.skip();
  }
  request.inputs.set(name, values);
}
