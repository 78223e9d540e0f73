// The kinds of requests that the engine reads. Data only; any thread.

/** Request kinds; native/engine/protocol.h has the same numbers. */
export const V1_PREDICT = 0;
export const V2_REST = 1;
export const V2_GRPC = 2;
export const V2_GRPC_STREAM = 3;
export const TF_PREDICT = 4;
export const TF_CLASSIFY = 5;
export const TF_REGRESS = 6;
export const V1_CLASSIFY = 7;
export const V1_REGRESS = 8;

/** Kinds of messages that name their model inside. */
export type MessageProtocol =
  | typeof V2_GRPC
  | typeof V2_GRPC_STREAM
  | typeof TF_PREDICT
  | typeof TF_CLASSIFY
  | typeof TF_REGRESS;
