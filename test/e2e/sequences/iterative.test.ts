// Iterative sequences: one request, whose model runs with its states until an output says that the
// request is done. REST, generate and gRPC streams; requests join and leave between steps; cancels,
// deadlines, unloads, deaths. Source: Triton's "Iterative Sequences"; docs/guides/sequences.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel, floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { control, infer, metric, predict, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { exchange, jsonOf, RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { streamed } from './streamed.js';

const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** Adds x to a sum until it is `limit` or more; counts the steps; fails in the step `fails`. */
const ADDER: OnnxModel = {
  graph: {
    name: 'adder',
    inputs: ['before', 'steps_before', 'x', 'limit', 'fails', 'START', 'READY'].map((name) => ({
      name,
      type: 'float',
      shape: ['n', 1],
    })),
    outputs: [
      ...['sum', 'steps', 'start'].map(
        (name) => ({ name, type: 'float', shape: ['n', 1] }) as const,
      ),
      { name: 'done', type: 'bool', shape: ['n', 1] },
    ],
    initializers: [{ name: 'ones', type: 'float', dims: [1], data: floatBytes([1]) }],
    nodes: [
      { op: 'Add', inputs: ['before', 'x'], outputs: ['sum'] },
      { op: 'Add', inputs: ['steps_before', 'READY'], outputs: ['steps'] },
      // The index of an element that does not exist in the step `fails`.
      { op: 'Equal', inputs: ['steps', 'fails'], outputs: ['bad'] },
      { op: 'Cast', inputs: ['bad'], outputs: ['index'], attributes: { to: { int: 7n } } },
      { op: 'Gather', inputs: ['ones', 'index'], outputs: ['one'] },
      { op: 'Mul', inputs: ['START', 'one'], outputs: ['start'] },
      { op: 'GreaterOrEqual', inputs: ['sum', 'limit'], outputs: ['done'] },
    ],
  },
};

const parameter = (key: string, value: string): string =>
  `parameters { key: "${key}" value { string_value: "${value}" } }\n`;
const tensors = (kind: string, ...names: readonly string[]): string =>
  names.map((name) => `${kind} { name: "${name}" data_type: TYPE_FP32 dims: 1 }\n`).join('');
const state = (input: string, output: string): string =>
  `state { input_name: "${input}" output_name: "${output}" data_type: TYPE_FP32 dims: 1 }\n`;
const signal = (name: string): string =>
  `control_input { name: "${name}" control {
     kind: CONTROL_SEQUENCE_${name} fp32_false_true: [ 0, 1 ] } }\n`;

const configOf = (strategy: string, stepsMax: number, more = ''): string => `max_batch_size: 4
${tensors('input', 'x', 'limit', 'fails')} ${tensors('output', 'sum', 'steps', 'start')}
sequence_batching { iterative_sequence: true ${strategy} ${signal('START')} ${signal('READY')}
  ${state('before', 'sum')} ${state('steps_before', 'steps')} }
${parameter('serval.done_output', 'done')} ${parameter('serval.steps_max', String(stepsMax))} ${more}`;

const bodyOf = (x: number, limit: number, rows = 1, fails = 0): string =>
  JSON.stringify({
    inputs: Object.entries({ x, limit, fails }).map(([name, value]) => ({
      ...{ name, datatype: 'FP32', shape: [rows, 1], data: Array<number>(rows).fill(value) },
    })),
  });

const requestOf = (model: string, id: string, x: number, limit: number): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id,
    inputs: Object.entries({ x, limit, fails: 0 }).map(([name, value]) => ({
      ...{ name, datatype: 'FP32', shape: [1, 1], contents: { fp32_contents: [value] } },
    })),
  });

/** Its state grows by a column in each step, although its input of the state has one. */
const GROWING: OnnxModel = {
  graph: {
    name: 'growing',
    inputs: ['history', 'x', 'limit'].map((name) => ({ name, type: 'float', shape: ['n', 1] })),
    outputs: [
      { name: 'longer', type: 'float', shape: ['n', 'm'] },
      { name: 'sum', type: 'float', shape: ['n', 1] },
      { name: 'done', type: 'bool', shape: ['n', 1] },
    ],
    nodes: [
      {
        ...{ op: 'Concat', inputs: ['history', 'x'], outputs: ['longer'] },
        attributes: { axis: { int: 1n } },
      },
      { op: 'Identity', inputs: ['x'], outputs: ['sum'] },
      { op: 'GreaterOrEqual', inputs: ['x', 'limit'], outputs: ['done'] },
    ],
  },
};
const GROWING_CONFIG = `max_batch_size: 4
${tensors('input', 'x', 'limit')} ${tensors('output', 'sum')}
sequence_batching { iterative_sequence: true oldest { max_candidate_sequences: 3 } ${state('history', 'longer')} }
${parameter('serval.done_output', 'done')}`;

