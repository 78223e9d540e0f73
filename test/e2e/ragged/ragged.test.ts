// Ragged batches of ONNX models over REST and gRPC: requests of different lengths run together and
// are answered as if alone; each kind of batch_input; texts; tritonclient. Source: Triton's
// ragged_batching.md; docs/guides/batching.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel, floatBytes, int64Bytes } from '../../../ts/importers/onnx/builder.js';
import type { OnnxModel, OnnxNode } from '../../../ts/importers/onnx/builder.js';
import { attr, graph, info, savedModel } from '../../unit/importers/tensorflow/messages.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, predict, put, statistics } from '../support/operating.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { errorOf, exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const INT64 = 7;
const MAX_BATCH = 8;

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes = {},
): OnnxNode => ({
  op,
  inputs,
  outputs: [output],
  attributes,
});
const integer = (name: string, value: number, dims: readonly number[] = []) =>
  ({ name, type: 'int64', dims, data: int64Bytes([value]) }) as const;

/**
 * x [elements], ENDS [requests] -> sum [requests, 1]: of each request's elements, in order; rest
 * [elements]: x less the sum of its request.
 */
const SEGMENTS: OnnxModel = {
  opsets: { '': 18 },
  graph: {
    name: 'segments',
    inputs: [
      { name: 'x', type: 'float', shape: ['elements'] },
      { name: 'ENDS', type: 'int32', shape: ['requests'] },
    ],
    outputs: [
      { name: 'sum', type: 'float', shape: ['requests', 1] },
      { name: 'rest', type: 'float', shape: ['elements'] },
    ],
    initializers: [
      integer('zero', 0),
      integer('one', 1),
      integer('first', 0, [1]),
      integer('second', 1, [1]),
    ],
    nodes: [
      node('Size', ['x'], 'count'),
      node('Range', ['zero', 'count', 'one'], 'places'),
      node('Unsqueeze', ['places', 'second'], 'columns'),
      node('Cast', ['ENDS'], 'ends', { to: { int: INT64 } }),
      node('Unsqueeze', ['ends', 'first'], 'row'),
      node('LessOrEqual', ['row', 'columns'], 'passed'),
      node('Cast', ['passed'], 'ones', { to: { int: INT64 } }),
      node('ReduceSum', ['ones', 'second'], 'owners', { keepdims: { int: 0 } }),
      node('Shape', ['ends'], 'requests'),
      node('ConstantOfShape', ['requests'], 'zeros'),
      node('ScatterElements', ['zeros', 'owners', 'x'], 'sums', { reduction: { string: 'add' } }),
      node('Unsqueeze', ['sums', 'second'], 'sum'),
      node('Gather', ['sums', 'owners'], 'own_sums'),
      node('Sub', ['x', 'own_sums'], 'rest'),
    ],
  },
};

const KINDS = {
  count: 'BATCH_ELEMENT_COUNT',
  ends: 'BATCH_ACCUMULATED_ELEMENT_COUNT',
  borders: 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
  most: 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE',
  shapes: 'BATCH_ITEM_SHAPE',
  flat: 'BATCH_ITEM_SHAPE_FLATTEN',
};

/** Returns every computed input, plus 0, and the number of elements. */
const COMPUTED: OnnxModel = {
  graph: {
    name: 'computed',
    inputs: [
      { name: 'x', type: 'float', shape: ['elements'] },
      ...Object.keys(KINDS).map((name) => ({
        name: name.toUpperCase(),
        type: 'float' as const,
        shape: name === 'shapes' ? ['rows', 2] : [`n_${name}`],
      })),
    ],
    outputs: [
      { name: 'elements', type: 'int64', shape: [1] },
      ...Object.keys(KINDS).map((name) => ({
        name,
        type: 'float' as const,
        shape: name === 'shapes' ? ['rows', 2] : [`n_${name}`],
      })),
    ],
    initializers: [{ name: 'zero', type: 'float', dims: [], data: floatBytes([0]) }],
    nodes: [
      node('Shape', ['x'], 'elements'),
      ...Object.keys(KINDS).map((name) => node('Add', [name.toUpperCase(), 'zero'], name)),
    ],
  },
};

/** y [elements] = x [elements], texts. */
const TEXTS: OnnxModel = {
  graph: {
    name: 'texts',
    inputs: [{ name: 'x', type: 'string', shape: ['elements'] }],
    outputs: [{ name: 'y', type: 'string', shape: ['elements'] }],
    nodes: [node('Identity', ['x'], 'y')],
  },
};

/** y = -x, TensorFlow's; the signature has x [-1], or any shape. */
function negative(dims?: readonly number[]): Uint8Array {
  const float = attr.type(1);
  return savedModel([
    {
      tags: ['serve'],
      signatures: {
        serving_default: (writer) => {
          writer
            .message(1, (entry) => entry.string(1, 'x').message(2, info('x:0', 1, dims)))
            .message(2, (entry) => entry.string(1, 'y').message(2, info('y:0', 1, dims)))
            .string(3, 'tensorflow/serving/predict');
        },
      },
      graph: graph([
        { name: 'x', op: 'Placeholder', attributes: { dtype: float } },
        { name: 'y', op: 'Neg', inputs: ['x'], attributes: { T: float } },
      ]),
    },
  ]);
}

