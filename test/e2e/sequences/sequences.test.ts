// Sequences over REST and gRPC with an ONNX model that adds up its inputs: interleaved sequences,
// initial states, errors, reloads, metrics. Source: Triton's sequence batcher;
// docs/guides/sequences.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel, floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { control, index, infer, logLines, metric, predict, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { streamed } from './streamed.js';

const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** sum = before + x; id and start are returned as the server fills them. */
const ACCUMULATOR: OnnxModel = {
  graph: {
    name: 'accumulator',
    inputs: [
      { name: 'before', type: 'float', shape: ['n', 1] },
      { name: 'x', type: 'float', shape: ['n', 1] },
      { name: 'START', type: 'float', shape: ['n', 1] },
      { name: 'CORRID', type: 'int64', shape: ['n', 1] },
    ],
    outputs: [
      { name: 'sum', type: 'float', shape: ['n', 1] },
      { name: 'start', type: 'float', shape: ['n', 1] },
      { name: 'id', type: 'int64', shape: ['n', 1] },
    ],
    initializers: [{ name: 'one', type: 'float', dims: [], data: floatBytes([1]) }],
    nodes: [
      { op: 'Add', inputs: ['before', 'x'], outputs: ['sum'] },
      { op: 'Mul', inputs: ['START', 'one'], outputs: ['start'] },
      { op: 'Identity', inputs: ['CORRID'], outputs: ['id'] },
    ],
  },
};

const configOf = (strategy: string, initial = ''): string => `max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: 1 }
output [ { name: "sum" data_type: TYPE_FP32 dims: 1 }, { name: "start" data_type: TYPE_FP32 dims: 1 },
  { name: "id" data_type: TYPE_INT64 dims: 1 } ]
instance_group { count: 2 }
sequence_batching {
  ${strategy}
  max_sequence_idle_microseconds: 30000000
  control_input { name: "START" control { fp32_false_true: [ 0, 1 ] } }
  control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 } }
  state { input_name: "before" output_name: "sum" data_type: TYPE_FP32 dims: 1 ${initial} }
}`;

/** An ensemble of a model with sequences. */
const WHOLE = `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1, 1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1, 1 ] }
ensemble_scheduling { step { model_name: "direct" model_version: -1
  input_map { key: "x" value: "IN" } output_map { key: "sum" value: "OUT" } } }`;

interface Step {
  readonly id: number | string;
  readonly x: number;
  readonly start?: boolean;
  readonly end?: boolean;
}

const bodyOf = ({ id, x, start = false, end = false }: Step): string =>
  JSON.stringify({
    parameters: { sequence_id: id, sequence_start: start, sequence_end: end },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }],
  });

const requestOf = (model: string, { id, x, start = false, end = false }: Step): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id: String(x),
    parameters: [
      {
        key: 'sequence_id',
        value: typeof id === 'string' ? { string_param: id } : { int64_param: id },
      },
      { key: 'sequence_start', value: { bool_param: start } },
      { key: 'sequence_end', value: { bool_param: end } },
    ],
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [x] } }],
  });

