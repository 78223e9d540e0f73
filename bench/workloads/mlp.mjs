// MLP 784-512-10, 32 rows per request, binary, against ONNX Runtime alone in C++ with one thread.
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bytesOf, floatsOf, makeFloats, v2BinaryAnswer, v2BinaryRequest } from '../bodies.mjs';
import { expectFloats } from '../check.mjs';
import { runToEnd } from '../children.mjs';
import { wrkLoad } from '../load/wrk.mjs';
import { openServalHttp } from './sides.mjs';

const MODEL = 'mlp';
const SHAPE = [32, 784];
const TOLERANCE = 1e-5;
const TIMEOUT_MS = 120_000;
const ROUGH_ITERATIONS = 20;
// onnxruntime_bench runs three loops (bare, and twice through our backend), 25 rounds of each.
const RUNS_PER_ITERATION = 75;

/** Finds the model file below the model's folder. */
export function modelFile(folder) {
  const name = readdirSync(folder, { recursive: true }).find((path) => path.endsWith('.onnx'));
  if (name === undefined) throw new Error(`no .onnx file below ${folder}`);
  return join(folder, name);
}

/** The library that Serval uses by default: SERVAL_ORT_LIBRARY, or onnxruntime-node's own. */
function runtimeLibrary() {
  const wanted = process.env['SERVAL_ORT_LIBRARY'];
  if (wanted !== undefined && wanted !== '') return wanted;
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
  const folder = join(dirname(entry), '..', 'bin');
  const place = join(process.platform, process.arch, 'libonnxruntime.so.1');
  const found = readdirSync(folder)
    .map((name) => join(folder, name, place))
    .find(existsSync);
  if (found === undefined) throw new Error(`no ${place} below ${folder}: set SERVAL_ORT_LIBRARY`);
  return found;
}

/** Computes ONNX Runtime's own result, through its Node binding. */
export async function expectedOutput(file, values, shape) {
  const { InferenceSession, Tensor } = await import('onnxruntime-node');
  const session = await InferenceSession.create(file, { intraOpNumThreads: 1 });
  const input = new Tensor('float32', values, shape);
  const outputs = await session.run({ [session.inputNames[0]]: input });
  const expected = Float32Array.from(outputs[session.outputNames[0]].data);
  await session.release();
  return expected;
}

async function openServal(context, root, connections, args) {
  const values = makeFloats(SHAPE[0] * SHAPE[1]);
  const expected = await expectedOutput(modelFile(await context.model(MODEL)), values, SHAPE);
  const plan = ({ input, output }) => {
    const tensor = { name: input.name, shape: SHAPE, datatype: input.datatype };
    const check = (answer) => {
      expectFloats('output', floatsOf(v2BinaryAnswer(answer)), expected, TOLERANCE);
    };
    return { request: v2BinaryRequest(MODEL, tensor, output.name, bytesOf(values)), check };
  };
  const load = (...args) => wrkLoad(...args, connections);
  return openServalHttp(context, root, { model: MODEL, plan, load, args });
}

/**
 * Opens ONNX Runtime alone on `modelPath` with batches of `batch` rows, as a side; one thread for
 * each of `cores`.
 */
export async function openModelAlone(context, options) {
  const { modelPath, batch = SHAPE[0], cores = context.cores.server } = options;
  const { roughIterations = ROUGH_ITERATIONS } = options;
  const program = await context.program('onnxruntime_bench');
  const file = modelFile(modelPath);
  const bareNs = async (iterations) => {
    const args = [
      file,
      '--batch',
      String(batch),
      '--iterations',
      String(iterations),
      '--threads',
      String(cores.length),
      '--library',
      runtimeLibrary(),
    ];
    const output = await runToEnd(program, args, cores, TIMEOUT_MS);
    return JSON.parse(output.trim().split('\n').at(-1)).ns_per_run.bare;
  };
  const roughNs = await bareNs(roughIterations);
  const measure = async (seconds) => {
    const iterations = Math.max(1, Math.round((seconds * 1e9) / (roughNs * RUNS_PER_ITERATION)));
    const ns = await bareNs(iterations);
    return { usPerRequest: ns / 1000, perSecond: 1e9 / ns };
  };
  return { measure, close: async () => {} };
}

// One core and a model of 120 us: an operator would let it run inline. The row without the flag
// shows the cost of the default, a hand-over to an instance thread, on that core.
const INLINE = ['--inline-us-max', '250'];

function row(id, connections, target, args) {
  const how = args === INLINE ? 'inline' : 'queued';
  return {
    id,
    title: `MLP 784-512-10, batch 32 binary, ${how}, connections: ${connections}`,
    reference: 'ONNX Runtime in C++',
    metric: 'time',
    target,
    openServal: (context, root) => openServal(context, root, connections, args),
    openReference: openModelAlone,
  };
}

export const mlp = [
  row('mlp-32-x4', 4, { relation: '<=', limit: 1.15 }, INLINE),
  row('mlp-32-x1', 1, null, INLINE),
  row('mlp-32-queued-x4', 4, null, []),
];