const computed = (kind: string, target: string, type: string): string =>
  `batch_input { kind: ${kind} target_name: "${target}" data_type: ${type} source_input: "x" }\n`;
const scatter = (target: string): string =>
  `batch_output { target_name: "${target}" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }\n`;
const raggedInput = (type: string, dims = '-1'): string =>
  `input { name: "x" data_type: ${type} dims: [ ${dims} ] allow_ragged_batch: true }\n`;
const output = (name: string, type: string, dims: string): string =>
  `output { name: "${name}" data_type: ${type} dims: [ ${dims} ] }\n`;
const BATCHING = `max_batch_size: ${MAX_BATCH}
dynamic_batching { max_queue_delay_microseconds: 3000 }
`;

const SEGMENTS_CONFIG =
  BATCHING +
  raggedInput('TYPE_FP32') +
  computed('BATCH_ACCUMULATED_ELEMENT_COUNT', 'ENDS', 'TYPE_INT32') +
  output('sum', 'TYPE_FP32', '1') +
  output('rest', 'TYPE_FP32', '-1') +
  scatter('rest');
const ISOLATED = 'parameters { key: "isolation" value { string_value: "process" } }\n';

const CONFIGS: Readonly<Record<string, readonly [OnnxModel, string]>> = {
  segments: [SEGMENTS, SEGMENTS_CONFIG],
  isolated: [SEGMENTS, SEGMENTS_CONFIG + ISOLATED],
  single: [
    SEGMENTS,
    raggedInput('TYPE_FP32') +
      computed('BATCH_ACCUMULATED_ELEMENT_COUNT', 'ENDS', 'TYPE_INT32') +
      output('sum', 'TYPE_FP32', '-1, 1') +
      output('rest', 'TYPE_FP32', '-1') +
      scatter('rest'),
  ],
  computed: [
    COMPUTED,
    BATCHING +
      raggedInput('TYPE_FP32', '-1, 2') +
      Object.entries(KINDS)
        .map(([name, kind]) => computed(kind, name.toUpperCase(), 'TYPE_FP32'))
        .join(''),
  ],
  texts: [
    TEXTS,
    BATCHING + raggedInput('TYPE_STRING') + output('y', 'TYPE_STRING', '-1') + scatter('y'),
  ],
};

interface Output {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
}

const bodyOf = (datatype: string, shape: readonly number[], data: readonly unknown[]): string =>
  JSON.stringify({ inputs: [{ name: 'x', datatype, shape, data }] });

