// Random sequences in any order, over several connections of both protocols and over shared
// streams, answer as each sequence does alone: starts again in the middle, ids of numbers and of
// texts, refused steps, more sequences than slots. A failure prints the seed that repeats its
// choices. Source: Triton's sequence batcher; docs/guides/sequences.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { encodeModel, int64Bytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { decode, encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, metric, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { randomOf, type Random } from '../support/random/choices.js';
import { jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const SEQUENCES = 60;
const STEPS_MAX = 14;
const CLIENTS = 3;
const FACTOR = 3;
const MODULUS = 1009;
const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** sum = (3 before + x) mod 1009: every step and its place show; `start` as it is filled in. */
function orderModel(): OnnxModel {
  const number = (name: string) => ({ name, type: 'int64', shape: ['n', 1] }) as const;
  const constant = (name: string, value: number) =>
    ({ name, type: 'int64', dims: [1], data: int64Bytes([value]) }) as const;
  return {
    graph: {
      name: 'order',
      inputs: [number('before'), number('x'), { ...number('START'), type: 'int32' }],
      outputs: [number('sum'), { ...number('start'), type: 'int32' }],
      initializers: [constant('factor', FACTOR), constant('modulus', MODULUS)],
      nodes: [
        { op: 'Mul', inputs: ['before', 'factor'], outputs: ['product'] },
        { op: 'Add', inputs: ['product', 'x'], outputs: ['whole'] },
        { op: 'Mod', inputs: ['whole', 'modulus'], outputs: ['sum'] },
        { op: 'Identity', inputs: ['START'], outputs: ['start'] },
      ],
    },
  };
}

const configOf = (strategy: string): string => `max_batch_size: 4
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output [ { name: "sum" data_type: TYPE_INT64 dims: 1 }, { name: "start" data_type: TYPE_INT32 dims: 1 } ]
instance_group { count: 2 }
sequence_batching {
  ${strategy}
  max_sequence_idle_microseconds: 60000000
  control_input { name: "START" control { int32_false_true: [ 0, 1 ] } }
  state { input_name: "before" output_name: "sum" data_type: TYPE_INT64 dims: 1 }
}`;

interface Step {
  readonly x: number;
  readonly start: boolean;
  readonly end: boolean;
  /** Its shape is wrong: it is refused and changes nothing. */
  readonly refused: boolean;
  readonly sum: number;
}

interface Sequence {
  readonly id: number | string;
  readonly steps: readonly Step[];
}

/** One or two sequences of the same id, one after the other; each ends. */
function randomSequence({ below }: Random, id: number | string, refusals: boolean): Sequence {
  let sum = 0;
  const steps = Array.from({ length: 1 + below(2) }, () => 1 + below(STEPS_MAX)).flatMap((count) =>
    Array.from({ length: count }, (_, at): readonly Step[] => {
      const [x, end] = [below(MODULUS), at === count - 1];
      const start = at === 0 || below(8) === 0;
      sum = ((start ? 0 : sum) * FACTOR + x) % MODULUS;
      const step = { x, start, end, refused: false, sum };
      return refusals && below(6) === 0 ? [{ ...step, refused: true }, step] : [step];
    }).flat(),
  );
  return { id, steps };
}

/** Numbers and texts, some of which look like the numbers. */
const idOf = (at: number): number | string =>
  at % 3 === 0 ? `${at + 1}` : at % 3 === 1 ? at : `sequence ${at} ü`;

function restBody(id: number | string, { x, start, end, refused }: Step): string {
  const parameters = { sequence_id: id, sequence_start: start, sequence_end: end };
  const shape = refused ? [1, 2] : [1, 1];
  const data = refused ? [x, x] : [x];
  return JSON.stringify({ parameters, inputs: [{ name: 'x', datatype: 'INT64', shape, data }] });
}

function grpcRequest(model: string, id: number | string, at: number, step: Step): Buffer {
  const { x, start, end, refused } = step;
  const value = typeof id === 'string' ? { string_param: id } : { int64_param: id };
  return encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id: JSON.stringify([id, at]),
    parameters: [
      { key: 'sequence_id', value },
      { key: 'sequence_start', value: { bool_param: start } },
      { key: 'sequence_end', value: { bool_param: end } },
    ],
    inputs: [
      {
        ...{ name: 'x', datatype: 'INT64', shape: refused ? [1, 2] : [1, 1] },
        contents: { int64_contents: refused ? [x, x] : [x] },
      },
    ],
  });
}

interface Response {
  readonly id: string;
  readonly raw_output_contents: readonly Uint8Array[];
}

/** The sum, and 1 at a start. */
type Values = readonly [sum: number, start: number];

function valuesOf({ raw_output_contents: [sum, start] }: Response): Values {
  assert.ok(sum && start);
  return [Number(Buffer.from(sum).readBigInt64LE()), Buffer.from(start).readInt32LE()];
}

const expectedOf = ({ sum, start }: Step): Values => [sum, Number(start)];

