// Common part of TensorFlow Serving's rpcs: their context, reading a message that names its model,
// and mapping an error to a status. Control plane; the gRPC listener's thread. Source: tfserving.md
// 1.10, 2.
import { PREDICT_REQUEST } from '../../protobuf/generated/tensorflow-serving-fields.js';
import type { ModelControl } from '../control.js';
import { ERRORS, ErrorCode, ServalError } from '../../base/errors.js';
import type { Missing } from '../../engine/missing.js';
import type { ProtobufWriter } from '../../protobuf/writer.js';
import {
  emptyModelSpec,
  readModelSpec,
  type ModelSpecMessage,
} from '../../protobuf/serving-messages.js';
import { WireReader } from '../../protobuf/reader.js';
import type { RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import { GrpcStatus, type EngineWording } from '../../listeners/grpc/call.js';
import type { EngineReadings } from '../engine-readings.js';
import type { GrpcInfer, InferError } from '../grpc/infer.js';
import type { StatusOf } from '../grpc/unary.js';
import {
  MISSING_SENTENCES,
  findServable,
  notFoundText,
  unknownLabelText,
  withBlockedReason,
  QUEUE_FULL,
} from './documents.js';

export interface ServingOptions {
  readonly snapshot: () => RegistrySnapshot;
  /** The snapshot for readiness. */
  readonly shown: () => RegistrySnapshot;
  readonly infer: GrpcInfer;
  readonly control: ModelControl;
  readonly readings: EngineReadings;
}

/** Maximum UTF-8 bytes of a status text; longer ones are cut. Source: grpc_status_util.cc. */
const MESSAGE_BYTES_MAX = 1024;
const CUT_MARK = '...TRUNCATED';

/** A reader whose errors blame the client. */
export function requestReader(message: Uint8Array, name: string): WireReader {
  return new WireReader(message, name, 0, ErrorCode.MalformedBody);
}

/** `text` cut to at most 1024 bytes plus the mark, between characters. */
export function truncated(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MESSAGE_BYTES_MAX) return text;
  let end = MESSAGE_BYTES_MAX;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + CUT_MARK;
}

/** The gRPC status of an error, with TensorFlow Serving's text if it has one. */
export function servingStatus({ code, message }: InferError): GrpcStatus {
  const text = code === ErrorCode.QueueFull ? `${QUEUE_FULL}: ${message}` : message;
  return new GrpcStatus(ERRORS[code].grpc, truncated(text));
}

/** The field model_spec (1) of a request, which must exist and have a name. */
export function requireSpec(spec: ModelSpecMessage | undefined): ModelSpecMessage {
  if (spec === undefined) throw new ServalError(ErrorCode.InvalidArgument, 'Missing ModelSpec');
  if (spec.name !== '') return spec;
  throw new ServalError(ErrorCode.InvalidArgument, 'ModelSpec has no name specified.');
}

/**
 * Reads every field of a request; field 1 is its ModelSpec, `other` reads or skips the rest.
 * Returns undefined if there is no ModelSpec. Errors: MalformedBody.
 */
export function readRequest(
  message: Uint8Array,
  name: string,
  other: (reader: WireReader) => void,
): ModelSpecMessage | undefined {
  const reader = requestReader(message, name);
  let spec: ModelSpecMessage | undefined;
  while (reader.next()) {
    if (reader.field === PREDICT_REQUEST.modelSpec) {
      spec ??= emptyModelSpec();
      readModelSpec(reader.nested('ModelSpec'), spec);
    } else {
      other(reader);
    }
  }
  return spec;
}

/** The same for errors whose text the engine makes. */
export const SERVING_WORDING: EngineWording = {
  queueFull: `${QUEUE_FULL}: `,
  bytesMax: MESSAGE_BYTES_MAX,
  cutMark: CUT_MARK,
  missing: MISSING_SENTENCES,
};

/** servingStatus() that also names what the engine could not find, and why it is not served. */
export function explainingStatus(snapshot: () => RegistrySnapshot): StatusOf {
  return (error) => {
    const { missing } = error;
    return servingStatus(missing === undefined ? error : explained(error, missing, snapshot()));
  };
}

function explained(
  { code, message }: InferError,
  { part, model, version, label, signature }: Missing,
  snapshot: RegistrySnapshot,
): InferError {
  if (part === 'label') return { code, message: unknownLabelText(label) };
  const target = { name: model, version: version === '' ? undefined : version };
  let served: VersionSnapshot | undefined;
  try {
    served = findServable(snapshot, target);
  } catch (problem) {
    if (problem instanceof ServalError && problem.code === code) return problem;
    // The model was removed meanwhile: the error is kept unchanged.
  }
  const isSignature = part === 'signature';
  const text = isSignature ? withBlockedReason(served, message, signature) : notFoundText(target);
  return { code, message: text };
}

/** A finished message, as gRPC sends it. */
export function messageBuffer(writer: ProtobufWriter): Buffer {
  const bytes = writer.concat();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
