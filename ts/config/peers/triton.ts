// All flags of tritonserver 26.x, in the order of its help, and how Serval handles each. Control
// plane; data only. Source: server/src/command_line_parser.cc; v2-protocol.md 3, 10.
import { mapped, noEffect, notHere, works, type PeerFlag } from './row.js';

const NO_PARAMETERS = "headers become request parameters, which Serval's models do not read";
const NO_POOL = 'request memory is pooled by size; --memory-limit limits all of it';
const NO_CUDA_POOL =
  'ONNX Runtime allocates GPU memory as needed; --providers=cuda:gpu_mem_limit=BYTES limits it';
const NO_SAGEMAKER = 'there is no SageMaker endpoint';
const NO_VERTEX = 'there is no Vertex AI endpoint';
const BUILT_IN = 'backends are built in';

const SERVER: readonly PeerFlag[] = [
  noEffect('id', 'NAME', 'the server calls itself "serval" in its metadata', {
    harmless: ['serval'],
  }),
  works('exit-timeout-secs', 'N'),
];

const LOGGING: readonly PeerFlag[] = [
  mapped('log-verbose', 'N', '1 or more is --log-level=debug; at run time: POST v2/logging'),
  mapped('log-info', 'BOOL', 'false is --log-level=warn'),
  mapped('log-warning', 'BOOL', 'false, with --log-info=false, is --log-level=error'),
  mapped('log-error', 'BOOL', 'false, with the two above, is --log-level=off'),
  works('log-format', 'FORMAT', '', "default and ISO8601 are text; json is Serval's"),
  works('log-file', 'FILE'),
];

const REPOSITORY: readonly PeerFlag[] = [
  works('model-store', 'DIR'),
  works('model-repository', 'DIR', '', 'may be repeated'),
  works('exit-on-error', 'BOOL', '', 'default false: valid models are served'),
  works('disable-auto-complete-config', 'BOOL', 'guides/batching.md#without-a-configuration'),
  works('strict-readiness', 'BOOL'),
  works('model-control-mode', 'MODE', 'guides/model-control.md'),
  works('repository-poll-secs', 'N', 'guides/model-control.md'),
  works('load-model', 'NAME', 'guides/model-control.md', 'may be repeated'),
  works('model-config-name', 'NAME', 'guides/coming-from-triton.md#custom-configurations'),
  works('model-load-thread-count', 'N'),
  works('model-load-retry-count', 'N', 'decisions/0007-no-load-retries.md'),
  works(
    'model-namespacing',
    'BOOL',
    'guides/coming-from-triton.md#models-of-equal-names',
    'not in explicit mode',
  ),
  noEffect('enable-peer-access', 'BOOL', 'Serval copies no memory between GPUs', {
    harmless: ['false'],
  }),
];

const HTTP: readonly PeerFlag[] = [
  works(
    'allow-http',
    'BOOL',
    '',
    'an error together with --allow-grpc=false: no client could connect',
  ),
  works(
    'http-address',
    'ADDRESS',
    '',
    'also the address of gRPC and metrics, unless they have their own',
  ),
  works('http-port', 'PORT'),
  works(
    'reuse-http-port',
    'BOOL',
    '',
    'shared by processes of the same user; a process with the flag also joins one without it',
  ),
  noEffect('http-header-forward-pattern', 'REGEX', NO_PARAMETERS),
  works(
    'http-thread-count',
    'N',
    '',
    'number of event loops; the default, auto, adds them while they are busy and cores are free',
  ),
  works('http-max-input-size', 'BYTES', '', 'default 2 GiB'),
  works('http-restricted-api', 'APIS:KEY=VALUE', 'guides/security.md'),
];

const GRPC: readonly PeerFlag[] = [
  works('allow-grpc', 'BOOL'),
  works('grpc-address', 'ADDRESS', '', 'default: --http-address'),
  works('grpc-port', 'PORT'),
  works('reuse-grpc-port', 'BOOL', '', 'shared by processes of the same user'),
  noEffect('grpc-header-forward-pattern', 'REGEX', NO_PARAMETERS),
  noEffect(
    'grpc-infer-thread-count',
    'N',
    'waiting requests use no thread; --grpc-threads sets the number of event loops',
  ),
  noEffect('grpc-infer-allocation-pool-size', 'N', NO_POOL),
  noEffect('grpc-max-response-pool-size', 'N', NO_POOL),
  works('grpc-use-ssl', 'BOOL', 'reference/protocols/grpc-transport.md'),
  works('grpc-use-ssl-mutual', 'BOOL', 'reference/protocols/grpc-transport.md'),
  works(
    'grpc-server-cert',
    'FILE',
    'reference/protocols/grpc-transport.md',
    'reloaded when it changes',
  ),
  works('grpc-server-key', 'FILE', 'reference/protocols/grpc-transport.md'),
  works('grpc-root-cert', 'FILE', 'reference/protocols/grpc-transport.md'),
  works('grpc-infer-response-compression-level', 'LEVEL', 'reference/protocols/grpc-transport.md'),
  works('grpc-keepalive-time', 'MS', 'reference/protocols/grpc-transport.md'),
  works('grpc-keepalive-timeout', 'MS', 'reference/protocols/grpc-transport.md'),
  works('grpc-keepalive-permit-without-calls', 'BOOL', 'reference/protocols/grpc-transport.md'),
  works('grpc-http2-max-pings-without-data', 'N', 'reference/protocols/grpc-transport.md'),
  works(
    'grpc-http2-min-recv-ping-interval-without-data',
    'MS',
    'reference/protocols/grpc-transport.md',
  ),
  works('grpc-http2-max-ping-strikes', 'N', 'reference/protocols/grpc-transport.md'),
  works('grpc-max-connection-age', 'MS', 'reference/protocols/grpc-transport.md'),
  works('grpc-max-connection-age-grace', 'MS', 'reference/protocols/grpc-transport.md'),
  works('grpc-restricted-protocol', 'PROTOCOLS:KEY=VALUE', 'guides/security.md'),
];

