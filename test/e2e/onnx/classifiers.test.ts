// Classifiers that end in ZipMap: the tensor is the output and the classes are its labels, over all
// protocols; hand-made ones, and those that converters write, with the libraries' own results.
// Source: ONNX's ai.onnx.ml ZipMap-1; v2-protocol.md 2 (classification).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { OnnxModel, OnnxValue } from '../../../ts/importers/onnx/builder.js';
import { goldenCases, goldenFolder } from '../../conformance/golden-folder.js';
import { decode, encode, RawClient } from '../../unit/protocols/raw-client.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { refusedServer, startServer, type ServalProcess } from '../support/serval-process.js';
import {
  floats,
  folderOf,
  get,
  infer,
  inferOverGrpc,
  near,
  post,
  started,
  textsOf,
  types,
  written,
} from './support.js';

const ROW = [0.25, 0.5, 0.25, 0.125];
const CLASSES = ['blue', 'größer', 'red'];
const X: OnnxValue = { name: 'x', type: 'float', shape: ['n', 3] };

/** p = x as maps from the classes, through `identities` more nodes; and y = x. */
function zipped(labels: object, identities = 0, others: readonly OnnxValue[] = []): OnnxModel {
  const name = (i: number): string => (i === identities ? 'p' : `p${i}`);
  return {
    opsets: { '': 17, 'ai.onnx.ml': 1 },
    graph: {
      name: 'zipped',
      inputs: [X],
      outputs: [
        { name: 'p', type: 'string', container: 'maps' },
        ...others,
        { name: 'y', type: 'float', shape: ['n', 3] },
      ],
      nodes: [
        { op: 'Identity', inputs: ['x'], outputs: ['y'] },
        { op: 'Identity', inputs: ['x'], outputs: ['scores'] },
        {
          op: 'ZipMap',
          domain: 'ai.onnx.ml',
          inputs: ['scores'],
          outputs: [name(0)],
          attributes: labels as never,
        },
        ...Array.from({ length: identities }, (_, i) => ({
          op: 'Identity',
          inputs: [name(i)],
          outputs: [name(i + 1)],
        })),
        ...others.map((one) => ({ op: 'SequenceConstruct', inputs: ['x'], outputs: [one.name] })),
      ],
    },
  };
}

const STRINGS = { classlabels_strings: { strings: CLASSES } };
const NUMBERS = { classlabels_int64s: { ints: [-7n, 0n, 3n] } };
const body = (outputs: object = {}): object => ({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 3], data: [0.1, 0.7, 0.2, 0.5, 0.2, 0.3] }],
  ...outputs,
});
const COUNT = { parameters: { classification: 2 } };

