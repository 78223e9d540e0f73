// Models that couple the rows of a batch in ways that made-up rows do not show: a default server
// answers each request as alone, whatever arrives beside it. Source: docs/guides/batching.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { floatBytes, int64Bytes } from '../../../ts/importers/onnx/builder.js';
import type {
  OnnxAttribute,
  OnnxModel,
  OnnxNode,
  OnnxTensor,
} from '../../../ts/importers/onnx/builder.js';
import { generator } from '../support/joining-zoo.js';
import { ModelFolders } from '../support/model-folders.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const N = undefined;
const WIDTH = 12;
const CALLERS = 4;
const REQUESTS_EACH = 60;
const NOISY = 6;

const op = (
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, OnnxAttribute>> = {},
): OnnxNode => ({ op: name, inputs, outputs, attributes });

const longs = (name: string, values: readonly number[]): OnnxTensor => ({
  name,
  type: 'int64',
  dims: [values.length],
  data: int64Bytes(values),
});

function floats(name: string, dims: readonly number[], seed: number): OnnxTensor {
  const next = generator(seed);
  const count = dims.reduce((product, dim) => product * dim, 1);
  const values = Array.from({ length: count }, () => next() * 2 - 1);
  return { name, type: 'float', dims, data: floatBytes(values) };
}

interface Coupled {
  readonly model: OnnxModel;
  readonly datatype: 'FP32' | 'INT64' | 'BYTES';
  /** The answer to `asked` is compared; `beside` arrives at the same time. */
  readonly asked: readonly (number | string)[];
  readonly beside: readonly (number | string)[];
  readonly joined?: boolean;
}

function labelled(nodes: readonly OnnxNode[], seed: number): OnnxModel {
  return {
    graph: {
      name: 'coupled',
      inputs: [{ name: 'x', type: 'float', shape: [N, WIDTH] }],
      outputs: [{ name: 'y', type: 'int64', shape: [N] }],
      nodes: [
        ...nodes,
        op('MatMul', ['h', 'w'], ['logits']),
        op('ArgMax', ['logits'], ['y'], { axis: { int: 1 }, keepdims: { int: 0 } }),
      ],
      initializers: [floats('w', [WIDTH, 4], seed)],
    },
    opsets: { '': 17 },
  };
}

/** Ids are cut to the longest row before their vectors are averaged, as padded text is. */
const trimmed: OnnxModel = {
  graph: {
    name: 'trimmed',
    inputs: [{ name: 'x', type: 'int64', shape: [N, WIDTH] }],
    outputs: [{ name: 'y', type: 'float', shape: [N, 4] }],
    nodes: [
      op('Sign', ['x'], ['used']),
      op('ReduceSum', ['used', 'one'], ['lengths'], { keepdims: { int: 0 } }),
      op('ReduceMax', ['lengths'], ['longest'], { keepdims: { int: 1 } }),
      op('Slice', ['x', 'zero', 'longest', 'one'], ['ids']),
      op('Gather', ['table', 'ids'], ['vectors']),
      op('ReduceMean', ['vectors'], ['y'], { axes: { ints: [1] }, keepdims: { int: 0 } }),
    ],
    initializers: [longs('zero', [0]), longs('one', [1]), floats('table', [12, 4], 3)],
  },
  opsets: { '': 17 },
};

/** Texts are split and filled up to the longest before the vectors of their words are averaged. */
const words = ['good', 'bad', 'film', 'plot', 'boring', 'great', 'the', 'was', 'a', 'and'];
const spoken: OnnxModel = {
  graph: {
    name: 'spoken',
    inputs: [{ name: 'x', type: 'string', shape: [N, 1] }],
    outputs: [{ name: 'y', type: 'float', shape: [N, 2] }],
    nodes: [
      op('Reshape', ['x', 'flat'], ['texts']),
      op('StringSplit', ['texts'], ['tokens', 'counts'], { delimiter: { string: ' ' } }),
      {
        ...op('LabelEncoder', ['tokens'], ['ids'], {
          keys_strings: { strings: [...words, ''] },
          values_int64s: { ints: [...words.map((_, i) => i + 2), 0] },
          default_int64: { int: 1 },
        }),
        domain: 'ai.onnx.ml',
      },
      op('Gather', ['table', 'ids'], ['vectors']),
      op('ReduceMean', ['vectors', 'one'], ['h'], { keepdims: { int: 0 } }),
      op('MatMul', ['h', 'w'], ['logits']),
      op('Softmax', ['logits'], ['y']),
    ],
    initializers: [
      longs('flat', [-1]),
      longs('one', [1]),
      floats('table', [12, 8], 4),
      floats('w', [8, 2], 5),
    ],
  },
  opsets: { '': 20, 'ai.onnx.ml': 4 },
};

