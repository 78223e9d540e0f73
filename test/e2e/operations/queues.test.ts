// Queue policies over the wire, on slow models without batching: limit, timeouts, priorities,
// deadlines, and responses in the order of requests. Source: v2-protocol.md 2 (schedule_policy), 3,
// 10; docs/guides/batching.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel, int64Bytes, type OnnxNode } from '../../../ts/importers/onnx/builder.js';
import { RawClient, encode, messageTypes, type Outcome } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  begun,
  infer,
  metric,
  predict,
  put,
  putDelayModel,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { until } from '../support/polling.js';
import { errorOf, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

/** A run's time. Each test puts its requests into the queue during one run, so this is longer than
 * a busy machine stands still. */
const DELAY_MS = 1000;
/** Longer than any test waits: its requests leave a forming batch by their timeouts. */
const FORMING_MS = 10_000;
const UNAVAILABLE = 14;
const DEADLINE_EXCEEDED = 4;
const INVALID_ARGUMENT = 3;
/** ONNX's number of the type. */
const INT64 = 7;
const types = messageTypes();

const policy = (text: string): string => `dynamic_batching { default_queue_policy { ${text} } }\n`;
const MODELS: Readonly<Record<string, string>> = {
  plain: '',
  limited: policy('max_queue_size: 2'),
  rejecting: policy('timeout_action: REJECT default_timeout_microseconds: 50000'),
  overriding: policy('timeout_action: REJECT allow_timeout_override: true'),
  delaying: policy('timeout_action: DELAY allow_timeout_override: true'),
  forming: `max_batch_size: 8
dynamic_batching {
  max_queue_delay_microseconds: ${FORMING_MS * 1000}
  default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 50000 }
}
`,
  levels: `dynamic_batching {
  priority_levels: 3 default_priority_level: 2
  priority_queue_policy { key: 3 value { max_queue_size: 1 } }
}
`,
};
const SIZE = 256;
const STEPS = 40;

const v2Rows = (rows: readonly (readonly number[])[]): string =>
  JSON.stringify({
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [rows.length, rows[0]?.length ?? 0],
        data: rows.flat(),
      },
    ],
  });

/** y = x, one INT64 at a time, after work proportional to its value. */
function working(): Uint8Array {
  const nodes: OnnxNode[] = [
    { op: 'Reshape', inputs: ['x', 'one'], outputs: ['rows'] },
    {
      op: 'Concat',
      inputs: ['rows', 'size'],
      outputs: ['shape'],
      attributes: { axis: { int: 0 } },
    },
    { op: 'ConstantOfShape', inputs: ['shape'], outputs: ['m0'] },
  ];
  for (let step = 0; step < STEPS; step += 1) {
    nodes.push({ op: 'MatMul', inputs: [`m${step}`, 'w'], outputs: [`m${step + 1}`] });
  }
  nodes.push(
    {
      op: 'ReduceMean',
      inputs: [`m${STEPS}`],
      outputs: ['mean'],
      attributes: { keepdims: { int: 0 } },
    },
    { op: 'Cast', inputs: ['mean'], outputs: ['zero'], attributes: { to: { int: INT64 } } },
    { op: 'Add', inputs: ['x', 'zero'], outputs: ['y'] },
  );
  const port = (name: string) => ({ name, type: 'int64', shape: ['batch', 1] }) as const;
  const data = new Uint8Array(SIZE * SIZE * 4);
  return encodeModel({
    graph: {
      name: 'working',
      inputs: [port('x')],
      outputs: [port('y')],
      nodes,
      initializers: [
        { name: 'w', type: 'float', dims: [SIZE, SIZE], data },
        { name: 'one', type: 'int64', dims: [1], data: int64Bytes([1]) },
        { name: 'size', type: 'int64', dims: [1], data: int64Bytes([SIZE]) },
      ],
    },
  });
}

const WORKING = `max_batch_size: 1
input { name: "x" data_type: TYPE_INT64 dims: [ 1 ] }
output { name: "y" data_type: TYPE_INT64 dims: [ 1 ] }
instance_group { count: 2 kind: KIND_CPU }
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
`;
const MUCH = 10_000;
const LITTLE = 1;

