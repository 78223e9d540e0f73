// Features that only REST has: nested data, words for numbers that JSON cannot express, parameters
// as plain JSON, and V1, LeapFrames and CSV on the same columns. Source: tabular.md 2.5;
// docs/reference/tabular.md "V1, LeapFrames and CSV".
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RulesServer } from './models.js';

interface V2Answer {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly data: readonly unknown[];
  }[];
}

describe('tabular.md 2.5 on a running server', () => {
  const rules = new RulesServer();

  const v2 = (model: string, body: string | object): Promise<[number, string]> =>
    rules.asking.post(`/v2/models/${model}/infer`, body);
  /** Datatype, shape and data of each output. */
  const answered = async (model: string, ...inputs: readonly object[]): Promise<unknown> => {
    const [status, text] = await v2(model, { inputs });
    assert.equal(status, 200, text);
    const { outputs } = JSON.parse(text) as V2Answer;
    return outputs.map(({ datatype, shape, data }) => [datatype, shape, data]);
  };
  const refused = async (model: string, body: string | object, words: RegExp, code = 400) => {
    const [status, text] = await v2(model, body);
    assert.equal(status, code, text);
    assert.match((JSON.parse(text) as { error: string }).error, words);
  };

  test('s2.5: ragged data nested, with no companion', async () => {
    const words = { name: 'words', datatype: 'STRING', shape: [3, 1, -1] };
    const pairs = [
      ['STRING', [3, 1, -1], ['a b', 'b c', 'd e']],
      ['INT32', [1], [2, 0, 1]],
    ];
    for (const data of [
      [['a', 'b', 'c'], [], ['d', 'e']],
      [[['a', 'b', 'c']], [[]], [['d', 'e']]],
    ]) {
      assert.deepEqual(await answered('pairs', { ...words, data }), pairs);
    }
    const two = {
      name: 't',
      datatype: 'STRING',
      shape: [1, 2, -1],
      parameters: { features: 'b,a' },
      data: [[['p', 'q'], ['r']]],
    };
    assert.deepEqual(await answered('two_pairs', two), [
      ['STRING', [1, 0], []],
      ['STRING', [1, 1], ['p q']],
    ]);
  });

  test('s2.5: nested data that is not what the shape says', async () => {
    const ask = (data: unknown, shape = [2, 1, -1]): object => ({
      inputs: [{ name: 'v', datatype: 'VECTOR', shape, data }],
    });
    for (const [data, words] of [
      [[[1]], /'v': shape \[2,1,-1\].*2 lists, one per row, got 1/],
      [[[1], [2], [3]], /'v'.*2 lists, one per row, got 3/],
      [[[[1], [2]], [[3]]], /'v'.*row 0 1 lists, one per field, got 2/],
      [[[1], 2], /'v'.*row 1/],
      [[[1], ['a']], /'v', row 1.*"a"/],
      [[[1], [[[2]]]], /'v', row 1/],
      [[1, 2], /'v'.*without an input 'v_shape'/],
      [{ a: 1 }, /'v'/],
      ['x', /'v'/],
    ] as const) {
      await refused('norm', ask(data), words);
    }
  });

  test('s2.5: NaN and infinities as strings', async () => {
    const x = { name: 'x', datatype: 'FP64', shape: [4] };
    const data = ['NaN', 'Infinity', '-Infinity', 1.5];
    assert.deepEqual(await answered('keep', { ...x, shape: [1], data: ['NaN'] }), [
      ['FP64', [1], [2]],
    ]);
    const [status, text] = await v2('echo', { inputs: [{ ...x, data }] });
    assert.equal(status, 200, text);
    assert.match(text, /"data":\["NaN","Infinity","-Infinity",1\.5\]/);
    await refused('echo', { inputs: [{ ...x, shape: [1], data: ['nan'] }] }, /'x', element 0.*nan/);
    await refused('echo', { inputs: [{ ...x, shape: [1], data: [true] }] }, /'x', element 0.*true/);
  });

  test('s2.5: parameters are plain JSON', async () => {
    const decimal = (precision: unknown, scale: unknown): object => ({
      name: 'x',
      datatype: 'FP64',
      shape: [1],
      data: [1.005],
      parameters: { precision, scale },
    });
    for (const [p, s] of [
      [5, 2],
      ['5', '2'],
      [{ string_param: '5' }, { string_param: '2' }],
    ]) {
      assert.deepEqual(await answered('echo', decimal(p, s)), [['FP64', [1], [1.01]]]);
    }
    for (const [p, s] of [
      [5.5, 2],
      [true, 2],
      [null, 2],
      [[5], 2],
      [{ int64_param: 5 }, 2],
    ]) {
      await refused('echo', { inputs: [decimal(p, s)] }, /'x': parameter 'precision'/);
    }
  });

  test('s2.5: null in data, and nowhere else', async () => {
    const x = { name: 'x', datatype: 'INT32', shape: [2], data: [null, 1] };
    assert.deepEqual(await answered('echo', x), [['INT32', [2], [null, 1]]]);
    await refused('echo', { inputs: [{ ...x, data: null }] }, /'x': 'data'/);
    await refused('echo', { inputs: [{ ...x, name: null }] }, /'name': expected a string/);
    await refused('echo', { inputs: [{ ...x, shape: null }] }, /'x': 'shape'/);
    await refused('echo', { inputs: null }, /'inputs'/);
    await refused('echo', { inputs: [] }, /no inputs/);
    await refused('echo', '{"inputs":[', /malformed JSON/);
    await refused('echo', '[]', /expected an object/);
  });

  test('V1: rows as objects or lists, columns by name', async () => {
    const predict = async (model: string, body: object | string): Promise<unknown> => {
      const [status, text] = await rules.asking.post(`/v1/models/${model}:predict`, body);
      return status === 200 ? JSON.parse(text) : [status, text];
    };
    const rows = [
      { a: 1, b: 2 },
      { b: 4, a: 3 },
    ];
    const predictions = [
      { ya: 1, yb: 2 },
      { ya: 3, yb: 4 },
    ];
    assert.deepEqual(await predict('two_ints', { instances: rows }), { predictions });
    const lists = [
      [1, 2],
      [3, 4],
    ];
    assert.deepEqual(await predict('two_ints', { instances: lists }), { predictions });
    assert.deepEqual(await predict('two_ints', { inputs: { a: [1, 3], b: [2, 4] } }), {
      outputs: { ya: [1, 3], yb: [2, 4] },
    });
    assert.deepEqual(await predict('timestamp', { instances: [{ x: '29/02/2024 23:15:00' }] }), {
      predictions: ['29/02/2024 23:15:00'],
    });
    assert.deepEqual(await predict('pairs', { instances: [{ words: ['a', 'b'] }] }), {
      predictions: [['a b']],
    });
    assert.deepEqual(await predict('echo', { instances: [{ x: null }, { x: 'a' }] }), {
      predictions: [null, 'a'],
    });
    for (const [body, words] of [
      [{ instances: [{ a: 1 }] }, /row 0: missing field 'b'/],
      [{ instances: [{ a: 1, b: 2 }, [1]] }, /row 1/],
      [{ instances: [{ a: 1, b: 'x' }] }, /'b': the model's type is INT32 .*got STRING/],
      [{ instances: [{ a: 1, b: 1.5 }] }, /'b', row 0.*1\.5/],
      [{ instances: [[1, 2, 3]] }, /row 0: expected a list of 2 values/],
      [{ inputs: { a: [1, 2], b: [1] } }, /'b': expected 2 rows/],
      [{ instances: 5 }, /'instances'/],
      [{}, /missing 'inputs' or 'instances'/],
    ] as const) {
      const got = await predict('two_ints', body);
      assert.ok(Array.isArray(got), JSON.stringify(got));
      assert.equal(got[0], 400);
      assert.match(String(got[1]), words);
    }
  });

  test('CSV: rows of another length, other types, bytes that are no text', async () => {
    const csv = (model: string, body: string | Uint8Array): Promise<[number, string]> =>
      rules.asking.post(`/v2/models/${model}/csv`, body);
    assert.deepEqual(await csv('two_ints', 'b,q,a\n2,x,1\n,,\n'), [200, 'ya,yb\r\n1,2\r\n,\r\n']);
    assert.deepEqual(await csv('two_ints', 'a,b\n'), [200, 'ya,yb\r\n']);
    assert.deepEqual(await csv('date', 'x\n2024-02-29\n'), [200, 'y\r\n2024-02-29\r\n']);
    for (const [body, words] of [
      ['', /expected a header row/],
      ['a,b\n1,2\n3\n', /line 3: expected 2 cells, got 1/],
      ['a,b\n1,2,3\n', /line 2: expected 2 cells, got 3/],
      ['a,a\n1,2\n', /\\"a\\" occurs twice/],
      ['a,b\n1,x\n', /row 0, column \\"b\\": expected INT32, got \\"x\\"/],
      ['a\n1\n', /missing field.*'b'/],
      ['a,b\n1,99999999999\n', /'b', element 0.*99999999999|'b'.*row 0.*99999999999/],
      [Buffer.from([0x61, 0x0a, 0xff]), /UTF-8/],
    ] as const) {
      const [status, text] = await csv('two_ints', body);
      assert.equal(status, 400, text);
      assert.match(text, words);
    }
    // A tensor model with one input per column accepts CSV too.
    assert.deepEqual(await csv('onnx', 'x\na\n""\n'), [200, 'y\r\na\r\n""\r\n']);
  });

  test('LeapFrames: rows of another length, other types, tensors that lie', async () => {
    const frame = async (type: unknown, ...rows: readonly unknown[]): Promise<[number, string]> =>
      rules.asking.post('/models/norm/transform', {
        schema: { fields: [{ name: 'v', type }] },
        rows,
      });
    const tensor = { type: 'tensor', base: 'double' };
    const sparse = { values: [3, 1], indices: [[0], [3]], dimensions: [4] };
    const [good, text] = await frame(tensor, [sparse], [{ values: [1, 1], dimensions: [2] }]);
    assert.equal(good, 200, text);
    assert.match(text, /\[0\.75,0\.0,0\.0,0\.25\].*\[0\.5,0\.5\]/);
    for (const [type, row, words] of [
      [tensor, [], /row 0: expected a list of 1 values, got 0 values/],
      [tensor, [1, 2], /row 0: expected a list of 1 values, got 2 values/],
      [tensor, ['a'], /row 0, field \\"v\\"/],
      [
        tensor,
        [{ values: [1], dimensions: [2] }],
        /row 0, field \\"v\\": expected 2 values, got 1/,
      ],
      [tensor, [{ ...sparse, dimensions: [3] }], /indices below 3/],
      [tensor, [{ ...sparse, dimensions: [-1] }], /row 0, field \\"v\\"/],
      ['matrix', [1], /field \\"v\\": expected one of/],
      [{ type: 'list', base: 'list' }, [[]], /field \\"v\\": expected one of/],
    ] as const) {
      const [status, said] = await frame(type, row);
      assert.equal(status, 400, said);
      assert.match(said, words);
    }
    const huge = { values: [], indices: [], dimensions: [16_000_000] };
    const [status, said] = await frame(tensor, [huge]);
    assert.equal(status, 413, said.slice(0, 300));
    assert.match(said, /row 0, field \\"v\\": expected at most 4194304 values/);
  });
});