/** More steps than any test waits for. */
const ENDLESS = 1_000_000;

describe('iterative sequences', () => {
  let server: ServalProcess;
  let grpc: RawClient;
  let repository = '';
  before(async () => {
    repository = folders.repository('iterative', []);
    const isolation = parameter('isolation', 'process');
    for (const [name, config] of [
      ['oldest', configOf('oldest { max_candidate_sequences: 3 }', 100)],
      ['wide', configOf('oldest { max_candidate_sequences: 4 } ', 1000)],
      ['direct', configOf('direct { }', 100, 'instance_group { count: 2 }')],
      ['endless', configOf('direct { }', ENDLESS)],
      ['own_process', configOf('direct { }', ENDLESS, isolation)],
    ] as const) {
      put(join(repository, name, '1', 'model.onnx'), encodeModel(ADDER));
      put(join(repository, name, 'config.pbtxt'), config);
    }
    put(join(repository, 'growing', '1', 'model.onnx'), encodeModel(GROWING));
    put(join(repository, 'growing', 'config.pbtxt'), GROWING_CONFIG);
    server = await startServer([
      ...['--model-repository', repository, '--model-control-mode=explicit', '--load-model=*'],
      ...['--strict-readiness=false', '--log-format=json'],
    ]);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
  });

  it('a state of another shape is a fault of the model, not of the client', async () => {
    const inputs = (limit: number): string =>
      JSON.stringify({
        inputs: Object.entries({ x: 1, limit }).map(([name, value]) => ({
          ...{ name, datatype: 'FP32', shape: [1, 1], data: [value] },
        })),
      });
    const short = await infer(server, 'growing', inputs(1));
    assert.equal(short.status, 200, `one step: ${short.body.toString()}`);
    const { status, body } = await infer(server, 'growing', inputs(2));
    assert.equal(status, 500, body.toString());
    assert.match(
      body.toString(),
      /it made a state of shape \[1,2\] for the input 'history', which expects \[-1,1\]/,
    );
  });

  const sum = async (model: string, x: number, limit: number): Promise<readonly number[]> => {
    const answer = await infer(server, model, bodyOf(x, limit));
    assert.equal(answer.status, 200, answer.body.toString());
    const { outputs } = jsonOf(answer) as { outputs: readonly { data: readonly number[] }[] };
    return outputs.map(({ data }) => data[0] ?? NaN);
  };

  /** A response is handed back before its sequence ends. */
  const idle = (model: string): Promise<boolean> =>
    until(
      'no sequence',
      async () => (await metric(server, 'serval_sequences_active', `model="${model}"`)) === 0,
    );
  const busy = (of: ServalProcess, model: string): Promise<boolean> =>
    until(
      'a sequence',
      async () => (await metric(of, 'serval_sequences_active', `model="${model}"`)) === 1,
    );

  it('answer with the last step, for one step and for many', async () => {
    for (const model of ['oldest', 'direct', 'own_process']) {
      assert.deepEqual(await sum(model, 5, 5), [5, 1, 1]);
      assert.deepEqual(await sum(model, 5, 32), [35, 7, 0]);
      await idle(model);
    }
  });

  it('of many requests join and leave between steps', async () => {
    for (const model of ['oldest', 'direct', 'wide']) {
      const counts = Array.from({ length: 40 }, (_, i) => ((i * 7) % 90) + 1);
      const steps = counts.reduce((all, one) => all + one, 0);
      const runs = async (): Promise<number> => {
        const path = `/v2/models/${model}/stats`;
        const stats = jsonOf(await exchange(server.httpPort, 'GET', path, '')) as {
          model_stats: readonly { execution_count: number }[];
        };
        return stats.model_stats[0]?.execution_count ?? NaN;
      };
      // Requests that are quick may run one after the other.
      await until('a run of several requests', async () => {
        const earlier = await runs();
        await Promise.all(
          counts.map(async (count) => {
            const first = count === 1 ? 1 : 0;
            assert.deepEqual(await sum(model, 2, 2 * count), [2 * count, count, first]);
          }),
        );
        return (await runs()) - earlier < steps;
      });
    }
  });

  it('answer a short request while a long one runs', async () => {
    let over = false;
    const long = sum('wide', 1, 900).then((answer) => {
      over = true;
      return answer;
    });
    assert.deepEqual(await sum('wide', 1, 2), [2, 2, 0]);
    assert.ok(!over);
    assert.deepEqual(await long, [900, 900, 0]);
  });

  it('fail alone when one of their steps fails', async () => {
    for (const model of ['direct', 'wide']) {
      const all = Array.from({ length: 12 }, async (_, i) => {
        const fails = i % 3 === 0 ? 5 + i : 0;
        const answer = await infer(server, model, bodyOf(1, 20, 1, fails));
        const text = answer.body.toString();
        if (fails === 0) return assert.match(text, /"data":\[20(\.0)?\]/);
        assert.equal(answer.status, 400, text);
        return assert.match(text, /Gather|indices/);
      });
      await Promise.all(all);
      await idle(model);
    }
  });

  it('work with generate, generate_stream and streams of gRPC', async () => {
    for (const verb of ['generate', 'generate_stream']) {
      const body = JSON.stringify({ x: [[4]], limit: [[12]], fails: [[0]] });
      const path = `/v2/models/oldest/${verb}`;
      const answer = await exchange(server.httpPort, 'POST', path, body);
      assert.equal(answer.status, 200, answer.body.toString());
      assert.match(answer.body.toString(), /"sum":12(\.0)?,"steps":3(\.0)?/);
    }
    const stream = grpc.stream('/inference.GRPCInferenceService/ModelStreamInfer');
    for (let i = 1; i <= 20; i += 1) stream.call.write(requestOf('oldest', String(i), 1, i));
    const steps = new Map<string, number>();
    for (let i = 0; i < 20; i += 1) {
      const answer = await streamed(stream, i);
      steps.set(answer.id, Buffer.from(answer.raw_output_contents[1] ?? []).readFloatLE());
    }
    for (let i = 1; i <= 20; i += 1) assert.equal(steps.get(String(i)), i);
    stream.call.end();
  });

  it('end with an error after the most steps, and refuse what is no request of V2 with one row', async () => {
    const answer = await infer(server, 'oldest', bodyOf(1, 101));
    assert.equal(answer.status, 500);
    assert.match(
      answer.body.toString(),
      /'oldest': the request is not done after 100 steps, .*serval.steps_max allows: 'done' is false/,
    );
    assert.deepEqual(await sum('oldest', 1, 100), [100, 100, 0]);
    const rows = await infer(server, 'oldest', bodyOf(1, 2, 2));
    assert.match(rows.body.toString(), /must specify batch-size 1/);
    const v1 = await predict(server, 'oldest', '{"instances":[{"x":[1],"limit":[1],"fails":[0]}]}');
    assert.match(v1.body.toString(), /its requests need the V2 protocol/);
  });

  it('end when the client leaves, at the deadline and with the process', async () => {
    const connection = await RawConnection.open(server.httpPort);
    connection.write(requestBytes('POST', '/v2/models/endless/infer', bodyOf(0, 1)));
    await busy(server, 'endless');
    connection.close();
    await idle('endless');
    const path = '/inference.GRPCInferenceService/ModelInfer';
    const late = await grpc.unary(path, requestOf('endless', '1', 0, 1), {
      deadline: Date.now() + 300,
    });
    assert.equal(late.code, 4);
    await idle('endless');
    const lost = infer(server, 'own_process', bodyOf(0, 1));
    await busy(server, 'own_process');
    process.kill(await metric(server, 'serval_isolated_pid'), 'SIGKILL');
    const answer = await lost;
    assert.equal(answer.status, 503, answer.body.toString());
    assert.deepEqual(await sum('own_process', 1, 3), [3, 3, 0]);
  });

  it('work with tritonclient', async (context) => {
    const { python, missing } = findPython();
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'sequences.test_iterative', server);
  });

  it('end when their model is unloaded', async () => {
    const waits = await startServer(
      [
        '--model-repository',
        repository,
        '--model-control-mode=explicit',
        '--load-model=endless',
      ].concat('--drain-seconds=1'),
    );
    try {
      const running = infer(waits, 'endless', bodyOf(0, 1));
      await busy(waits, 'endless');
      await control(waits, '/v2/repository/models/endless/unload');
      const answer = await running;
      assert.equal(answer.status, 503, answer.body.toString());
    } finally {
      await waits.stop();
    }
  });
});