describe('queue policies', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let grpc: RawClient;
  before(async () => {
    const repository = folders.repository('queues', []);
    for (const [name, text] of Object.entries(MODELS)) {
      putDelayModel(repository, name, DELAY_MS, text);
    }
    const model = working();
    for (const [name, ordered] of [
      ['ordered', true],
      ['unordered', false],
    ] as const) {
      put(join(repository, name, '1', 'model.onnx'), model);
      put(
        join(repository, name, 'config.pbtxt'),
        `${WORKING}dynamic_batching { preserve_ordering: ${ordered} }\n`,
      );
    }
    server = await startServer(['--model-repository', repository, '--exec-mode', 'queued']);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
    folders.remove();
  });

  const ask = (model: string, value: number, parameters?: object): Promise<RawResponse> =>
    infer(server, model, v2Body('x', [value], parameters));
  const askGrpc = (
    model: string,
    deadlineMs?: number,
    parameters: readonly object[] = [],
    shape = [1],
  ): Promise<Outcome> =>
    grpc.unary(
      '/inference.GRPCInferenceService/ModelInfer',
      encode(types, 'inference.ModelInferRequest', {
        model_name: model,
        parameters,
        inputs: [{ name: 'x', datatype: 'FP32', shape, contents: { fp32_contents: [7] } }],
      }),
      deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
    );
  const pending = (model: string) =>
    metric(server, 'nv_inference_pending_request_count', `model="${model}"`);
  const rejected = (model: string) =>
    metric(server, 'nv_inference_request_failure', `model="${model}"`, 'reason="REJECTED"');
  /** Requests that run and wait, in this order. */
  const occupy = async (model: string, count: number) => {
    const connections = [];
    for (let i = 0; i < count; i += 1) {
      connections.push(await begun(server, model, v2Body('x', [i])));
    }
    return connections;
  };
  const timed = async <T>(work: Promise<T>) => {
    const beganMs = performance.now();
    return { result: await work, ms: performance.now() - beganMs };
  };

  it('max_queue_size refuses the next one at once', async () => {
    const waiting = await occupy('limited', 3);
    await until('two wait', async () => (await pending('limited')) === 2);
    const refused = [];
    for (let i = 0; i < 5; i += 1) refused.push(await timed(ask('limited', 9)));
    for (const { result } of refused) {
      assert.deepEqual(
        [result.status, errorOf(result)],
        [503, "model 'limited': the request queue is full (limit 2 requests)"],
      );
    }
    const fastest = Math.min(...refused.map(({ ms }) => ms));
    assert.ok(fastest < 50, `${fastest} ms`);
    const { code, details } = await askGrpc('limited');
    assert.deepEqual(
      [code, details],
      [UNAVAILABLE, "model 'limited': the request queue is full (limit 2 requests)"],
    );
    for (const [i, connection] of waiting.entries()) {
      assert.deepEqual(v2Values(await connection.response()), [i]);
    }
    assert.equal(await rejected('limited'), 6);
    assert.deepEqual(v2Values(await ask('limited', 5)), [5]);
  });

  it('a timeout with REJECT refuses requests that wait too long while the model is busy', async () => {
    const [running] = await occupy('rejecting', 1);
    const late = await timed(ask('rejecting', 1));
    assert.equal(late.result.status, 503);
    assert.match(errorOf(late.result), /^model 'rejecting': Request timeout expired/);
    assert.ok(late.ms < DELAY_MS, `${late.ms} ms`);
    assert.equal((await askGrpc('rejecting')).code, UNAVAILABLE);
    assert.deepEqual(v2Values(await running!.response()), [0]);
    assert.equal(await rejected('rejecting'), 2);
  });

  it('the parameter timeout counts where the policy allows it, and nowhere else', async () => {
    for (const [model, status] of [
      ['overriding', 503],
      ['limited', 200],
    ] as const) {
      const [running] = await occupy(model, 1);
      const answer = await ask(model, 1, { timeout: 20_000 });
      assert.equal(answer.status, status, model);
      assert.equal((await running!.response()).status, 200);
    }
    const [running] = await occupy('overriding', 1);
    const outcome = await askGrpc('overriding', undefined, [
      { key: 'timeout', value: { int64_param: 20_000 } },
    ]);
    assert.equal(outcome.code, UNAVAILABLE, outcome.details);
    assert.equal((await running!.response()).status, 200);
    const wrong = await ask('overriding', 1, { timeout: 'soon' });
    assert.equal(wrong.status, 400);
    assert.match(errorOf(wrong), /timeout/);
    const typed = await askGrpc('overriding', undefined, [
      { key: 'timeout', value: { string_param: 'soon' } },
    ]);
    assert.equal(typed.code, INVALID_ARGUMENT, typed.details);
  });

  it('a timeout with DELAY runs a request that waited too long after the others', async () => {
    const order: string[] = [];
    const named = (name: string, work: Promise<RawResponse>) =>
      work.then((response) => {
        assert.equal(response.status, 200, response.body.toString());
        order.push(name);
      });
    const [running] = await occupy('delaying', 1);
    const late = named(
      'late',
      (await begun(server, 'delaying', v2Body('x', [1], { timeout: 1000 }))).response(),
    );
    const patient = named(
      'patient',
      (await begun(server, 'delaying', v2Body('x', [2]))).response(),
    );
    assert.equal((await running!.response()).status, 200);
    await Promise.all([late, patient]);
    assert.deepEqual(order, ['patient', 'late']);
    assert.equal(await rejected('delaying'), 0);
  });

  it('a timeout counts while a batch is formed', async () => {
    const late = await timed(infer(server, 'forming', v2Rows([[1]])));
    assert.equal(late.result.status, 503, late.result.body.toString());
    assert.ok(late.ms < FORMING_MS, `${late.ms} ms`);
    const beganMs = performance.now();
    const outcome = await askGrpc('forming', 20, [], [1, 1]);
    assert.equal(outcome.code, DEADLINE_EXCEEDED, outcome.details);
    assert.ok(performance.now() - beganMs < FORMING_MS);
  });

  it('priorities are served first, the default level without one', async () => {
    const order: number[] = [];
    const [running] = await occupy('levels', 1);
    const answers = [];
    const asked = [{ priority: 3 }, {}, { priority: 2 }, { priority: 1 }];
    for (const [i, parameters] of asked.entries()) {
      const connection = await begun(server, 'levels', v2Body('x', [i], parameters));
      answers.push(connection.response().then((response) => order.push(v2Values(response)[0]!)));
    }
    const full = await ask('levels', 9, { priority: 3 });
    assert.equal(full.status, 503);
    assert.match(errorOf(full), /limit 1 requests/);
    assert.equal((await running!.response()).status, 200);
    await Promise.all(answers);
    assert.deepEqual(order, [3, 1, 2, 0]);
  });

  it('a gRPC deadline takes a waiting request out of the queue', async () => {
    const [running] = await occupy('plain', 1);
    const late = await timed(askGrpc('plain', 60));
    assert.equal(late.result.code, DEADLINE_EXCEEDED);
    assert.ok(late.ms < DELAY_MS, `${late.ms} ms`);
    await until('nothing waits', async () => (await pending('plain')) === 0);
    assert.deepEqual(v2Values(await running!.response()), [0]);
    const counted = await metric(server, 'nv_inference_request_success', 'model="plain"');
    assert.equal(counted, 1);
  });

  for (const [model, ordered] of [
    ['ordered', true],
    ['unordered', false],
  ] as const) {
    it(`answers ${ordered ? 'keep' : 'do not wait for'} the order of requests: ${model}`, async () => {
      const body = (value: number) =>
        JSON.stringify({
          inputs: [{ name: 'x', datatype: 'INT64', shape: [1, 1], data: [value] }],
        });
      await infer(server, model, body(LITTLE));
      const done: number[] = [];
      const keep = async (response: Promise<RawResponse>) => {
        done.push(v2Values(await response)[0] ?? 0);
      };
      const first = keep((await begun(server, model, body(MUCH))).response());
      const second = keep((await begun(server, model, body(LITTLE))).response());
      await Promise.all([first, second]);
      assert.deepEqual(done, ordered ? [MUCH, LITTLE] : [LITTLE, MUCH]);
    });
  }
});