describe('hand-made classifiers', () => {
  it('answer the tensor, and their classes as labels', async (t) => {
    const folder = folderOf(t);
    const server = await started(
      t,
      written(folder, 'strings.onnx', zipped(STRINGS)),
      written(folder, 'numbers.onnx', zipped(NUMBERS, 2)),
    );
    for (const [name, labels] of [
      ['strings', CLASSES],
      ['numbers', ['-7', '0', '3']],
    ] as const) {
      const { p, y } = await infer(server, name, body());
      assert.deepEqual([p?.shape, p?.datatype], [[2, 3], 'FP32']);
      assert.deepEqual(p?.data, y?.data);
      const named = await infer(server, name, body({ outputs: [{ name: 'p', ...COUNT }] }));
      assert.deepEqual(named['p']?.data, [
        `0.700000:1:${labels[1]}`,
        `0.200000:2:${labels[2]}`,
        `0.500000:0:${labels[0]}`,
        `0.300000:2:${labels[2]}`,
      ]);
      const metadata = await get(server, `/v2/models/${name}`);
      const [output] = metadata['outputs'] as readonly object[];
      const shape = [-1, 3];
      assert.deepEqual(output, { name: 'p', datatype: 'FP32', shape, parameters: { labels } });
      const v1 = await post(server, `/v1/models/${name}:predict`, { instances: [[0, 1, 0]] });
      assert.deepEqual(v1, { predictions: [{ p: [0, 1, 0], y: [0, 1, 0] }] });
    }
  });

  it('answer classify with pairs of label and score, from features with the names of inputs', async (t) => {
    const server = await started(t, written(folderOf(t), 'colours.onnx', zipped(STRINGS)));
    const url = '/v1/models/colours:classify';
    const examples = [{ x: [0.5, 0.25, 0.125], id: 'a' }, { x: [1, 2, 3] }];
    const rows = [
      [0.5, 0.25, 0.125],
      [1, 2, 3],
    ];
    const pairs = rows.map((row) => row.map((score, i) => [CLASSES[i], score]));
    assert.deepEqual(await post(server, url, { examples }), { results: pairs });
    const context = { x: [0.5, 0.25, 0.125] };
    assert.deepEqual(await post(server, url, { context, examples: [{}, { x: [1, 2, 3] }] }), {
      results: pairs,
    });
    assert.deepEqual(await classifyOverGrpc(server, 'colours', 'x', rows), {
      code: 0,
      rows: pairs,
    });
    const wanted = "'x' for input 'x' (FP32 [-1,3])";
    for (const [example, error] of [
      [{ y: [1, 2, 3] }, `example 0: expected a feature ${wanted}, got 'y'`],
      [{ x: [1, 2] }, `example 0: feature ${wanted}: expected 3 values, got 2`],
      [{ x: ['a', 'b', 'c'] }, `example 0: feature ${wanted}: expected numbers, got texts`],
    ] as const) {
      assert.deepEqual(await post(server, url, { examples: [example] }), { error });
    }
    const refused = await classifyOverGrpc(server, 'colours', 'z', rows);
    assert.deepEqual(refused, {
      code: INVALID_ARGUMENT,
      details: `example 0: expected a feature ${wanted}, got 'z'`,
    });
    const openapi = await get(server, '/openapi.json');
    assert.ok(url in (openapi['paths'] as object));
    const regress = await post(server, '/v1/models/colours:regress', { examples });
    assert.match(String(regress['error']), /^Expected one output Tensor/);
  });

  it('are for predict only where method names are checked', async (t) => {
    const path = written(folderOf(t), 'colours.onnx', zipped(STRINGS));
    const server = await started(t, path, '--enable-signature-method-name-check');
    const answer = await post(server, '/v1/models/colours:classify', {
      examples: [{ x: [1, 2, 3] }],
    });
    assert.match(String(answer['error']), /^Expected classification signature method_name/);
  });

  it('leave other sequences out, with a line in the log', async (t) => {
    const others = [{ name: 'list', type: 'float', container: 'sequence' }] as const;
    const path = written(folderOf(t), 'mixed.onnx', zipped(STRINGS, 0, others));
    const server = await started(t, path);
    assert.deepEqual(Object.keys(await infer(server, 'mixed', body())), ['p', 'y']);
    assert.match(server.stderr, /not served.*output .*list.* is of type sequence/);
  });

  it('are refused by name where no output is a tensor', async (t) => {
    const model = zipped(STRINGS, 0, [{ name: 'list', type: 'float', container: 'sequence' }]);
    const outputs = model.graph.outputs.filter(({ name }) => name === 'list');
    const path = written(folderOf(t), 'list.onnx', {
      ...model,
      graph: { ...model.graph, outputs },
    });
    const server = await refusedServer(path);
    assert.match(server.stderr, /output \\?"list\\?" is of type sequence; only tensors are served/);
    assert.match(server.stderr, /zipmap/);
  });

  it('name an input that is a sequence', async (t) => {
    const path = written(folderOf(t), 'sequence.onnx', {
      graph: {
        name: 'sequence',
        inputs: [{ name: 'given', type: 'float', container: 'sequence' }, X],
        outputs: [{ name: 'y', type: 'float', shape: ['n', 3] }],
        nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
      },
    });
    const server = await refusedServer(path);
    assert.match(server.stderr, /input \\?"given\\?" is of type sequence; /);
  });
});

const CLASSIFY = '/tensorflow.serving.PredictionService/Classify';
const REQUEST = 'tensorflow.serving.ClassificationRequest';
const RESPONSE = 'tensorflow.serving.ClassificationResponse';
const INVALID_ARGUMENT = 3;

interface Classified {
  readonly code: number;
  readonly details?: string;
  readonly rows?: readonly (readonly (readonly [string, number])[])[];
}

/** TensorFlow Serving's Classify with Examples that have one feature of floats. */
async function classifyOverGrpc(
  server: ServalProcess,
  model: string,
  feature: string,
  rows: readonly (readonly number[])[],
): Promise<Classified> {
  const examples = rows.map((value) => ({
    features: { feature: [{ key: feature, value: { float_list: { value } } }] },
  }));
  const input = { example_list: { examples } };
  const message = { model_spec: { name: model }, input };
  const client = new RawClient(server.grpcPort);
  const call = await client.unary(CLASSIFY, encode(types, REQUEST, message));
  client.close();
  if (call.message === undefined) return { code: call.code, details: call.details };
  const { result } = decode(types, RESPONSE, call.message) as unknown as {
    result: {
      classifications: readonly {
        classes: readonly { readonly label: string; readonly score: number }[];
      }[];
    };
  };
  return {
    code: call.code,
    rows: result.classifications.map(({ classes }) =>
      classes.map(({ label, score }) => [label, score] as const),
    ),
  };
}

