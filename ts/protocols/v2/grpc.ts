// V2 over gRPC: inference.GRPCInferenceService. The metadata calls answer from the registry's
// snapshot; ModelInfer and ModelStreamInfer hand the raw message to the engine. Hot plane: the
// listener's thread. Builds no protobuf object for an inference.
// Source: proto/wire/inference.proto; statuses: docs/protocols/v2-rest.md.
import { V2_GRPC } from '../../model/request-kinds.js';
import type { RegistrySnapshot, TensorInfo } from '../../model/snapshot.js';
import type { GrpcService } from '../../transport/grpc-call.js';
import { inferStatus, type GrpcInfer } from '../grpc/infer.js';
import { answering, inferring, type StatusOf } from '../grpc/unary.js';
import {
  EXTENSIONS,
  SERVER_NAME,
  isModelReady,
  isServerReady,
  modelMetadata,
  shownShape,
} from './documents.js';
import { controlCalls, readNameVersion, type GrpcControlOptions } from './grpc-control.js';
import { InferStream } from './grpc-stream.js';
import { missingError } from './lookup.js';
import {
  WireReader,
  bytesField,
  int64sField,
  stringField,
  stringFields,
  varintField,
} from '../../protobuf/small-messages.js';

export type { GrpcInfer, InferDone, InferError } from '../grpc/infer.js';

export const INFERENCE_SERVICE = 'inference.GRPCInferenceService';

export interface InferenceServiceOptions extends GrpcControlOptions {
  /** What is said of readiness. */
  readonly shown: () => RegistrySnapshot;
  readonly infer: GrpcInfer;
  readonly serverVersion: string;
}

// ServerLiveRequest and its like have no fields; unknown ones are passed over, broken ones refused.
function readEmpty(message: Buffer, name: string): void {
  const reader = new WireReader(message, name);
  while (reader.next()) reader.skip();
}

const tensorMessage = (field: number, tensor: TensorInfo): Buffer =>
  bytesField(
    field,
    Buffer.concat([
      stringField(1, tensor.name),
      stringField(2, tensor.datatype),
      int64sField(3, shownShape(tensor)),
    ]),
  );

function modelMetadataMessage(snapshot: RegistrySnapshot, message: Buffer): Buffer {
  const { name, version } = readNameVersion(message, 'ModelMetadataRequest');
  const metadata = modelMetadata(snapshot, name, version);
  return Buffer.concat([
    stringField(1, metadata.name),
    stringFields(2, metadata.versions),
    stringField(3, metadata.platform),
    ...metadata.inputs.map((tensor) => tensorMessage(4, tensor)),
    ...metadata.outputs.map((tensor) => tensorMessage(5, tensor)),
  ]);
}

function modelReadyMessage(snapshot: RegistrySnapshot, message: Buffer): Buffer {
  const { name, version } = readNameVersion(message, 'ModelReadyRequest');
  return varintField(1, isModelReady(snapshot, name, version));
}

/** inferStatus() that also words which model or version is missing, and why. */
function explainingStatus(snapshot: () => RegistrySnapshot): StatusOf {
  return (error) => {
    const { code, missing } = error;
    return inferStatus(missing === undefined ? error : missingError(snapshot(), code, missing));
  };
}

/** The service, ready to be handed to a gRPC listener. */
export function inferenceService(options: InferenceServiceOptions): GrpcService {
  const { snapshot, shown, infer } = options;
  const serverMetadata = Buffer.concat([
    stringField(1, SERVER_NAME),
    stringField(2, options.serverVersion),
    stringFields(3, EXTENSIONS),
  ]);
  return {
    name: INFERENCE_SERVICE,
    unary: {
      ServerLive: answering((message) => {
        readEmpty(message, 'ServerLiveRequest');
        return varintField(1, true);
      }),
      ServerReady: answering((message) => {
        readEmpty(message, 'ServerReadyRequest');
        return varintField(1, isServerReady(shown()));
      }),
      ModelReady: answering((message) => modelReadyMessage(shown(), message)),
      ServerMetadata: answering((message) => {
        readEmpty(message, 'ServerMetadataRequest');
        return serverMetadata;
      }),
      ModelMetadata: answering((message) => modelMetadataMessage(snapshot(), message)),
      ModelInfer: inferring(infer, V2_GRPC, explainingStatus(snapshot)),
      ...controlCalls(options),
    },
    streams: { ModelStreamInfer: (call) => new InferStream(call, infer) },
  };
}