const ELSEWHERE: readonly PeerFlag[] = [
  notHere(
    'allow-sagemaker',
    'BOOL',
    `${NO_SAGEMAKER}; use --http-port=8080 and route /invocations in a proxy`,
    { harmless: ['false'] },
  ),
  noEffect('sagemaker-port', 'PORT', NO_SAGEMAKER),
  noEffect('sagemaker-safe-port-range', 'RANGE', NO_SAGEMAKER),
  noEffect('sagemaker-thread-count', 'N', NO_SAGEMAKER),
  notHere(
    'allow-vertex-ai',
    'BOOL',
    `${NO_VERTEX}; use --http-port and configure the V1 or V2 route`,
    {
      harmless: ['false'],
    },
  ),
  noEffect('vertex-ai-port', 'PORT', NO_VERTEX),
  noEffect('vertex-ai-thread-count', 'N', NO_VERTEX),
  noEffect('vertex-ai-default-model', 'NAME', NO_VERTEX),
];

const METRICS: readonly PeerFlag[] = [
  works('allow-metrics', 'BOOL', 'reference/metrics.md'),
  noEffect(
    'allow-gpu-metrics',
    'BOOL',
    '/metrics has nv_gpu_utilization and others if libnvidia-ml.so.1 finds a GPU',
    { harmless: ['true'] },
  ),
  noEffect('allow-cpu-metrics', 'BOOL', '/metrics always has nv_cpu_utilization and others', {
    harmless: ['true'],
  }),
  works('metrics-address', 'ADDRESS', 'reference/metrics.md', 'default: --http-address'),
  works('metrics-port', 'PORT', 'reference/metrics.md', 'metrics are also on the HTTP port'),
  noEffect('metrics-interval-ms', 'MS', 'metrics are computed for each scrape'),
  mapped(
    'metrics-config',
    'SETTING=VALUE',
    'histogram_latencies: they are always on; the errors of summary_quantiles have no effect: each value is within 1.6 %',
    { page: 'reference/metrics.md' },
  ),
];

const TRACE_PAGE = 'guides/tracing.md';
const TRACING: readonly PeerFlag[] = [
  works('trace-config', 'MODE,SETTING=VALUE', TRACE_PAGE),
  works('trace-file', 'FILE', TRACE_PAGE),
  works('trace-level', 'LEVEL', TRACE_PAGE, 'as in Triton, TENSORS needs the mode triton'),
  works('trace-rate', 'N', TRACE_PAGE),
  works('trace-count', 'N', TRACE_PAGE),
  works('trace-log-frequency', 'N', TRACE_PAGE),
];

const BACKENDS: readonly PeerFlag[] = [
  noEffect('backend-directory', 'DIR', BUILT_IN),
  mapped(
    'backend-config',
    'BACKEND,SETTING=VALUE',
    'default-max-batch-size, intra_op_thread_count and inter_op_thread_count set the flags of the same name; a warning names the others',
  ),
  noEffect(
    'repoagent-directory',
    'DIR',
    'there are no repository agents; a config.pbtxt that names one is refused',
  ),
  mapped(
    'cache-config',
    'CACHE,SETTING=VALUE',
    'local,size=BYTES is --response-cache-byte-size; there is no other cache',
  ),
  noEffect('cache-directory', 'DIR', 'the response cache is built in'),
  works('response-cache-byte-size', 'BYTES', 'guides/response-cache.md'),
];

const DEVICES: readonly PeerFlag[] = [
  works('rate-limit', 'MODE', 'guides/fairness.md#the-rate-limiter'),
  works('rate-limit-resource', 'NAME:N:DEVICE', 'guides/fairness.md#the-rate-limiter'),
  works('pinned-memory-pool-byte-size', 'BYTES', 'guides/gpu.md#memory'),
  noEffect('cuda-memory-pool-byte-size', 'DEVICE:BYTES', NO_CUDA_POOL),
  noEffect(
    'cuda-virtual-address-size',
    'DEVICE:BYTES',
    'the state of a sequence has the memory that its shape needs',
  ),
  noEffect('min-supported-compute-capability', 'N', 'ONNX Runtime determines the supported GPUs'),
  noEffect('buffer-manager-thread-count', 'N', "tensors are read from the request's memory"),
  noEffect('host-policy', 'POLICY,SETTING=VALUE', 'bind the process with taskset or numactl'),
  noEffect('model-load-gpu-limit', 'DEVICE:FRACTION', NO_CUDA_POOL),
  works('allow-client-shm', 'BOOL'),
  works('strict-model-config', 'BOOL'),
];

export const TRITON_FLAGS: readonly PeerFlag[] = [
  ...SERVER,
  ...LOGGING,
  ...REPOSITORY,
  ...HTTP,
  ...GRPC,
  ...ELSEWHERE,
  ...METRICS,
  ...TRACING,
  ...BACKENDS,
  ...DEVICES,
];