interface Case {
  readonly input: string;
  readonly label: string;
  readonly probabilities: string;
  readonly rows: readonly (readonly number[])[];
  /** null: its probabilities already are a tensor, whose columns have no names. */
  readonly classes: readonly string[] | null;
  readonly labels: readonly (string | number)[];
  readonly answers: readonly (readonly number[])[];
}

describe('classifiers as their converters write them', () => {
  for (const [of, library, least] of [
    ['classifiers', 'scikit-learn', 10],
    ['boosters', 'CatBoost', 5],
  ] as const) {
    const folder = goldenFolder(of);
    const skip = folder === undefined && `no goldens: ${library} cannot be installed here`;
    it(`answer as their libraries do: ${of}`, { skip, timeout: 600_000 }, async (t) => {
      assert.ok(folder);
      const names = goldenCases(folder);
      assert.ok(names.length >= least, names.join());
      const server = await startServer(names.map((name) => `${name}=${folder}/${name}/model.onnx`));
      t.after(() => server.stop());
      for (const name of names) {
        await t.test(name, async () => {
          const golden = JSON.parse(readFileSync(join(folder, name, 'case.json'), 'utf8')) as Case;
          await compare(server, name, golden);
        });
      }
    });
  }
});

async function compare(server: ServalProcess, name: string, golden: Case): Promise<void> {
  const { rows, classes, answers } = golden;
  const shape = [rows.length, ROW.length];
  const input = { name: golden.input, datatype: 'FP32', shape };
  const outputs = await infer(server, name, { inputs: [{ ...input, data: rows.flat() }] });
  near(outputs[golden.probabilities]?.data as number[], answers.flat(), `${name} over V2`);
  assert.deepEqual(outputs[golden.label]?.data, golden.labels);
  const columns = answers[0]?.length;
  assert.deepEqual(outputs[golden.probabilities]?.shape, [rows.length, columns]);

  const v1 = await post(server, `/v1/models/${name}:predict`, { instances: rows });
  const predictions = v1['predictions'] as readonly Record<string, unknown>[];
  near(
    predictions.flatMap((one) => one[golden.probabilities] as number[]),
    answers.flat(),
    `${name} over V1`,
  );
  assert.deepEqual(
    predictions.map((one) => one[golden.label]),
    golden.labels,
  );

  await compareClassify(server, name, golden);

  const bytes = Buffer.from(new Float32Array(rows.flat()).buffer);
  const message = { model_name: name, inputs: [input], raw_input_contents: [bytes] };
  const raw = await inferOverGrpc(server, message);
  near(floats(raw[golden.probabilities] ?? Buffer.alloc(0)), answers.flat(), `${name} over gRPC`);
  if (classes !== null) {
    const classified = await inferOverGrpc(server, {
      ...message,
      outputs: [
        {
          name: golden.probabilities,
          parameters: [{ key: 'classification', value: { int64_param: 1 } }],
        },
      ],
    });
    const best = answers.map((row) => row.indexOf(Math.max(...row)));
    const texts = textsOf(classified[golden.probabilities] ?? Buffer.alloc(0));
    assert.deepEqual(
      texts.map((text) => text.split(':').slice(1).join(':')),
      best.map((index) => `${index}:${classes[index]}`),
    );
  }
  const metadata = await exchange(server.httpPort, 'GET', `/v2/models/${name}`);
  const { outputs: shown } = jsonOf(metadata) as { outputs: readonly { name: string }[] };
  const output = shown.find((one) => one.name === golden.probabilities) as object;
  const { parameters } = output as { parameters?: object };
  assert.deepEqual(parameters, classes === null ? undefined : { labels: classes });
}

/** V1's classify and gRPC's Classify, which a model without class names refuses. */
async function compareClassify(server: ServalProcess, name: string, golden: Case): Promise<void> {
  const { rows, classes, answers } = golden;
  const examples = rows.map((row) => ({ [golden.input]: row }));
  const v1 = await post(server, `/v1/models/${name}:classify`, { examples });
  const grpc = await classifyOverGrpc(server, name, golden.input, rows);
  if (classes === null) {
    const refusal = /^No classification inputs found in SignatureDef: /;
    assert.match(String(v1['error']), refusal);
    assert.match(String(grpc.details), refusal);
    return;
  }
  for (const results of [v1['results'] as Classified['rows'], grpc.rows]) {
    assert.ok(results, JSON.stringify([v1, grpc]));
    const labels = results.map((row): string[] => row.map(([label]) => label));
    assert.deepEqual(labels, Array(rows.length).fill(classes));
    const scores = results.flat().map(([, score]) => score);
    near(scores, answers.flat(), `${name}: classify`);
  }
}