describe('ragged batches', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let repository: string;
  before(async () => {
    repository = folders.repository('ragged', []);
    for (const [name, [model, config]] of Object.entries(CONFIGS)) {
      put(join(repository, name, '1', 'model.onnx'), encodeModel(model));
      put(join(repository, name, 'config.pbtxt'), config);
    }
    for (const [name, model] of [
      ['tensorflow', negative([-1])],
      ['any_shape', negative()],
    ] as const) {
      put(join(repository, name, '1', 'model.savedmodel', 'saved_model.pb'), model);
      put(
        join(repository, name, 'config.pbtxt'),
        `platform: "tensorflow_savedmodel"\n${BATCHING}${raggedInput('TYPE_FP32')}` +
          output('y', 'TYPE_FP32', '-1') +
          scatter('y'),
      );
    }
    server = await startServer(['--model-repository', repository]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const outputsOf = async (model: string, body: string): Promise<readonly Output[]> => {
    const answer = await infer(server, model, body);
    assert.equal(answer.status, 200, answer.body.toString());
    return (jsonOf(answer) as { outputs: readonly Output[] }).outputs;
  };

  it('are in the metadata as clients send them, without the computed inputs', async () => {
    const metadata = jsonOf(await exchange(server.httpPort, 'GET', '/v2/models/segments')) as {
      inputs: readonly { name: string; shape: readonly number[] }[];
      outputs: readonly { name: string; shape: readonly number[] }[];
    };
    assert.deepEqual(
      metadata.inputs.map(({ name, shape }) => [name, shape]),
      [['x', [-1, -1]]],
    );
    assert.deepEqual(metadata.outputs.at(-1)?.shape, [-1, -1]);
    const config = jsonOf(
      await exchange(server.httpPort, 'GET', '/v2/models/segments/config'),
    ) as Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
    assert.deepEqual(config['batch_input'], [
      {
        kind: 'BATCH_ACCUMULATED_ELEMENT_COUNT',
        target_name: ['ENDS'],
        data_type: 'TYPE_INT32',
        source_input: ['x'],
      },
    ]);
    assert.equal(config['input']?.[0]?.['allow_ragged_batch'], true);
  });

  it('give the model every kind of computed input', async () => {
    const data = Array.from({ length: 12 }, (_, i) => i);
    const outputs = await outputsOf('computed', bodyOf('FP32', [2, 3, 2], data));
    assert.deepEqual(
      outputs.map(({ name, shape, data: values }) => [name, shape, values]),
      [
        ['elements', [1], [12]],
        ['count', [1], [12]],
        ['ends', [1], [12]],
        ['borders', [2], [0, 12]],
        ['most', [12], Array.from({ length: 12 }, () => 0)],
        ['shapes', [2, 2], [3, 2, 3, 2]],
        ['flat', [4], [3, 2, 3, 2]],
      ],
    );
  });

  it('answer each of many requests at once as if alone', async () => {
    const lengths = Array.from({ length: 60 }, (_, i) => (i * 7) % 11);
    const bodies = lengths.map((length, i) =>
      bodyOf(
        'FP32',
        [1, length],
        Array.from({ length }, (_, k) => Math.fround(Math.sin(i * 13 + k))),
      ),
    );
    const alone: (readonly Output[])[] = [];
    for (const body of bodies) alone.push(await outputsOf('segments', body));
    const before = await statistics(server, 'segments');
    for (const model of ['segments', 'isolated']) {
      const together = await Promise.all(bodies.map((body) => outputsOf(model, body)));
      assert.deepEqual(together, alone);
    }
    assert.deepEqual(
      alone.map((outputs) => outputs[1]?.shape),
      lengths.map((length) => [1, length]),
    );
    const { execution_count: runs, batch_stats: batches } = await statistics(server, 'segments');
    assert.ok(runs - before.execution_count < lengths.length, `${runs} runs`);
    assert.ok(batches.every(({ batch_size: size }) => size <= MAX_BATCH));
  });

  it('have no batch dimension without max_batch_size', async () => {
    const outputs = await outputsOf('single', bodyOf('FP32', [3], [1, 2, 4]));
    assert.deepEqual(
      outputs.map(({ shape, data }) => [shape, data]),
      [
        [[1, 1], [7]],
        [[3], [-6, -5, -3]],
      ],
    );
  });

  it('return texts to the requests that sent them', async () => {
    const words = Array.from({ length: 40 }, (_, i) =>
      Array.from({ length: i % 5 }, (_w, k) => `größe ${i}.${k}`),
    );
    const got = await Promise.all(
      words.map(
        async (data) => (await outputsOf('texts', bodyOf('BYTES', [1, data.length], data)))[0],
      ),
    );
    assert.deepEqual(
      got.map((one) => [one?.shape, one?.data]),
      words.map((data) => [[1, data.length], data]),
    );
  });

  it('work for TensorFlow models, over both REST protocols', async () => {
    for (const model of ['tensorflow', 'any_shape']) {
      await Promise.all(
        Array.from({ length: 24 }, async (_, i) => {
          const x = Array.from({ length: 1 + (i % 4) }, (_x, k) => i + k);
          const y = x.map((one) => -one);
          if (i % 2 === 0) {
            const [got] = await outputsOf(model, bodyOf('FP32', [1, x.length], x));
            assert.deepEqual([got?.shape, got?.data], [[1, x.length], y]);
            return;
          }
          const answer = await predict(server, model, JSON.stringify({ instances: [x] }));
          assert.equal(answer.status, 200, answer.body.toString());
          assert.deepEqual(jsonOf(answer), { predictions: [y] });
        }),
      );
    }
  });

  it('refuse a wrong request alone', async () => {
    const wrong = bodyOf('FP32', [1, 2, 1], [1, 2]);
    const answers = await Promise.all([
      infer(server, 'segments', bodyOf('FP32', [1, 2], [1, 2])),
      infer(server, 'segments', wrong),
      infer(server, 'segments', bodyOf('FP32', [9, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9])),
      infer(server, 'segments', bodyOf('FP32', [1, 3], [1, 2, 4])),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 400, 200],
    );
    const [, rank, rows] = answers;
    assert.ok(rank && rows);
    assert.match(errorOf(rank), /'x'.*\[1,2,1\]/);
    assert.match(errorOf(rows), /batch-size must be <= 8 for 'segments', got 9/);
  });

  it('refuse a model that does not take flat elements', async () => {
    const other = folders.repository('not-flat', []);
    const model: OnnxModel = {
      graph: {
        name: 'plain',
        inputs: [{ name: 'x', type: 'float', shape: ['n', 'm'] }],
        outputs: [{ name: 'y', type: 'float', shape: ['n', 'm'] }],
        nodes: [node('Identity', ['x'], 'y')],
      },
    };
    put(join(other, 'plain', '1', 'model.onnx'), encodeModel(model));
    put(join(other, 'plain', 'config.pbtxt'), `max_batch_size: 4\n${raggedInput('TYPE_FP32')}`);
    await assert.rejects(
      startServer(['--model-repository', other]),
      /input 'x': allow_ragged_batch: expected a model that takes the elements of all requests in shape \[-1\], the model has \[-1,-1\]/,
    );
  });

  it('work with tritonclient', async (context) => {
    const { python, missing } = findPython();
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'ragged.test_triton', server);
  });
});
