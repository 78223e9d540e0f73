// TensorFlow Serving over gRPC: PredictionService, ModelService and SessionService. The engine
// serves Predict, Classify, Regress and MultiInference, except for some error texts; the others
// respond from the registry's snapshot, or through the engine with messages made here. The
// listener's thread. Source: tfserving.md 2; docs/reference/protocols/tf-grpc.md.
import { MODEL_SERVICE, PREDICTION_SERVICE, SESSION_SERVICE } from '../../base/services.js';
import { CONTROL_CHANGE, INFERENCE, METADATA } from '../../access/groups.js';
import {
  TF_CLASSIFY,
  TF_MULTI_INFERENCE,
  TF_PREDICT,
  TF_REGRESS,
} from '../../model/request-kinds.js';
import type { GrpcService } from '../../listeners/grpc/call.js';
import { answering, answeringSeen, answeringLater, engineMethod } from '../grpc/unary.js';
import { modelMetadata } from './grpc-metadata.js';
import { modelStatus, reloadConfig } from './grpc-models.js';
import { sessionRun } from './grpc-session.js';
import {
  explainingStatus,
  SERVING_WORDING,
  servingStatus,
  type ServingOptions,
} from './grpc-spec.js';

export type { ServingOptions } from './grpc-spec.js';

export const SERVING_SERVICES: readonly string[] = [
  PREDICTION_SERVICE,
  MODEL_SERVICE,
  SESSION_SERVICE,
];

/** Their names in TensorFlow Serving's health service. */
export const SERVING_HEALTH_NAMES: readonly string[] = ['PredictionService', 'ModelService'];

/** The services, for a gRPC listener. */
export function servingServices(options: ServingOptions): readonly GrpcService[] {
  const { snapshot, shown } = options;
  const explained = explainingStatus(snapshot);
  return [
    {
      name: PREDICTION_SERVICE,
      unary: {
        GetModelMetadata: answeringSeen(options.control, snapshot, modelMetadata, servingStatus),
      },
      streams: {},
      calls: {
        Predict: INFERENCE,
        Classify: INFERENCE,
        Regress: INFERENCE,
        MultiInference: INFERENCE,
        GetModelMetadata: METADATA,
      },
      engine: {
        Predict: engineMethod(TF_PREDICT, SERVING_WORDING, explained),
        Classify: engineMethod(TF_CLASSIFY, SERVING_WORDING, explained),
        Regress: engineMethod(TF_REGRESS, SERVING_WORDING, explained),
        MultiInference: engineMethod(TF_MULTI_INFERENCE, SERVING_WORDING, explained),
      },
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
      calls: { GetModelStatus: METADATA, HandleReloadConfigRequest: CONTROL_CHANGE },
    },
    {
      name: SESSION_SERVICE,
      unary: { SessionRun: sessionRun(options) },
      streams: {},
      calls: { SessionRun: INFERENCE },
    },
  ];
}
