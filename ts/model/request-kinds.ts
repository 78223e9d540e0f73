// The kinds of requests that the engine decodes, as constants. Data only; any thread.
import { Protocol } from '../base/generated/engine.js';

export const V1_PREDICT = Protocol.V1Predict;
export const V2_REST = Protocol.V2Rest;
export const V2_GRPC = Protocol.V2Grpc;
export const V2_GRPC_STREAM = Protocol.V2GrpcStream;
export const TF_PREDICT = Protocol.TfPredict;
export const TF_CLASSIFY = Protocol.TfClassify;
export const TF_REGRESS = Protocol.TfRegress;
export const TF_MULTI_INFERENCE = Protocol.TfMultiInference;
export const V1_CLASSIFY = Protocol.V1Classify;
export const V1_REGRESS = Protocol.V1Regress;

/** Kinds of messages that name their model inside. */
export type MessageProtocol =
  | Protocol.V2Grpc
  | Protocol.V2GrpcStream
  | Protocol.TfPredict
  | Protocol.TfClassify
  | Protocol.TfRegress
  | Protocol.TfMultiInference;
