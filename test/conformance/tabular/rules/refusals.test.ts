// Every error of the list in tabular.md 2.3, by its name, over both protocols: its status, and the
// tensor, field and row that it names. coverage.test.ts compares the names with the list.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Asked, type Form, GRPC, RAW, TYPED, type Tensor } from './asking.js';
import { RulesServer } from './models.js';

const NAN = Number.NaN;
const REST: readonly Form[] = ['rest'];

interface Case extends Asked {
  /** The name in the list. */
  readonly error: string;
  readonly model: string;
  readonly tensors: readonly Tensor[];
  readonly words: RegExp;
  readonly forms?: readonly Form[];
}

const tensor = (
  name: string,
  datatype: string,
  shape: readonly number[],
  data: readonly unknown[],
  parameters: Tensor['parameters'] = {},
): Tensor => ({ name, datatype, shape, data, parameters });
const x = (datatype: string, ...data: readonly unknown[]): Tensor =>
  tensor('x', datatype, [data.length], data);
const ragged = (...lengths: readonly unknown[]): readonly Tensor[] => [
  tensor('v', 'VECTOR', [2, 1, -1], [1, 2, 3]),
  tensor('v_shape', 'INT32', [1], lengths),
];
const decimal = (value: unknown, precision: string, scale: string): readonly Tensor[] => [
  tensor('x', 'FP64', [2], [0, value], { precision, scale }),
];
const features = (datatype: string, names: string | number): Tensor =>
  tensor('t', datatype, [1, 2], [1, 2], { features: names });

