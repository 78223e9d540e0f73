// All flags of tensorflow_model_server 2.20, in the order of its main.cc, and how Serval handles
// each. Control plane; data only. Names are kebab-case here; TensorFlow Serving writes underscores.
// Source: tfserving.md 3.1; tensorflow_serving/model_servers/main.cc.
import { mapped, noEffect, notHere, works, type PeerFlag } from './row.js';

const NO_TENSORFLOW = 'Serval does not contain TensorFlow';
const NO_TFLITE = 'Serval does not contain TensorFlow Lite';

export const TENSORFLOW_SERVING_FLAGS: readonly PeerFlag[] = [
  works('port', 'PORT', '', 'gRPC; default 8001; 0 selects a free port and does not turn it off'),
  works('grpc-socket-path', 'PATH', 'reference/protocols/grpc-transport.md'),
  works(
    'rest-api-port',
    'PORT',
    '',
    'REST; default 8000; 0 selects a free port and does not turn it off',
  ),
  noEffect(
    'rest-api-num-threads',
    'N',
    'waiting requests use no thread; --http-threads sets the number of event loops',
  ),
  works(
    'rest-api-timeout-in-ms',
    'MS',
    '',
    'limits the whole request: the wait in the queue and the run',
  ),
  works(
    'rest-api-enable-cors-support',
    'BOOL',
    'guides/security.md#web-pages-of-other-origins',
    'more headers are permitted, and preflights have a max-age',
  ),
  works('enable-batching', 'BOOL', 'guides/batching.md'),
  works('allow-version-labels-for-unavailable-models', 'BOOL', '', 'default true'),
  works(
    'batching-parameters-file',
    'FILE',
    'guides/batching.md',
    'an error without --enable_batching, as in TensorFlow Serving',
  ),
  works('enable-per-model-batching-parameters', 'BOOL', 'guides/batching.md'),
  works(
    'model-config-file',
    'FILE',
    '',
    'an error together with --model_base_path; TensorFlow Serving uses only the file',
  ),
  works('model-config-file-poll-wait-seconds', 'N'),
  works('model-name', 'NAME'),
  works('model-base-path', 'DIR'),
  works('num-load-threads', 'N', '', '0 means 4'),
  noEffect('num-unload-threads', 'N', 'unloads have their own threads'),
  works('max-num-load-retries', 'N', 'decisions/0007-no-load-retries.md', 'default: no retries'),
  works('load-retry-interval-micros', 'US', 'decisions/0007-no-load-retries.md'),
  works(
    'file-system-poll-wait-seconds',
    'N',
    '',
    '0 and -1 scan only at startup, and -1 does not block the start',
  ),
  noEffect('flush-filesystem-caches', 'BOOL', 'files are read once'),
  mapped(
    'tensorflow-session-parallelism',
    'N',
    'threads of the pool that all models share, as --tensorflow_intra_op_parallelism',
    { harmless: ['0'] },
  ),
  noEffect(
    'tensorflow-session-config-file',
    'FILE',
    'it configures TensorFlow, which Serval does not contain; its thread counts are ' +
      '--tensorflow_intra_op_parallelism and --tensorflow_inter_op_parallelism',
  ),
  works(
    'tensorflow-intra-op-parallelism',
    'N',
    '',
    'threads of the pool that all models share; 0: as many as cores',
  ),
  works('tensorflow-inter-op-parallelism', 'N', '', 'above 0 each model has its own pools'),
  notHere(
    'use-alts-credentials',
    'BOOL',
    'ALTS exists only on Google Cloud; use --ssl_config_file',
    { harmless: ['false'] },
  ),
  works(
    'ssl-config-file',
    'FILE',
    'reference/protocols/grpc-transport.md',
    'TLS on gRPC, and on HTTP unless --http-use-ssl=false',
  ),
  works(
    'platform-config-file',
    'FILE',
    'guides/coming-from-tensorflow-serving.md#platforms',
    'an error together with flags for the same settings; TensorFlow Serving ignores those',
  ),
  noEffect(
    'per-process-gpu-memory-fraction',
    'FRACTION',
    'ONNX Runtime allocates GPU memory as needed; --providers=cuda:gpu_mem_limit=BYTES limits it',
    { harmless: ['0', '0.0'] },
  ),
  works('saved-model-tags', 'TAGS', 'reference/tensorflow.md'),
  works(
    'grpc-channel-arguments',
    'LIST',
    'reference/protocols/grpc-transport.md',
    'those that have a flag in Serval; a warning names the others',
  ),
  noEffect(
    'grpc-max-threads',
    'N',
    'waiting requests use no thread; calls above a quota are not refused',
  ),
  works('enable-model-warmup', 'BOOL'),
  works('num-request-iterations-for-warmup', 'N'),
  notHere('version', 'BOOL', '`serval version` prints it', { harmless: ['false'] }),
  works('monitoring-config-file', 'FILE', 'reference/metrics.md'),
  noEffect(
    'remove-unused-fields-from-bundle-metagraph',
    'BOOL',
    'a SavedModel is compiled; its meta graph is not kept',
    { harmless: ['true'] },
  ),
  notHere(
    'prefer-tflite-model',
    'BOOL',
    'a folder with a .tflite file and no SavedModel is served without the flag',
    { harmless: ['false'] },
  ),
  noEffect('num-tflite-pools', 'N', NO_TFLITE),
  noEffect('num-tflite-interpreters-per-pool', 'N', NO_TFLITE),
  works('enable-signature-method-name-check', 'BOOL'),
  noEffect('xla-cpu-compilation-enabled', 'BOOL', NO_TENSORFLOW, { harmless: ['false'] }),
  noEffect('xla-gpu-compilation-enabled', 'BOOL', NO_TENSORFLOW, { harmless: ['false'] }),
  noEffect('enable-profiler', 'BOOL', NO_TENSORFLOW, { harmless: ['false'] }),
  noEffect(
    'thread-pool-factory-config-file',
    'FILE',
    'one thread pool is shared by all models: --intra-op-threads',
  ),
  noEffect('mixed-precision', 'TYPE', 'models run in the precision that they were saved in'),
  noEffect('skip-initialize-tpu', 'BOOL', 'there are no TPUs here', { harmless: ['true'] }),
  noEffect(
    'enable-grpc-healthcheck-service',
    'BOOL',
    'grpc.health.v1 with Check and Watch is always on',
    { harmless: ['true'] },
  ),
  works('enable-serialization-as-tensor-content', 'BOOL', 'reference/protocols/tf-grpc.md'),
];
