// Names of the gRPC services that clients call and the server offers. Any plane, any thread; data
// only. Source: proto/wire/inference.proto, proto/wire/tensorflow_serving.proto.

export const INFERENCE_SERVICE = 'inference.GRPCInferenceService';
export const PREDICTION_SERVICE = 'tensorflow.serving.PredictionService';
export const MODEL_SERVICE = 'tensorflow.serving.ModelService';
export const SESSION_SERVICE = 'tensorflow.serving.SessionService';
