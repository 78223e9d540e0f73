// TensorFlow Serving's gRPC API on a tabular model: fields as inputs, its metadata, and the methods
// that such models do not support. Source: docs/reference/protocols/tf-grpc.md; tabular.md 2.1.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';
import {
  RawClient,
  decode,
  encode,
  messageTypes,
  type Outcome,
} from '../../unit/protocols/raw-client.js';
import { sparkFolder } from '../../unit/importers/plan/spark-folder.js';

const UNIMPLEMENTED = 12;
const FILES = {
  ...sparkFolder([
    {
      kind: 'feature.SQLTransformer',
      params: {
        statement:
          "SELECT *, a + b AS sum, concat(s, '!') AS said, year(day) AS year, " +
          'date_add(day, 1) AS next FROM __THIS__',
      },
    },
    { kind: 'feature.Tokenizer', params: { inputCol: 's', outputCol: 'words' } },
  ]),
  'schema.json': JSON.stringify({
    inputs: [
      { name: 'a', datatype: 'FP64', shape: [-1] },
      { name: 'b', datatype: 'FP64', shape: [-1] },
      { name: 's', datatype: 'STRING', shape: [-1] },
      { name: 'day', datatype: 'DATE', shape: [-1] },
    ],
  }),
};

const types = messageTypes();
const MODEL = { name: 'columns' };
const shape = (...dims: readonly number[]): object => ({ dim: dims.map((size) => ({ size })) });
const doubles = (dims: readonly number[], values: readonly number[]): object => ({
  dtype: 2,
  tensor_shape: shape(...dims),
  double_val: values,
});
const strings = (dims: readonly number[], values: readonly string[]): object => ({
  dtype: 7,
  tensor_shape: shape(...dims),
  string_val: values.map((value) => Buffer.from(value)),
});
const ROWS = {
  a: doubles([2], [1, 20]),
  b: doubles([2, 1], [0.5, 2]),
  s: strings([2], ['one two', 'three four']),
  day: strings([2], ['2024-02-29', '1999-12-31']),
};

interface Tensor {
  readonly dtype: string;
  readonly tensor_shape: { readonly dim: readonly { readonly size: string }[] };
  readonly double_val: readonly number[];
  readonly int_val: readonly number[];
  readonly string_val: readonly Uint8Array[];
}

interface Signature {
  readonly inputs: readonly { key: string; value: { dtype: string } }[];
  readonly outputs: Signature['inputs'];
}

