// The peers that are measured beside Serval: where each comes from, what it speaks, how it is
// configured. Pure: a launch is data, which servers.mjs carries out.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SERVERS = fileURLToPath(new URL('servers', import.meta.url));
const HOST = '127.0.0.1';
const url = (port, path) => `http://${HOST}:${port}${path}`;

/** The models, in the order of the tables; `input` and `output` name their tensors. */
export const MODELS = {
  half_plus_three: { input: 'x', output: 'y', inputDims: [-1], outputDims: [-1] },
  mlp: { input: 'input', output: 'output', inputDims: [-1, 784], outputDims: [-1, 10] },
  resnet: {
    input: 'image',
    output: 'logits',
    inputDims: [-1, 3, 224, 224],
    outputDims: [-1, 1000],
  },
};

const json = (value) => `${JSON.stringify(value, null, 1)}\n`;

// `python`: the interpreter; `folder`: an empty folder of this start; `models`: NAME/1/model.onnx;
// `threads`: of one ONNX Runtime session; `ports`: {http, grpc, metrics}.
const environmentOf = ({ models, threads, workers }) => ({
  PYTHONPATH: SERVERS,
  PEER_MODELS: models,
  PEER_THREADS: String(threads),
  PEER_WORKERS: String(workers),
});

function launchMlserver(place) {
  const { python, folder, workers, ports } = place;
  const settings = {
    debug: false,
    parallel_workers: workers,
    host: HOST,
    http_port: ports.http,
    grpc_port: ports.grpc,
    metrics_port: ports.metrics,
    metrics_dir: folder,
  };
  const models = Object.keys(MODELS).map((name) => [
    `${name}/model-settings.json`,
    json({ name, implementation: 'mlserver_model.OnnxModel' }),
  ]);
  const start = 'from mlserver.cli import main; main()';
  return {
    command: python,
    args: ['-c', start, 'start', folder],
    env: environmentOf(place),
    files: Object.fromEntries([['settings.json', json(settings)], ...models]),
    ready: Object.keys(MODELS).map((name) => url(ports.http, `/v2/models/${name}/ready`)),
  };
}

function launchKserve(place) {
  const { python, workers, ports } = place;
  const flags = ['--http_port', ports.http, '--grpc_port', ports.grpc, '--workers', workers];
  return {
    command: python,
    args: [join(SERVERS, 'kserve_server.py'), ...flags, '--enable_latency_logging', 'false'].map(
      String,
    ),
    env: environmentOf(place),
    ready: Object.keys(MODELS).map((name) => url(ports.http, `/v2/models/${name}/ready`)),
  };
}

function launchBentoml(place) {
  const { python, folder, ports } = place;
  const address = ['--host', HOST, '--port', String(ports.http)];
  return {
    command: python,
    args: ['-m', 'bentoml', 'serve', 'bentoml_service:Peers', '--working-dir', SERVERS, ...address],
    env: { ...environmentOf(place), BENTOML_HOME: folder, BENTOML_DO_NOT_TRACK: 'True' },
    ready: [url(ports.http, '/readyz')],
  };
}

function launchLitserve(place) {
  const { python, workers, ports } = place;
  const script = join(SERVERS, 'litserve_server.py');
  return {
    command: python,
    args: [script, String(ports.http), String(workers)],
    env: environmentOf(place),
    ready: [url(ports.http, '/health')],
  };
}

/** The config.pbtxt of one model: its instances are processes of the Python backend, or threads. */
export function tritonConfig(name, backend, instances) {
  const { input, output, inputDims, outputDims } = MODELS[name];
  const tensor = (tensorName, dims) =>
    `{ name: "${tensorName}" data_type: TYPE_FP32 dims: [ ${dims.join(', ')} ] }`;
  return `name: "${name}"
backend: "${backend}"
input ${tensor(input, inputDims)}
output ${tensor(output, outputDims)}
instance_group { count: ${instances} kind: KIND_CPU }
`;
}

const tritonFlags = (ports) => [
  '--allow-metrics=true',
  `--metrics-port=${ports.metrics}`,
  `--http-address=${HOST}`,
  `--http-port=${ports.http}`,
  `--grpc-address=${HOST}`,
  `--grpc-port=${ports.grpc}`,
];

function launchTritonPython(place) {
  const { packages, folder, workers, ports } = place;
  const triton = join(packages, 'pytriton', 'tritonserver');
  const backend = join(folder, 'backends', 'python');
  const stub = join(triton, 'python_backend_stubs', place.version, 'triton_python_backend_stub');
  const files = Object.keys(MODELS).map((name) => [
    `repository/${name}/config.pbtxt`,
    tritonConfig(name, 'python', workers),
  ]);
  const model = join(SERVERS, 'triton_model.py');
  const scripts = Object.keys(MODELS).map((name) => [
    model,
    join(folder, 'repository', name, '1', 'model.py'),
  ]);
  return {
    command: join(triton, 'bin', 'tritonserver'),
    args: [
      `--model-repository=${join(folder, 'repository')}`,
      `--backend-directory=${join(folder, 'backends')}`,
      ...tritonFlags(ports),
    ],
    env: {
      ...environmentOf(place),
      PYTHONPATH: `${SERVERS}:${packages}`,
      LD_LIBRARY_PATH: join(packages, 'nvidia_pytriton.libs'),
    },
    files: Object.fromEntries(files),
    copies: [
      ...['libtriton_python.so', 'triton_python_backend_utils.py'].map((name) => [
        join(triton, 'backends', 'python', name),
        join(backend, name),
      ]),
      [stub, join(backend, 'triton_python_backend_stub')],
      ...scripts,
    ],
    ready: [url(ports.http, '/v2/health/ready')],
  };
}

/** The peers that pip installs. `protocols` are those of cases.mjs. */
export const PEERS = [
  {
    id: 'mlserver',
    title: 'MLServer',
    package: 'mlserver',
    protocols: ['v2', 'grpc'],
    launch: launchMlserver,
    configuration: ({ workers }) =>
      `custom runtime with ONNX Runtime, \`parallel_workers\` ${workers}, \`debug\` false`,
  },
  {
    id: 'kserve',
    title: "KServe's Python server",
    package: 'kserve',
    protocols: ['v1', 'v2', 'v2-binary', 'grpc'],
    launch: launchKserve,
    configuration: ({ workers }) =>
      `custom predictor with ONNX Runtime, \`--workers ${workers}\`, ` +
      '`--enable_latency_logging false`; gRPC runs in one process, as always in this server',
  },
  {
    id: 'bentoml',
    title: 'BentoML',
    package: 'bentoml',
    protocols: ['v1'],
    launch: launchBentoml,
    configuration: ({ workers }) =>
      `service with ONNX Runtime, \`workers=${workers}\`, access log off, \`bentoml serve\``,
  },
  {
    id: 'litserve',
    title: 'LitServe',
    package: 'litserve',
    protocols: ['v1'],
    launch: launchLitserve,
    configuration: ({ workers }) =>
      `API with ONNX Runtime, \`workers_per_device=${workers}\`, \`num_api_servers=${workers}\`, ` +
      '`fast_queue=True`',
  },
  {
    id: 'triton-python',
    title: 'Triton, Python backend',
    package: 'nvidia-pytriton',
    environment: 'triton',
    versionPath: '/v2',
    protocols: ['v2', 'v2-binary', 'grpc'],
    launch: launchTritonPython,
    configuration: ({ workers }) =>
      'the server in the package of PyTriton, models of the Python backend with ONNX Runtime, ' +
      `\`instance_group\` of ${workers}`,
  },
];