const small = Array.from({ length: WIDTH }, (_, i) => Math.fround(((i * 7) % 11) / 11 - 0.5));
const large = Array.from({ length: WIDTH }, (_, i) => (i % 3 === 0 ? 150 : -40));
const numbers = { datatype: 'FP32', asked: small, beside: large } as const;

const MODELS: Readonly<Record<string, Coupled>> = {
  quantised: {
    ...numbers,
    model: labelled(
      [
        op('DynamicQuantizeLinear', ['x'], ['q', 's', 'z']),
        op('DequantizeLinear', ['q', 's', 'z'], ['h']),
      ],
      5,
    ),
  },
  centred: {
    ...numbers,
    model: labelled([op('ReduceMean', ['x'], ['m']), op('Sub', ['x', 'm'], ['h'])], 6),
  },
  softmax_of_all: {
    ...numbers,
    model: labelled([op('Softmax', ['x'], ['h'], { axis: { int: 0 } })], 7),
  },
  scaled: {
    ...numbers,
    model: labelled(
      [op('Abs', ['x'], ['a']), op('ReduceMax', ['a'], ['m']), op('Div', ['x', 'm'], ['h'])],
      8,
    ),
  },
  trimmed_ids: {
    datatype: 'INT64',
    asked: [2, 4, ...Array.from({ length: WIDTH - 2 }, () => 0)],
    beside: Array.from({ length: WIDTH }, (_, i) => 1 + (i % 10)),
    model: trimmed,
  },
  split_texts: {
    datatype: 'BYTES',
    asked: ['good film'],
    beside: ['the plot was bad and boring and the film was bad'],
    model: spoken,
  },
  independent: { ...numbers, joined: true, model: labelled([op('Tanh', ['x'], ['h'])], 9) },
};

const bodyOf = ({ datatype }: Coupled, data: Coupled['asked']): string =>
  JSON.stringify({ inputs: [{ name: 'x', datatype, shape: [1, data.length], data }] });

describe('models that couple rows', () => {
  const folders = new ModelFolders();
  const repository = join(folders.folder, 'coupled');
  let server: ServalProcess;
  const post = async (name: string, body: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/${name}/infer`, {
      method: 'POST',
      body,
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.stringify((JSON.parse(text) as { outputs: unknown }).outputs);
  };

  before(async () => {
    for (const [name, { model }] of Object.entries(MODELS)) {
      folders.add(repository, name, model);
    }
    const args = ['--model-repository', repository, '--exec-mode', 'queued'];
    server = await startServer(args);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  for (const [name, coupled] of Object.entries(MODELS)) {
    it(`${name}: answers 240 requests as each alone`, async () => {
      const config = await (
        await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/${name}/config`)
      ).json();
      assert.equal('dynamic_batching' in (config as object), coupled.joined === true);
      const body = bodyOf(coupled, coupled.asked);
      const noise = bodyOf(coupled, coupled.beside);
      const alone = await post(name, body);
      let done = false;
      const noisy = Array.from({ length: NOISY }, async () => {
        while (!done) await post(name, noise);
      });
      const callers = Array.from({ length: CALLERS }, async () => {
        for (let i = 0; i < REQUESTS_EACH; i++) assert.equal(await post(name, body), alone);
      });
      try {
        await Promise.all(callers);
      } finally {
        done = true;
        await Promise.allSettled(noisy);
      }
    });
  }
});
