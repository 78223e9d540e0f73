// TensorFlow Serving's batching parameters. Types only; control plane.

/**
 * TensorFlow Serving's BatchingParameters; absent members have the defaults of tfserving.md 3.5.
 */
export interface BatchingParameters {
  readonly maxBatchSize: number;
  readonly batchTimeoutMicros: number;
  readonly maxEnqueuedBatches: number;
  readonly numBatchThreads: number;
  readonly allowedBatchSizes: readonly number[];
  readonly padVariableLengthInputs: boolean;
  readonly enableLargeBatchSplitting: boolean;
  readonly maxExecutionBatchSize: number;
}