describe('sequences', () => {
  let server: ServalProcess;
  let grpc: RawClient;
  let repository: string;
  before(async () => {
    repository = folders.repository('sequences', []);
    const model = encodeModel(ACCUMULATOR);
    for (const [name, config] of [
      ['oldest', configOf('oldest { max_candidate_sequences: 3 }')],
      ['direct', configOf('direct { }')],
      [
        'ten',
        configOf(
          'direct { }',
          'initial_state { name: "ten" data_type: TYPE_FP32 dims: 1 data_file: "ten" }',
        ),
      ],
    ] as const) {
      put(join(repository, name, '1', 'model.onnx'), model);
      put(join(repository, name, 'config.pbtxt'), config);
    }
    put(join(repository, 'ten', 'initial_state', 'ten'), floatBytes([10]));
    put(join(repository, 'own_process', '1', 'model.onnx'), model);
    put(
      join(repository, 'own_process', 'config.pbtxt'),
      `${configOf('oldest { max_candidate_sequences: 3 }')}
      response_cache { enable: true }
      parameters { key: "isolation" value { string_value: "process" } }`,
    );
    put(join(repository, 'whole', '1', '.keep'), '');
    put(join(repository, 'whole', 'config.pbtxt'), WHOLE);
    server = await startServer([
      ...['--model-repository', repository, '--model-control-mode=explicit', '--load-model=*'],
      ...['--cache-config=local,size=1048576', '--strict-readiness=false', '--log-format=json'],
    ]);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
  });

  const step = async (model: string, of: Step): Promise<readonly number[]> => {
    const answer = await infer(server, model, bodyOf(of));
    assert.equal(answer.status, 200, answer.body.toString());
    const { outputs } = jsonOf(answer) as { outputs: readonly { data: readonly number[] }[] };
    return outputs.map(({ data }) => data[0] ?? NaN);
  };
  const refusal = async (model: string, body: string): Promise<string> => {
    const answer = await infer(server, model, body);
    assert.equal(answer.status, 400, answer.body.toString());
    return errorOf(answer);
  };

  it('hides what the server fills', async () => {
    const metadata = jsonOf(await exchange(server.httpPort, 'GET', '/v2/models/oldest')) as {
      inputs: readonly { name: string }[];
      outputs: readonly { name: string }[];
    };
    assert.deepEqual(
      metadata.inputs.map(({ name }) => name),
      ['x'],
    );
    assert.deepEqual(
      metadata.outputs.map(({ name }) => name),
      ['sum', 'start', 'id'],
    );
    const { extensions } = jsonOf(await exchange(server.httpPort, 'GET', '/v2')) as {
      extensions: readonly string[];
    };
    assert.ok(extensions.includes('sequence') && extensions.includes('sequence(string_id)'));
  });

  it('keeps a state for each sequence, over both protocols', async () => {
    for (const model of ['oldest', 'direct']) {
      assert.deepEqual(await step(model, { id: 1, x: 5, start: true }), [5, 1, 1]);
      assert.deepEqual(await step(model, { id: 2, x: 100, start: true }), [100, 1, 2]);
      const reply = await grpc.unary(
        '/inference.GRPCInferenceService/ModelInfer',
        requestOf(model, { id: 1, x: 7 }),
        {},
      );
      assert.equal(reply.code, 0, reply.details);
      assert.ok(reply.message?.includes(Buffer.from(new Float32Array([12]).buffer)));
      assert.deepEqual(await step(model, { id: 2, x: 1, end: true }), [101, 0, 2]);
      assert.equal(await metric(server, 'serval_sequences_active', `model="${model}"`), 1);
      assert.deepEqual(await step(model, { id: 1, x: 3, end: true }), [15, 0, 1]);
      assert.equal(await metric(server, 'serval_sequences_active', `model="${model}"`), 0);
    }
    assert.deepEqual((await step('ten', { id: 1, x: 1, start: true, end: true }))[0], 11);
  });

  it('answers interleaved sequences as each alone', async () => {
    for (const model of ['oldest', 'direct']) {
      const ids = Array.from({ length: 12 }, (_, i) => i + 1);
      await Promise.all(
        ids.map(async (id) => {
          let sum = 0;
          for (let i = 1; i <= 20; i++) {
            sum += id * i;
            const of = { id, x: id * i, start: i === 1, end: i === 20 };
            assert.deepEqual(await step(model, of), [sum, i === 1 ? 1 : 0, id]);
          }
        }),
      );
    }
  });

  it('keeps the order of a stream', async () => {
    const stream = grpc.stream('/inference.GRPCInferenceService/ModelStreamInfer');
    for (let x = 1; x <= 50; x++) {
      stream.call.write(requestOf('oldest', { id: 77, x, start: x === 1, end: x === 50 }));
    }
    const sums = new Map<string, number>();
    for (let i = 0; i < 50; i++) {
      const answer = await streamed(stream, i);
      const [sum] = answer.raw_output_contents;
      assert.ok(sum);
      sums.set(answer.id, Buffer.from(sum).readFloatLE());
    }
    for (let x = 1; x <= 50; x++) assert.equal(sums.get(String(x)), (x * (x + 1)) / 2);
    stream.call.end();
  });

  it('refuses requests without a sequence, with the reason', async () => {
    assert.match(await refusal('direct', bodyOf({ id: 9, x: 1 })), /must specify the START flag/);
    assert.match(await refusal('direct', bodyOf({ id: 0, x: 1 })), /non-zero or non-empty/);
    assert.match(await refusal('direct', bodyOf({ id: 'a', x: 1, start: true })), /as INT64/);
    const two = bodyOf({ id: 9, x: 1, start: true })
      .replace('[1,1]', '[2,1]')
      .replace('[1]}', '[1,2]}');
    assert.match(await refusal('direct', two), /batch-size 1/);
    const v1 = await predict(server, 'direct', '{"instances":[[1]]}');
    assert.notEqual(v1.status, 200);
    assert.match(v1.body.toString(), /sequence_id/);
  });

  it('keeps the states of a model in its own process, also when that ends', async () => {
    assert.deepEqual((await step('own_process', { id: 1, x: 5, start: true }))[0], 5);
    assert.deepEqual((await step('own_process', { id: 1, x: 7 }))[0], 12);
    const processId = (): Promise<number> => metric(server, 'serval_isolated_pid');
    const first = await processId();
    process.kill(first, 'SIGKILL');
    await until('the new process', async () => ![0, first].includes(await processId()));
    assert.deepEqual((await step('own_process', { id: 1, x: 1, end: true }))[0], 13);
  });

  it('is no step of an ensemble, and its responses are not cached', async () => {
    const whole = (await index(server)).find(({ name }) => name === 'whole');
    assert.match(whole?.reason ?? '', /has sequences, and the steps of an ensemble have no/);
    const told = logLines(server).filter(({ model }) => model === 'own_process');
    assert.match(
      JSON.stringify(told),
      /cached responses: a run of the model changes the results of later runs/,
    );
  });

  it("refuses TensorFlow Serving's calls, which name no sequence", async () => {
    const reply = await grpc.unary(
      '/tensorflow.serving.PredictionService/Predict',
      encode(types, 'tensorflow.serving.PredictRequest', {
        model_spec: { name: 'direct' },
        inputs: [
          {
            key: 'x',
            value: { dtype: 1, tensor_shape: { dim: [{ size: 1 }, { size: 1 }] }, float_val: [1] },
          },
        ],
      }),
    );
    assert.equal(reply.code, 12, reply.details);
    assert.match(reply.details, /sequence_id/);
  });

  it('ends the sequences of a version that is loaded again', async () => {
    assert.deepEqual((await step('direct', { id: 5, x: 1, start: true }))[0], 1);
    const changed = encodeModel({ ...ACCUMULATOR, doc: 'again' });
    put(join(repository, 'direct', '1', 'model.onnx'), changed);
    await control(server, '/v2/repository/models/direct/load');
    assert.match(
      await refusal('direct', bodyOf({ id: 5, x: 1 })),
      /when the model is loaded again/,
    );
    assert.deepEqual((await step('direct', { id: 5, x: 2, start: true, end: true }))[0], 2);
  });
});
