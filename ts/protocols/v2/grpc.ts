// V2 over gRPC: inference.GRPCInferenceService. The metadata calls respond from the registry's
// snapshot; the engine serves ModelInfer and ModelStreamInfer, except for some error texts. The
// listener's thread. Source: proto/wire/inference.proto; statuses:
// docs/reference/protocols/v2-rest.md.
import { INFERENCE_SERVICE } from '../../base/services.js';
import { HEALTH, INFERENCE, METADATA } from '../../access/groups.js';
import { V2_GRPC } from '../../model/request-kinds.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import type { GrpcService } from '../../listeners/grpc/call.js';
import type { EngineReadings } from '../engine-readings.js';
import { inferStatus } from '../grpc/infer.js';
import { answering, answeringSeen, engineMethod, type StatusOf } from '../grpc/unary.js';
import {
  extensionsOf,
  SERVER_NAME,
  isModelReady,
  isServerReady,
  modelMetadata,
  type ServerFacts,
} from './documents.js';
import {
  CONTROL_CALL_KINDS,
  controlCalls,
  readNameVersion,
  type GrpcControlOptions,
} from './grpc-control.js';
import { STREAM_METHOD, V2_WORDING } from './grpc-stream.js';
import { missingError } from './lookup.js';
import {
  MODEL_METADATA_RESPONSE,
  MODEL_READY_RESPONSE,
  SERVER_LIVE_RESPONSE,
  SERVER_METADATA_RESPONSE,
  SERVER_READY_RESPONSE,
} from '../../protobuf/generated/inference.js';
import { exactReader } from '../../protobuf/reader.js';
import { encodeMessage } from '../../protobuf/schema-write.js';

export interface InferenceServiceOptions extends GrpcControlOptions, ServerFacts {
  /** The snapshot for readiness. */
  readonly shown: () => RegistrySnapshot;
}

// ServerLiveRequest and similar messages have no fields; unknown ones are skipped, malformed ones
// refused.
function readEmpty(message: Buffer, name: string): void {
  const reader = exactReader(message, name);
  while (reader.next()) reader.skip();
}

function modelMetadataMessage(snapshot: RegistrySnapshot, message: Buffer): Buffer {
  const { name, version } = readNameVersion(message, 'ModelMetadataRequest');
  return encodeMessage(modelMetadata(snapshot, name, version), MODEL_METADATA_RESPONSE);
}

function modelReadyMessage(
  snapshot: RegistrySnapshot,
  readings: EngineReadings,
  message: Buffer,
): Buffer {
  const { name, version } = readNameVersion(message, 'ModelReadyRequest');
  const ready = isModelReady(snapshot, name, version, (...of) => readings.outage(...of));
  return encodeMessage({ ready }, MODEL_READY_RESPONSE);
}

/** inferStatus() that also names the missing model or version, and why. */
function explainingStatus(snapshot: () => RegistrySnapshot): StatusOf {
  return (error) => {
    const { code, missing } = error;
    return inferStatus(missing === undefined ? error : missingError(snapshot(), code, missing));
  };
}

/** The service, for a gRPC listener. */
export function inferenceService(options: InferenceServiceOptions): GrpcService {
  const { snapshot, shown, readings } = options;
  const explained = explainingStatus(snapshot);
  const serverMetadata = encodeMessage(
    { name: SERVER_NAME, version: options.serverVersion, extensions: extensionsOf(options) },
    SERVER_METADATA_RESPONSE,
  );
  return {
    name: INFERENCE_SERVICE,
    unary: {
      ServerLive: answering((message) => {
        readEmpty(message, 'ServerLiveRequest');
        return encodeMessage({ live: true }, SERVER_LIVE_RESPONSE);
      }),
      ServerReady: answering((message) => {
        readEmpty(message, 'ServerReadyRequest');
        return encodeMessage({ ready: isServerReady(shown()) }, SERVER_READY_RESPONSE);
      }),
      ModelReady: answering((message) => modelReadyMessage(shown(), readings, message)),
      ServerMetadata: answering((message) => {
        readEmpty(message, 'ServerMetadataRequest');
        return serverMetadata;
      }),
      ModelMetadata: answeringSeen(options.control, snapshot, modelMetadataMessage),
      ...controlCalls(options),
    },
    streams: {},
    calls: {
      ServerLive: HEALTH,
      ServerReady: HEALTH,
      ModelReady: HEALTH,
      ServerMetadata: METADATA,
      ModelMetadata: METADATA,
      ModelInfer: INFERENCE,
      ModelStreamInfer: INFERENCE,
      ...CONTROL_CALL_KINDS,
    },
    engine: {
      ModelInfer: engineMethod(V2_GRPC, V2_WORDING, explained),
      ModelStreamInfer: STREAM_METHOD,
    },
  };
}