describe('--rest-api-timeout-in-ms', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  it('answers 504 to requests that wait longer, in both REST protocols, not in gRPC', async (context) => {
    const repository = folders.repository('rest', []);
    putDelayModel(repository, 'plain', DELAY_MS);
    putDelayModel(repository, 'quick', 0);
    putDelayModel(repository, 'forming', 0, MODELS['forming']?.replace('50000', '0'));
    const server = await startServer([
      '--model-repository',
      repository,
      '--rest-api-timeout-in-ms',
      '60',
    ]);
    context.after(() => server.stop());
    const running = await begun(server, 'plain', v2Body('x', [0]));
    const beganMs = performance.now();
    const [v2, v1] = await Promise.all([
      infer(server, 'plain', v2Body('x', [1])),
      predict(server, 'plain', '{"instances":[1.0]}'),
    ]);
    assert.ok(performance.now() - beganMs < DELAY_MS, 'they waited for the model');
    assert.deepEqual([v2.status, v1.status], [504, 504]);
    assert.match(errorOf(v2), /^model 'plain': the request's deadline passed/);
    assert.match(errorOf(v1), /deadline/);
    // The limit includes the run: the first request gets no response either.
    assert.equal((await running.response()).status, 504);
    const failures = await metric(
      server,
      'nv_inference_request_failure',
      'model="plain"',
      'reason="REJECTED"',
    );
    assert.equal(failures, 3);
    assert.deepEqual(v2Values(await infer(server, 'quick', v2Body('x', [5]))), [5]);
    // Requests of a batch that is being formed wait as well.
    const forming = await infer(server, 'forming', v2Rows([[1]]));
    assert.equal(forming.status, 504, forming.body.toString());
  });
});
