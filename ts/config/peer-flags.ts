// The flags of TensorFlow Serving and Triton that are taken with a warning. Control plane, start-up
// only. Data only; ts/config/config.ts reads it.

/** A flag of TensorFlow Serving or Triton that means nothing here. It is taken with a warning, so
 * that a deployment moves with the command line it has. Flags that would make a server less open
 * than it is (TLS, restricted calls) are not among them: those stay errors. */
export interface PeerFlag {
  readonly name: string;
  readonly takesValue: boolean;
  readonly why: string;
}

const peers = (
  takesValue: boolean,
  why: string,
  ...names: readonly string[]
): readonly PeerFlag[] => names.map((name) => ({ name, takesValue, why }));

export const PEER_FLAGS: readonly PeerFlag[] = [
  ...peers(
    true,
    'requests hold no thread while they wait',
    'rest-api-num-threads',
    'grpc-max-threads',
    'grpc-infer-thread-count',
  ),
  ...peers(true, 'unloads have threads of their own', 'num-unload-threads'),
  ...peers(false, 'files are read once', 'flush-filesystem-caches'),
  ...peers(
    true,
    'one thread pool is shared by all models',
    'tensorflow-session-parallelism',
    'tensorflow-session-config-file',
    'platform-config-file',
    'thread-pool-factory-config-file',
    'rate-limit',
    'buffer-manager-thread-count',
  ),
  ...peers(
    true,
    'ONNX Runtime takes GPU memory as it needs it',
    'per-process-gpu-memory-fraction',
    'pinned-memory-pool-byte-size',
    'cuda-memory-pool-byte-size',
    'min-supported-compute-capability',
  ),
  ...peers(true, "grpc-js's own settings hold", 'grpc-channel-arguments'),
  ...peers(
    false,
    'there is no TensorFlow here',
    'remove-unused-fields-from-bundle-metagraph',
    'enable-profiler',
    'skip-initialize-tpu',
    'xla-cpu-compilation-enabled',
    'xla-gpu-compilation-enabled',
  ),
  ...peers(false, 'the health service is always there', 'enable-grpc-healthcheck-service'),
  ...peers(true, 'backends are built in', 'backend-directory', 'backend-config'),
  ...peers(true, 'metrics are read when they are asked for', 'metrics-interval-ms'),
  ...peers(true, 'see --log-level', 'log-verbose', 'log-info', 'log-warning', 'log-error'),
];
