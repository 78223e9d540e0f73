// TensorFlow Serving over gRPC: PredictionService, ModelService and SessionService. Predict,
// Classify and Regress hand the raw message to the engine; the others answer from the registry's
// snapshot, or through the engine by messages made here. Hot path; the listener's thread.
// Source: tfserving.md 2; docs/protocols/tf-grpc.md.
import { TF_CLASSIFY, TF_PREDICT, TF_REGRESS } from '../../model/request-kinds.js';
import type { GrpcService } from '../../transport/grpc-call.js';
import { answering, answeringLater, inferring } from '../grpc/unary.js';
import { modelMetadata } from './grpc-metadata.js';
import { modelStatus, reloadConfig } from './grpc-models.js';
import { multiInference } from './grpc-multi.js';
import { sessionRun } from './grpc-session.js';
import { explainingStatus, servingStatus, type ServingOptions } from './grpc-spec.js';

export type { ServingOptions } from './grpc-spec.js';

export const PREDICTION_SERVICE = 'tensorflow.serving.PredictionService';
export const MODEL_SERVICE = 'tensorflow.serving.ModelService';
export const SESSION_SERVICE = 'tensorflow.serving.SessionService';

export const SERVING_SERVICES: readonly string[] = [
  PREDICTION_SERVICE,
  MODEL_SERVICE,
  SESSION_SERVICE,
];

/** What TensorFlow Serving's health service calls them. */
export const SERVING_HEALTH_NAMES: readonly string[] = ['PredictionService', 'ModelService'];

/** The services, ready to be handed to a gRPC listener. */
export function servingServices(options: ServingOptions): readonly GrpcService[] {
  const { snapshot, shown, infer } = options;
  const explained = explainingStatus(snapshot);
  return [
    {
      name: PREDICTION_SERVICE,
      unary: {
        Predict: inferring(infer, TF_PREDICT, explained),
        Classify: inferring(infer, TF_CLASSIFY, explained),
        Regress: inferring(infer, TF_REGRESS, explained),
        MultiInference: multiInference(options),
        GetModelMetadata: answering((message) => modelMetadata(snapshot(), message), servingStatus),
      },
      streams: {},
    },
    {
      name: MODEL_SERVICE,
      unary: {
        GetModelStatus: answering((message) => modelStatus(shown(), message), servingStatus),
        HandleReloadConfigRequest: answeringLater(
          (message) => reloadConfig(options, message),
          servingStatus,
        ),
      },
      streams: {},
    },
    { name: SESSION_SERVICE, unary: { SessionRun: sessionRun(options) }, streams: {} },
  ];
}
