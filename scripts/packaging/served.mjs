// Starts a packaged server, and sends it a request over each protocol. Test time only.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const READY_TIMEOUT_MS = 60_000;

export function check(condition, message) {
  if (!condition) throw new Error(message);
}

// A frozen TensorFlow graph, y = x + x: it is compiled in the importer's worker.
const TWICE = `node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 1087 }
`;

// Starts `[program, ...args] serve` on the models of `cwd`; `ready` settles with its ready record.
function start([program, ...args], cwd, env, { flags, readyTimeoutMs = READY_TIMEOUT_MS }) {
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  writeFileSync(join(cwd, 'twice.pbtxt'), TWICE);
  writeFileSync(join(cwd, 'serval.yaml'), 'log-format: json\n');
  const command = [...args, 'serve', 'examples/models', 'twice.pbtxt', '--config', 'serval.yaml'];
  const server = spawn(program, [...command, ...ports, ...flags], { cwd, env });
  const exited = new Promise((resolve) => server.on('exit', (status) => resolve(status)));
  let [output, errors] = ['', ''];
  server.stderr.on('data', (text) => {
    errors += text;
  });
  const ready = new Promise((resolve, reject) => {
    server.on('error', reject);
    const late = () => reject(new Error(`not ready in time: ${errors}`));
    const timer = setTimeout(late, readyTimeoutMs);
    server.stdout.on('data', (text) => {
      output += text;
      const line = output
        .split('\n')
        .slice(0, -1)
        .find((each) => each.includes('"ready"'));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve(JSON.parse(line));
    });
    void exited.then((status) => {
      clearTimeout(timer);
      reject(new Error(`ended with status ${status}: ${errors}`));
    });
  });
  return { server, ready, exited, errors: () => errors };
}

async function post(url, body) {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  check(response.status === 200, `${url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

async function inferRest(port) {
  const base = `http://127.0.0.1:${port}`;
  const v1 = await post(`${base}/v1/models/half_plus_three:predict`, { instances: [1, 2, 5] });
  check(JSON.stringify(v1.predictions) === '[3.5,4,5.5]', `V1 answered ${JSON.stringify(v1)}`);
  const twice = await post(`${base}/v1/models/twice:predict`, { instances: [1, 2.5] });
  check(JSON.stringify(twice.predictions) === '[2,5]', `twice answered ${JSON.stringify(twice)}`);
  const metadata = await (await fetch(`${base}/v2/models/half_plus_three`)).json();
  const [{ name, datatype }] = metadata.inputs;
  const inputs = [{ name, datatype, shape: [3], data: [1, 2, 5] }];
  const v2 = await post(`${base}/v2/models/half_plus_three/infer`, { inputs });
  const [{ data }] = v2.outputs;
  check(JSON.stringify(data) === '[3.5,4,5.5]', `V2 answered ${JSON.stringify(v2)}`);
  return name;
}

function call(client, types, [method, request, answer], message) {
  const [asked, answered] = [types.lookupType(request), types.lookupType(answer)];
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      method,
      (value) => Buffer.from(asked.encode(value).finish()),
      (bytes) => answered.toObject(answered.decode(bytes), { arrays: true }),
      asked.fromObject(message),
      (error, value) => {
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(value);
      },
    );
  });
}

const V2_INFER = [
  '/inference.GRPCInferenceService/ModelInfer',
  'inference.ModelInferRequest',
  'inference.ModelInferResponse',
];
const TF_PREDICT = [
  '/tensorflow.serving.PredictionService/Predict',
  'tensorflow.serving.PredictRequest',
  'tensorflow.serving.PredictResponse',
];

// `roots`: PEM of the signer of the server's certificate, if TLS is on.
async function inferGrpc(port, input, roots) {
  const wire = new protobuf.Root();
  wire.resolvePath = (_origin, target) => join(root, 'proto', 'wire', target.split('/').at(-1));
  const types = await wire.load(['inference.proto', 'tensorflow_serving.proto']);
  const kind = roots === undefined ? credentials.createInsecure() : credentials.createSsl(roots);
  const client = new Client(`127.0.0.1:${port}`, kind);
  try {
    const v2 = await call(client, types, V2_INFER, {
      modelName: 'half_plus_three',
      inputs: [
        { name: input, datatype: 'FP32', shape: [3], contents: { fp32Contents: [1, 2, 5] } },
      ],
    });
    const raw = Buffer.from(v2.rawOutputContents[0] ?? []);
    const values =
      raw.length > 0
        ? [0, 4, 8].map((at) => raw.readFloatLE(at))
        : v2.outputs[0].contents.fp32Contents;
    check(String(values) === '3.5,4,5.5', `V2 gRPC answered ${JSON.stringify(v2)}`);
    const tensor = { dtype: 1, tensorShape: { dim: [{ size: 3 }] }, floatVal: [1, 2, 5] };
    const tf = await call(client, types, TF_PREDICT, {
      modelSpec: { name: 'half_plus_three' },
      inputs: { [input]: tensor },
    });
    const [output] = Object.values(tf.outputs);
    check(String(output.floatVal) === '3.5,4,5.5', `TF gRPC answered ${JSON.stringify(tf)}`);
  } finally {
    client.close();
  }
}

/**
 * Writes a self-signed certificate of 127.0.0.1 and its key into `cwd`; returns the server's flags
 * for it.
 */
export function makeCertificate(cwd) {
  const [key, certificate] = [join(cwd, 'tls.key'), join(cwd, 'tls.pem')];
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-subj', '/CN=serval', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'],
    ...['-keyout', key, '-out', certificate],
  ]);
  check(made.status === 0, `openssl: ${made.error?.message ?? made.stderr}`);
  return {
    roots: readFileSync(certificate),
    flags: ['--grpc-use-ssl=true', '--grpc-server-cert', certificate, '--grpc-server-key', key],
  };
}

/**
 * Serves the models of `cwd` once: one request of each protocol, then SIGTERM, after which it must
 * exit with 0. `program`: the command that starts Serval; `tls`: the result of makeCertificate(),
 * if gRPC is to be encrypted; its `during`, if any, is called with the HTTP port; `readyTimeoutMs`:
 * how long the start may take. Settles with the text it wrote to stderr.
 */
export async function serveOnce(program, cwd, env, tls = { flags: [] }) {
  const { server, ready, exited, errors } = start(program, cwd, env, tls);
  try {
    const { http, grpc } = await ready;
    await tls.during?.(http.port);
    await inferGrpc(grpc.port, await inferRest(http.port), tls.roots);
    server.kill('SIGTERM');
    const status = await exited;
    check(status === 0, `SIGTERM ended it with status ${status}, expected 0: ${errors()}`);
    return errors();
  } finally {
    server.kill('SIGKILL');
  }
}