const CASES: readonly Case[] = [
  {
    error: 'element_count_mismatch',
    model: 'echo',
    tensors: [tensor('x', 'INT32', [3], [1, 2])],
    words: /'x': expected (?:3|12) .*shape \[3\].*got (?:2|8)/,
  },
  {
    error: 'bad_dim',
    model: 'echo',
    tensors: [tensor('x', 'INT32', [-3], [1, 2])],
    words: /'x': shape \[-3\]: dimension 0 is negative/,
  },
  {
    error: 'bad_dim',
    model: 'norm',
    tensors: [tensor('v', 'VECTOR', [1, -1], [1, 2])],
    words: /'v': shape \[1,-1\]: -1 is only allowed as the last of three/,
  },
  {
    error: 'bad_dim',
    model: 'echo',
    tensors: [tensor('x', 'INT32', [1, 1, 1, 1], [1])],
    words: /'x': shape \[1,1,1,1\]: expected 1 to 3 dimensions/,
  },
  {
    error: 'shape_companion_missing',
    model: 'norm',
    tensors: ragged().slice(0, 1),
    words: /'v': shape \[2,1,-1\].*'v_shape'/,
  },
  {
    error: 'shape_companion_type',
    model: 'norm',
    tensors: [...ragged().slice(0, 1), tensor('v_shape', 'FP32', [1], [1, 2])],
    words: /'v_shape', the shape tensor of 'v': expected datatype INT32, got FP32/,
  },
  {
    error: 'shape_companion_count',
    model: 'norm',
    tensors: ragged(3),
    words: /'v_shape': expected (?:2|8) .*got (?:1|4) .*row and field of 'v'/,
  },
  {
    error: 'shape_companion_negative',
    model: 'norm',
    tensors: ragged(4, -1),
    words: /'v_shape', element 1: expected a length of 0 or more, got -1/,
  },
  {
    error: 'shape_companion_sum',
    model: 'norm',
    tensors: ragged(2, 2),
    words: /'v': expected (?:4|32) .*got (?:3|24).*'v_shape' adds up to 4 elements/,
  },
  {
    error: 'row_count_mismatch',
    model: 'two',
    tensors: [tensor('a', 'INT32', [2], [1, 2]), tensor('b', 'INT32', [1], [1])],
    words: /'a' and 'b' must have the same number of rows, got 2 and 1/,
  },
  {
    error: 'features_type',
    model: 'two',
    tensors: [features('INT32', 3)],
    words: /'t': parameter 'features': expected a string/,
  },
  {
    error: 'features_count',
    model: 'two',
    tensors: [features('INT32', 'a,b,c')],
    words: /'t': shape \[1,2\]: has 2 fields, but the parameter 'features' names 3/,
  },
  {
    error: 'features_empty_name',
    model: 'two',
    tensors: [features('INT32', 'a,,b')],
    words: /'t': parameter 'features': expected names.*'a,,b'/,
  },
  {
    error: 'duplicate_field',
    model: 'two',
    tensors: [features('INT32', 'a,a')],
    words: /'t': field 'a' is given more than once/,
  },
  {
    error: 'duplicate_tensor',
    model: 'two',
    tensors: [tensor('a', 'INT32', [1], [1]), tensor('a', 'INT32', [1], [1])],
    words: /'a' is given twice/,
  },
  {
    error: 'missing_field',
    model: 'two',
    tensors: [tensor('a', 'INT32', [1], [1])],
    words: /missing field.*'b'/,
  },
  {
    error: 'unknown_field',
    model: 'echo',
    tensors: [x('INT32', 1), tensor('q', 'INT32', [1], [1])],
    words: /'q': the model has no field 'q'/,
    parameters: { strict: true },
  },
  {
    error: 'type_mismatch',
    model: 'int32',
    tensors: [x('FP64', 1)],
    words: /'x': the model's type is INT32 .*got FP64/,
  },
  {
    error: 'integer_out_of_range',
    model: 'echo',
    tensors: [x('INT8', 1, 300)],
    words: /'x'.*\b1\b.*300|'x'.*300 at index 1/,
    forms: TYPED,
  },
  {
    error: 'integer_out_of_range',
    model: 'pmml',
    tensors: [tensor('i', 'INT64', [2], [1, 5_000_000_000])],
    words: /'i', row 1: .*5000000000/,
  },
  {
    error: 'invalid_utf8',
    model: 'string',
    tensors: [x('STRING', 'a', Buffer.from([0xc3]))],
    words: /'x', row 1: expected text in UTF-8/,
    forms: ['grpc', ...RAW],
  },
  {
    error: 'invalid_date',
    model: 'date',
    tensors: [x('DATE', '2024-02-29', '2023-02-29')],
    words: /'x', row 1: expected a date .*'2023-02-29'/,
  },
  {
    error: 'invalid_timestamp',
    model: 'timestamp',
    tensors: [x('TIMESTAMP', '2024-02-29 00:00:00')],
    words: /'x', row 0: expected a timestamp .*'2024-02-29 00:00:00'/,
  },
  {
    error: 'decimal_params',
    model: 'echo',
    tensors: decimal(1, '3', '4'),
    words: /'x': parameter 'scale'/,
  },
  {
    error: 'decimal_overflow',
    model: 'echo',
    tensors: decimal(100, '3', '1'),
    words: /'x', row 1: expected a decimal of precision 3 and scale 1, got 100/,
  },
  {
    error: 'vector_size',
    model: 'norm2',
    tensors: [
      tensor('v', 'VECTOR', [2, 1, -1], [1, 2, 3]),
      tensor('v_shape', 'INT32', [1], [2, 1]),
    ],
    words: /'v', row 1: expected 2 elements, got 1/,
  },
  {
    error: 'vector_size',
    model: 'norm2',
    tensors: [tensor('v', 'VECTOR', [1, 3], [1, 2, 3])],
    words: /'v', row 0: expected 2 elements, got 3/,
  },
  {
    error: 'unsupported_datatype',
    model: 'echo',
    tensors: [x('UINT64', 1)],
    words: /'x': datatype UINT64 is not supported by tabular models/,
  },
  {
    error: 'unsupported_on_this_model',
    model: 'onnx',
    tensors: [x('STRING', 'a')],
    words: /'x'.*tabular_v1/,
  },
  {
    error: 'invalid_category',
    model: 'indexer',
    tensors: [tensor('s', 'STRING', [2], ['p', 'unheard'])],
    words: /row 1.*'s'.*unheard|row 1.*unheard.*'s'/,
  },
  {
    error: 'invalid_category',
    model: 'labels',
    tensors: [tensor('s', 'STRING', [2], ['p', 'unheard'])],
    words: /row 1.*'s'.*unheard|row 1.*unheard.*'s'/,
  },
  {
    error: 'unknown_output',
    model: 'echo',
    tensors: [x('INT32', 1)],
    words: /output 'q': the model has no such output; expected one of 'y'/,
    outputs: ['q'],
  },
];

