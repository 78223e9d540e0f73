// An LSTM cell stepped by 64 sequences at once: the server keeps the states (implicit state of
// Triton's sequence batcher) against calls without state, batched, whose clients carry it. The
// load is a program in JavaScript, whose time for the larger messages is in the figure: the figure
// by CPU time is that of the servers alone.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { floatsOf } from '../../bodies.mjs';
import { callOnce, expectFloats } from '../../check.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { sequenceLoad } from '../../load/sequence-load.mjs';
import { cellRequest, nextStates, stepOf, zeroStates } from '../../load/sequence-messages.mjs';
import { rawOutputs } from '../../wire.mjs';
import { newModelFolder } from '../repositories.mjs';
import { GRPC_METHOD, orStop } from '../sides.mjs';

const MODEL = 'lstm_cell';
const CELL = { model: MODEL, width: 64, state: 256 };
const LOAD = { sequences: 64, steps: 100, connections: 4 };
const GATES = 4;
const CHECKED_STEPS = 3;
const TOLERANCE = 1e-4;
const ROUNDS_TIMES = 2;

/** Weights [rows, columns], the same in every run. */
const weights = (rows, columns) =>
  Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 0.37) / Math.sqrt(rows));

const WEIGHTS = {
  w: weights(CELL.width, GATES * CELL.state),
  r: weights(CELL.state, GATES * CELL.state),
};

/** The cell as an ONNX file: gates i, o, f and the candidate g, as in ONNX's LSTM. */
async function cellFile(context) {
  const builder = join(context.harnessRoot, 'dist', 'importers', 'onnx', 'builder.js');
  const { encodeModel, floatBytes } = await import(builder);
  const { width, state } = CELL;
  const value = (name, length) => ({ name, type: 'float', shape: ['batch', length] });
  const matrix = (name, rows) => ({
    ...{ name, type: 'float', dims: [rows, GATES * state] },
    data: floatBytes(WEIGHTS[name]),
  });
  const node = (op, inputs, ...outputs) => ({ op, inputs, outputs });
  const split = { axis: { int: 1 } };
  return encodeModel({
    graph: {
      name: MODEL,
      inputs: [value('x', width), value('h', state), value('c', state)],
      outputs: [value('h_next', state), value('c_next', state)],
      initializers: [...[matrix('w', width), matrix('r', state)]],
      nodes: [
        node('MatMul', ['x', 'w'], 'of_x'),
        node('MatMul', ['h', 'r'], 'of_h'),
        node('Add', ['of_x', 'of_h'], 'gates'),
        { ...node('Split', ['gates'], 'i', 'o', 'f', 'g'), attributes: split },
        ...['i', 'o', 'f'].map((gate) => node('Sigmoid', [gate], `${gate}_open`)),
        node('Tanh', ['g'], 'candidate'),
        node('Mul', ['f_open', 'c'], 'kept'),
        node('Mul', ['i_open', 'candidate'], 'new'),
        node('Add', ['kept', 'new'], 'c_next'),
        node('Tanh', ['c_next'], 'seen'),
        node('Mul', ['o_open', 'seen'], 'h_next'),
      ],
    },
  });
}

/** The state h after some equal steps, computed here. */
function expectedState(steps) {
  const { width, state } = CELL;
  const x = stepOf(CELL);
  const sigmoid = (value) => 1 / (1 + Math.exp(-value));
  let [h, c] = [new Array(state).fill(0), new Array(state).fill(0)];
  for (let step = 0; step < steps; step += 1) {
    const gates = Array.from({ length: GATES * state }, (_, column) => {
      let sum = 0;
      for (let i = 0; i < width; i += 1) sum += x[i] * WEIGHTS.w[i * GATES * state + column];
      for (let i = 0; i < state; i += 1) sum += h[i] * WEIGHTS.r[i * GATES * state + column];
      return sum;
    });
    const gate = (at, i) => gates[at * state + i];
    c = c.map(
      (value, i) => sigmoid(gate(2, i)) * value + sigmoid(gate(0, i)) * Math.tanh(gate(3, i)),
    );
    h = c.map((value, i) => sigmoid(gate(1, i)) * Math.tanh(value));
  }
  return h;
}

const tensor = (list, name, length) =>
  `${list} { name: "${name}" data_type: TYPE_FP32 dims: [ ${length} ] }`;
const stateOf = (name) => `state { input_name: "${name}" output_name: "${name}_next"
    data_type: TYPE_FP32 dims: [ ${CELL.state} ] }`;

const KEPT_CONFIG = `max_batch_size: ${LOAD.sequences}
${tensor('input', 'x', CELL.width)}
${tensor('output', 'h_next', CELL.state)}
sequence_batching {
  oldest { max_candidate_sequences: ${LOAD.sequences} }
  max_sequence_idle_microseconds: 60000000
  ${stateOf('h')}
  ${stateOf('c')}
}
`;

const CARRIED_CONFIG = `max_batch_size: ${LOAD.sequences}
${tensor('input', 'x', CELL.width)}
${tensor('input', 'h', CELL.state)}
${tensor('input', 'c', CELL.state)}
${tensor('output', 'h_next', CELL.state)}
${tensor('output', 'c_next', CELL.state)}
dynamic_batching { }
`;

/** Some steps of one sequence, each a call; returns h. */
async function stepThrough(grpc, keeps) {
  let states = zeroStates(CELL);
  let answer;
  for (let step = 0; step < CHECKED_STEPS; step += 1) {
    const [start, end] = [step === 0, step + 1 === CHECKED_STEPS];
    const given = keeps ? { id: 1, start, end } : { states };
    answer = await callOnce(grpc, GRPC_METHOD, cellRequest(CELL, given));
    if (!keeps) states = nextStates(answer);
  }
  return floatsOf(rawOutputs(answer)[0]);
}

async function openCell(context, root, keeps) {
  const folder = newModelFolder(context, MODEL);
  writeFileSync(join(folder, '1', 'model.onnx'), await cellFile(context));
  writeFileSync(join(folder, 'config.pbtxt'), keeps ? KEPT_CONFIG : CARRIED_CONFIG);
  return orStop(await startServal(context, root, [folder]), async (server) => {
    const grpc = { ...server.grpc, pid: server.pid };
    const got = await stepThrough(grpc, keeps);
    expectFloats('h', got, expectedState(CHECKED_STEPS), TOLERANCE);
    const measure = sequenceLoad(context, grpc, { ...CELL, ...LOAD, keeps });
    return { measure, ended: server.ended, close: server.stop };
  });
}

export const sequences = [
  {
    id: 'sequences-lstm',
    title: `LSTM cell (${CELL.width} in, ${CELL.state} states), ${LOAD.sequences} sequences of ${LOAD.steps} steps, implicit state, gRPC`,
    reference: 'state carried by clients',
    metric: 'rate',
    target: { relation: '>=', limit: 1.5 },
    roundsTimes: ROUNDS_TIMES,
    openServal: (context, root) => openCell(context, root, true),
    openReference: (context) => openCell(context, context.root, false),
  },
];