describe("a tabular model over TensorFlow Serving's gRPC API", () => {
  let server: ServalProcess;
  let client: RawClient;
  let folder = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-predict-'));
    for (const [path, content] of Object.entries(FILES)) {
      const at = join(folder, MODEL.name, '1', path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, content);
    }
    server = await startServer([folder]);
    client = new RawClient(server.grpcPort);
  });
  after(async () => {
    client.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = (method: string, value: object, message = method): Promise<Outcome> =>
    client.unary(
      `/tensorflow.serving.PredictionService/${method}`,
      encode(types, `tensorflow.serving.${message}Request`, value),
    );
  const predict = (inputs: Readonly<Record<string, object>>, rest: object = {}): Promise<Outcome> =>
    call('Predict', {
      model_spec: MODEL,
      inputs: Object.entries(inputs).map(([key, value]) => ({ key, value })),
      ...rest,
    });
  /** Its outputs by name: type, shape, values. */
  const answered = (outcome: Outcome): Record<string, unknown> => {
    assert.deepEqual([outcome.code, outcome.details], [0, '']);
    const bytes = outcome.message ?? assert.fail();
    const { outputs } = decode(types, 'tensorflow.serving.PredictResponse', bytes) as {
      readonly outputs: readonly { readonly key: string; readonly value: Tensor }[];
    };
    return Object.fromEntries(
      outputs.map(({ key, value }) => [
        key,
        [
          value.dtype,
          value.tensor_shape.dim.map(({ size }) => Number(size)),
          [
            ...value.double_val,
            ...value.int_val,
            ...value.string_val.map((text) => Buffer.from(text).toString()),
          ],
        ],
      ]),
    );
  };

  it('answers its fields', async () => {
    assert.deepEqual(answered(await predict(ROWS)), {
      sum: ['DT_DOUBLE', [2], [1.5, 22]],
      said: ['DT_STRING', [2], ['one two!', 'three four!']],
      year: ['DT_INT32', [2], [2024, 1999]],
      next: ['DT_STRING', [2], ['2024-03-01', '2000-01-01']],
      words: ['DT_STRING', [2, 2], ['one', 'two', 'three', 'four']],
    });
    const chosen = await predict(ROWS, { output_filter: ['year', 'sum'] });
    assert.deepEqual(Object.keys(answered(chosen)), ['year', 'sum']);
  });

  it('says what is wrong with them', async () => {
    const cases: readonly (readonly [Readonly<Record<string, object>>, RegExp])[] = [
      [{ a: ROWS.a }, /missing field: expected also 'b', 's', 'day'/],
      [{ ...ROWS, b: doubles([1], [1]) }, /same number of rows/],
      [
        { ...ROWS, day: strings([2], ['2024-02-29', 'today']) },
        /input 'day', row 1: expected a date/,
      ],
      [{ ...ROWS, a: strings([2], ['1', '2']) }, /input 'a': the model's type is FP64/],
    ];
    for (const [inputs, why] of cases) {
      const { code, details } = await predict(inputs);
      assert.equal(code, 3, details);
      assert.match(details, why);
    }
  });

  it('says what a tensor has no form for', async () => {
    const ragged = await predict({ ...ROWS, s: strings([2], ['one', 'two three']) });
    assert.equal(ragged.code, UNIMPLEMENTED);
    assert.match(ragged.details, /output 'words': lists of different lengths.*V2/);
    const missing = { ...ROWS, day: strings([2], ['', '2024-01-01']) };
    assert.match((await predict(missing)).details, /output 'year', row 0: a missing value/);
    const others = await predict(missing, { output_filter: ['sum'] });
    assert.deepEqual(answered(others), { sum: ['DT_DOUBLE', [2], [1.5, 22]] });
  });

  it('has metadata', async () => {
    const outcome = await call('GetModelMetadata', {
      model_spec: MODEL,
      metadata_field: ['signature_def'],
    });
    assert.equal(outcome.code, 0, outcome.details);
    const { metadata } = decode(
      types,
      'tensorflow.serving.GetModelMetadataResponse',
      outcome.message ?? Buffer.alloc(0),
    ) as { readonly metadata: readonly { readonly value: { readonly value: Uint8Array } }[] };
    const { signature_def: map } = decode(
      types,
      'tensorflow.serving.SignatureDefMap',
      Buffer.from(metadata[0]?.value.value ?? assert.fail()),
    ) as { readonly signature_def: readonly { key: string; value: Signature }[] };
    const of = (side: Signature['inputs'] = []): unknown =>
      side.map(({ key, value }) => [key, value.dtype]);
    const { value } = map[0] ?? assert.fail();
    assert.deepEqual(of(value.inputs), [
      ['a', 'DT_DOUBLE'],
      ['b', 'DT_DOUBLE'],
      ['s', 'DT_STRING'],
      ['day', 'DT_STRING'],
    ]);
    assert.deepEqual(of(value.outputs), [
      ['sum', 'DT_DOUBLE'],
      ['said', 'DT_STRING'],
      ['year', 'DT_INT32'],
      ['next', 'DT_STRING'],
      ['words', 'DT_STRING'],
    ]);
  });

  it('is not asked to classify or regress', async () => {
    for (const [method, message] of [
      ['Classify', 'Classification'],
      ['Regress', 'Regression'],
    ] as const) {
      const { code, details } = await call(method, { model_spec: MODEL }, message);
      assert.equal(code, UNIMPLEMENTED, method);
      assert.match(details, /'columns' is tabular: use the V2 protocol/);
    }
  });
});
