// The peers that are published as images only: Triton with its ONNX Runtime backend, TensorFlow
// Serving, OpenVINO Model Server. They are measured where Docker runs. Pure but for requireDocker.
import { execFileSync } from 'node:child_process';
import { MODELS, tritonConfig } from './peers.mjs';

const HOST = '127.0.0.1';
const url = (port, path) => `http://${HOST}:${port}${path}`;

/** The images; another tag is given by the environment variable of each. */
export const IMAGES = {
  triton: { variable: 'PEER_TRITON_IMAGE', image: 'nvcr.io/nvidia/tritonserver:26.07-py3' },
  tfserving: { variable: 'PEER_TFSERVING_IMAGE', image: 'tensorflow/serving:2.19.1' },
  ovms: { variable: 'PEER_OVMS_IMAGE', image: 'openvino/model_server:2025.3' },
};

const imageOf = (id) => process.env[IMAGES[id].variable] || IMAGES[id].image;

/**
 * `docker run` of `image` with the network of the host, on `cores`. `mounts`: [folder, place in the
 * container], read-only.
 */
export function dockerRun({ name, image, cores, mounts, args }) {
  const volumes = mounts.flatMap(([from, to]) => ['-v', `${from}:${to}:ro`]);
  const limits = ['--network', 'host', '--cpuset-cpus', cores.join(','), '--shm-size', '1g'];
  return ['run', '--rm', '--name', name, ...limits, ...volumes, image, ...args];
}

function launchTriton(place) {
  const { models, folder, workers, ports } = place;
  const files = Object.keys(MODELS).map((name) => [
    `repository/${name}/config.pbtxt`,
    tritonConfig(name, 'onnxruntime', workers),
  ]);
  const flags = [
    'tritonserver',
    '--model-repository=/repository',
    `--http-port=${ports.http}`,
    `--grpc-port=${ports.grpc}`,
    `--metrics-port=${ports.metrics}`,
  ];
  return {
    ...inContainer('triton', place, [[`${folder}/repository`, '/repository']], flags),
    files: Object.fromEntries(files),
    copies: Object.keys(MODELS).map((name) => [
      `${models}/${name}/1`,
      `${folder}/repository/${name}/1`,
    ]),
    ready: [url(ports.http, '/v2/health/ready')],
  };
}

function launchTfserving(place) {
  const { savedModel, workers, ports } = place;
  const flags = [
    `--port=${ports.grpc}`,
    `--rest_api_port=${ports.http}`,
    '--model_name=half_plus_three',
    '--model_base_path=/models/half_plus_three',
    `--tensorflow_intra_op_parallelism=${workers}`,
    `--tensorflow_inter_op_parallelism=${workers}`,
  ];
  return {
    ...inContainer('tfserving', place, [[savedModel, '/models/half_plus_three']], flags),
    ready: [url(ports.http, '/v1/models/half_plus_three')],
  };
}

function launchOvms(place) {
  const { models, workers, ports } = place;
  const list = Object.keys(MODELS).map((name) => ({
    config: { name, base_path: `/models/${name}`, nireq: workers },
  }));
  const flags = [
    '--config_path',
    '/configuration/config.json',
    '--port',
    String(ports.grpc),
    '--rest_port',
    String(ports.http),
  ];
  const mounts = [
    [models, '/models'],
    [place.folder, '/configuration'],
  ];
  return {
    ...inContainer('ovms', place, mounts, flags),
    files: { 'config.json': `${JSON.stringify({ model_config_list: list }, null, 1)}\n` },
    ready: Object.keys(MODELS).map((name) => url(ports.http, `/v2/models/${name}/ready`)),
  };
}

function inContainer(id, { cores, name }, mounts, args) {
  const image = imageOf(id);
  return {
    command: 'docker',
    args: dockerRun({ name, image, cores, mounts, args }),
    container: name,
    image,
  };
}

export const DOCKER_PEERS = [
  {
    id: 'triton',
    title: 'Triton, ONNX Runtime backend',
    docker: true,
    protocols: ['v2', 'v2-binary', 'grpc'],
    launch: launchTriton,
    configuration: ({ workers }) => `\`instance_group\` of ${workers} on the CPU`,
  },
  {
    id: 'tfserving',
    title: 'TensorFlow Serving',
    docker: true,
    protocols: ['v1'],
    models: ['half_plus_three'],
    // Its model adds 2, ours 3.
    shift: -1,
    launch: launchTfserving,
    configuration: ({ workers }) =>
      `a SavedModel of the same function, intra- and inter-op parallelism ${workers}`,
  },
  {
    id: 'ovms',
    title: 'OpenVINO Model Server',
    docker: true,
    protocols: ['v1', 'v2', 'v2-binary', 'grpc'],
    launch: launchOvms,
    configuration: ({ workers }) => `\`nireq\` ${workers}, OpenVINO's CPU plugin`,
  },
];

/** Throws a message that says what to do unless a Docker daemon answers. `names`: for whom. */
export function requireDocker(names, run = execFileSync) {
  try {
    run('docker', ['version', '--format', '{{.Server.Version}}'], { stdio: 'pipe' });
  } catch (error) {
    const why = String(error.stderr ?? error.message)
      .trim()
      .split('\n')[0];
    const images = `${names.join(', ')}: published as container images only`;
    throw new Error(`${images}; run this on a machine with Docker (docker version: ${why})`);
  }
}

/** The process id of a running container's main process. */
export function containerPid(name, run = execFileSync) {
  const args = ['inspect', '--format', '{{.State.Pid}}', name];
  return Number(run('docker', args, { encoding: 'utf8' }).trim());
}