describe('random sequences', () => {
  let server: ServalProcess;
  let clients: readonly RawClient[];
  before(async () => {
    const repository = folders.repository('random-sequences', []);
    const model = encodeModel(orderModel());
    for (const [name, strategy] of [
      ['direct', 'direct { }'],
      ['oldest', 'oldest { max_candidate_sequences: 3 }'],
      ['slow_direct', 'direct { max_queue_delay_microseconds: 500 minimum_slot_utilization: 0.5 }'],
      ['ordered', 'oldest { max_candidate_sequences: 5 preserve_ordering: true }'],
    ] as const) {
      put(join(repository, name, '1', 'model.onnx'), model);
      put(join(repository, name, 'config.pbtxt'), configOf(strategy));
    }
    server = await startServer(['--model-repository', repository]);
    clients = Array.from({ length: CLIENTS }, () => new RawClient(server.grpcPort));
  });
  after(async () => {
    for (const client of clients) client.close();
    await server.stop();
  });

  const overRest = async (
    model: string,
    { id, steps }: Sequence,
    random: Random,
  ): Promise<void> => {
    for (const [at, step] of steps.entries()) {
      const answer = await infer(server, model, restBody(id, step));
      const where = `${random.where} ${model} ${id} ${at}: ${answer.body.toString()}`;
      assert.equal(answer.status, step.refused ? 400 : 200, where);
      if (step.refused) continue;
      const { outputs } = jsonOf(answer) as { outputs: readonly { data: readonly unknown[] }[] };
      assert.deepEqual(
        outputs.flatMap(({ data }) => data),
        expectedOf(step),
        where,
      );
      if (random.below(2) === 0) await setImmediate();
    }
  };

  const overGrpc = async (
    model: string,
    { id, steps }: Sequence,
    random: Random,
  ): Promise<void> => {
    for (const [at, step] of steps.entries()) {
      const path = '/inference.GRPCInferenceService/ModelInfer';
      const answer = await random.one(clients).unary(path, grpcRequest(model, id, at, step));
      const where = `${random.where} ${model} ${id} ${at}: ${answer.details}`;
      assert.equal(answer.code, step.refused ? 3 : 0, where);
      if (step.refused || answer.message === undefined) continue;
      const response = decode(types, 'inference.ModelInferResponse', answer.message) as Response;
      assert.deepEqual(valuesOf(response), expectedOf(step), where);
    }
  };

  /** All steps of several sequences on one stream, in any order of sequences, without waiting. */
  const overStream = async (
    model: string,
    sequences: readonly Sequence[],
    random: Random,
  ): Promise<void> => {
    const stream = random.one(clients).stream('/inference.GRPCInferenceService/ModelStreamInfer');
    const left = sequences.map(({ id, steps }) => ({ id, steps: [...steps.entries()] }));
    const expected = new Map<string, Values>();
    for (let open = left; open.length > 0; open = open.filter(({ steps }) => steps.length > 0)) {
      const { id, steps } = random.one(open);
      const [at, step] = steps.shift() ?? [];
      if (at === undefined || step === undefined) continue;
      expected.set(JSON.stringify([id, at]), expectedOf(step));
      stream.call.write(grpcRequest(model, id, at, step));
      if (random.below(4) === 0) await setImmediate();
    }
    const got = new Map<string, Values>();
    for (let i = 0; i < expected.size; i += 1) {
      const reply = decode(types, 'inference.ModelStreamInferResponse', await stream.reply(i));
      const { infer_response: response, error_message: problem } = reply as {
        infer_response: Response;
        error_message: string;
      };
      assert.equal(problem, '', `${random.where} ${model}`);
      got.set(response.id, valuesOf(response));
    }
    stream.call.end();
    for (const [key, value] of expected) {
      assert.deepEqual(got.get(key), value, `${random.where} ${model} ${key}`);
    }
  };

  for (const model of ['direct', 'oldest', 'slow_direct', 'ordered']) {
    it(`answer as each alone: ${model}`, async (t) => {
      const random = randomOf(t);
      const ids = random.shuffled(Array.from({ length: SEQUENCES }, (_, at) => idOf(at + 1)));
      const [rest, grpc, streamed] = [ids.slice(0, 20), ids.slice(20, 40), ids.slice(40)];
      const sequence = (id: number | string): Sequence => randomSequence(random, id, true);
      const whole = (id: number | string): Sequence => randomSequence(random, id, false);
      await Promise.all([
        ...rest.map(async (id) => overRest(model, sequence(id), random)),
        ...grpc.map(async (id) => overGrpc(model, sequence(id), random)),
        ...[0, 1, 2, 3].map(async (at) =>
          overStream(model, streamed.slice(at * 5, at * 5 + 5).map(whole), random),
        ),
      ]);
      for (const name of ['serval_sequences_active', 'serval_sequences_waiting']) {
        await until(name, async () => (await metric(server, name, `model="${model}"`)) === 0);
      }
    });
  }
});