describe('reasons to refuse requests', () => {
  const rules = new RulesServer([]);

  for (const { error, model, tensors, words, ...asked } of CASES) {
    const what = tensors.map(({ name, datatype, shape }) => `${name} ${datatype} [${shape}]`);
    test(`s2.3: ${error} (${model}: ${what.join(', ')})`, () =>
      rules.asking.refuses(model, tensors, words, asked));
  }

  const message = async (inputs: readonly object[], rest: object = {}): Promise<string> => {
    const got = await rules.asking.message({ model_name: 'echo', inputs, ...rest });
    assert.ok('error' in got, JSON.stringify(got));
    assert.equal(got.status, 'INVALID_ARGUMENT');
    return got.error;
  };
  const input = (contents: object): object => ({
    name: 'x',
    datatype: 'FP64',
    shape: [1],
    contents,
  });

  test("s2.3: 'content_arm_mismatch'", async () => {
    assert.match(
      await message([input({ fp32_contents: [1] })]),
      /'x': datatype FP64 is given in fp64_contents, got 1 values in fp32_contents/,
    );
  });

  test("s2.3: 'multiple_content_arms'", async () => {
    assert.match(
      await message([input({ fp64_contents: [1], int_contents: [1] })]),
      /'x': datatype FP64 is given in fp64_contents, got 1 values in int_contents/,
    );
  });

  test("s2.3: 'raw_and_typed_mixed'", async () => {
    const raw_input_contents = [Buffer.alloc(8)];
    assert.match(
      await message([input({ fp64_contents: [1] })], { raw_input_contents }),
      /'x': contents must not be given together with raw_input_contents/,
    );
    const two = [input({}), { ...input({}), name: 'z' }];
    assert.match(await message(two, { raw_input_contents }), /raw_input_contents|'z'/);
  });

  test('s2.3: limits are RESOURCE_EXHAUSTED, before memory is allocated', async () => {
    const exhausted = { status: 'RESOURCE_EXHAUSTED' };
    const both = [...GRPC, ...REST];
    const big = (datatype: string, shape: readonly number[]): Tensor =>
      tensor(datatype === 'VECTOR' ? 'v' : 'x', datatype, shape, [1]);
    for (const [model, given] of [
      ['echo', big('FP64', [2 ** 40])],
      ['norm', big('VECTOR', [2 ** 20, 2 ** 20])],
      ['norm', big('VECTOR', [1, 2 ** 30])],
      ['norm', { ...big('VECTOR', [2 ** 19, 0]), data: [] }],
    ] as const) {
      await rules.asking.refuses(model, [given], /'[xv]'.*(?:at most|over) \d+/, {
        ...exhausted,
        forms: both,
      });
    }
    await rules.asking.refuses(
      'norm',
      [big('VECTOR', [1, 1, -1]), tensor('v_shape', 'INT64', [1], [2 ** 33])],
      /'v_shape', element 0: a length: expected at most \d+, got 8589934592/,
      { ...exhausted, forms: GRPC },
    );
    const names = tensor('t', 'FP64', [1, 2], [1, 2], { features: ','.repeat(2 ** 14 + 1) });
    await rules.asking.refuses('echo', [names], /fields.*at most 16384/, exhausted);
    const text = x('STRING', 'a'.repeat(2 ** 24 + 1));
    await rules.asking.refuses('echo', [text], /'x', row 0.*at most 16777216/, {
      ...exhausted,
      forms: GRPC,
    });
  });

  test('a request of an error leaves the next one as it is', async () => {
    await rules.asking.answers('echo', [x('FP64', NAN, 1)], [{ data: [null, 1] }]);
  });
});
