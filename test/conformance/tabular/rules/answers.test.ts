// Missing values, refused rows, and the form of responses, on a running server and in every form of
// the V2 protocol. Source: tabular.md 2.1 X23, X29, X30; 2.4.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer, Tensor } from './asking.js';
import { RulesServer } from './models.js';

const REST = ['rest'] as const;
const NAN = Number.NaN;
const tensor = (
  name: string,
  datatype: string,
  data: readonly unknown[],
  more: Partial<Tensor> = {},
): Tensor => ({ name, datatype, shape: [data.length], data, ...more });
const x = (datatype: string, data: readonly unknown[], nulls?: string): Tensor =>
  tensor('x', datatype, data, nulls === undefined ? {} : { parameters: { null_indices: nulls } });
const y = (data: readonly unknown[]): Partial<Answer> => ({ name: 'y', data });

describe('missing values, and the form of answers', () => {
  const rules = new RulesServer([]);
  const { answers, refuses } = rules;

  test('X23: null_indices, for every datatype', async () => {
    for (const [datatype, data] of [
      ['BOOL', [true, false, true]],
      ['INT8', [1, 2, 3]],
      ['INT32', [1, 2, 3]],
      ['INT64', [1, 2, 3]],
      ['FP32', [1, 2, 3]],
      ['FP64', [1, 2, 3]],
      ['STRING', ['a', 'b', 'c']],
      ['DATE', ['2024-02-29', '2024-02-29', '2024-02-29']],
      ['TIMESTAMP', ['29/02/2024 23:15:00', '', '29/02/2024 23:15:00']],
    ] as const) {
      await answers('echo', [x(datatype, data, '1')], [y([data[0], null, data[2]])]);
    }
    await answers('echo', [x('INT8', [1, 2], '')], [y([1, 2])]);
    await answers('echo', [x('INT8', [1, 2], ' 1 , 0 ')], [y([null, null])]);
    // Flat positions in a tensor of several fields.
    const t = tensor('t', 'INT32', [1, 2, 3, 4], {
      shape: [2, 2],
      parameters: { features: 'a,b', null_indices: '1,2' },
    });
    await answers('two', [t], [{ data: [1, null] }, { data: [null, 4] }]);
    for (const bad of ['2', '-1', '0,', ',0', 'a', '0 1', '0;1', '99999999999999999999', '0x1']) {
      await refuses('echo', [x('INT8', [1, 2], bad)], /'x': parameter 'null_indices'.* below 2/);
    }
    const number = tensor('x', 'INT8', [1, 2], { parameters: { null_indices: 1 } });
    await refuses('echo', [number], /'x': parameter 'null_indices': expected a string/);
  });

  test('X23: null in the data of REST', async () => {
    for (const [datatype, data] of [
      ['BOOL', [true, null]],
      ['INT64', [1, null]],
      ['FP64', [null, 2]],
      ['STRING', [null, '']],
      ['DATE', ['2024-02-29', null]],
    ] as const) {
      await answers('echo', [x(datatype, data)], [y(data)], { forms: REST });
    }
    const v = tensor('v', 'VECTOR', [null, [1, 3]], { shape: [2, 2] });
    await refuses('norm', [v], /row 0: column 'v' is missing/, { forms: REST });
    const missing = [{ data: [null, null, 0.25, 0.75] }];
    await answers('norm', [v], missing, { forms: REST, parameters: { on_invalid: 'null' } });
    const inside = tensor('v', 'VECTOR', [[1, null]], { shape: [1, 2] });
    await refuses('norm', [inside], /'v', element 1: null replaces a whole vector/, {
      forms: REST,
    });
  });

  test('X23: an empty text is missing in DATE and TIMESTAMP, and only there', async () => {
    await answers('date', [x('DATE', ['', '2024-02-29'])], [y([null, '2024-02-29'])]);
    await answers('timestamp', [x('TIMESTAMP', [''])], [y([null])]);
    await answers('string', [x('STRING', ['', 'a'])], [y(['', 'a'])]);
  });

  test('X23: NaN is a number for Spark, and missing for PMML', async () => {
    // Bucketizer puts NaN into a separate bucket, and keeps nulls.
    await answers('keep', [x('FP64', [NAN, 0.5])], [y([2, 0])]);
    await answers('keep', [x('FP64', [1, 0.5], '0')], [y([null, 0])]);
    const given = { i: 1, f: 0.5, x: NAN };
    const got = await rules.asking.ask('grpc', 'pmml', pmmlRow(given), { outputs: ['X', 'F'] });
    assert.deepEqual(got, [
      { name: 'X', datatype: 'FP64', shape: [1], parameters: {}, data: [null] },
      { name: 'F', datatype: 'FP32', shape: [1], parameters: {}, data: [0.5] },
    ]);
  });

  test('s2.4: missing answers are NaN, or counted; REST has null', async () => {
    const wire = async (datatype: string, arm: string): Promise<readonly Answer[]> => {
      const got = await rules.asking.message({
        model_name: 'echo',
        inputs: [
          {
            name: 'x',
            datatype,
            shape: [2],
            parameters: [{ key: 'null_indices', value: { string_param: '1' } }],
            contents: { [arm]: [1, 2] },
          },
        ],
      });
      assert.ok(!('error' in got), JSON.stringify(got));
      return got;
    };
    assert.deepEqual((await wire('FP64', 'fp64_contents'))[0]?.data, [1, null]);
    assert.deepEqual((await wire('INT32', 'int_contents'))[0]?.data, [1, null]);
    const [status, text] = await rules.asking.post('/v2/models/echo/infer', {
      inputs: [x('FP64', [1, null])],
    });
    assert.equal(status, 200);
    assert.match(text, /"data":\[1\.0,null\]/);
    assert.doesNotMatch(text, /null_indices/);
  });

  test('X29: outputs by default, and by name', async () => {
    const rows = [tensor('s', 'STRING', ['p', 'q']), tensor('x', 'FP64', [1, 2])];
    await answers('steps', rows, [{ name: 'features', datatype: 'VECTOR', data: [0, 1, 1, 2] }]);
    await answers('steps', rows, [{ name: 'i', data: [0, 1] }, { name: 'features' }], {
      outputs: ['i', 'features'],
    });
    await refuses('steps', rows, /output 'q'.*no such output.*'features'/, { outputs: ['q'] });
    await answers('steps', rows, [{ name: 'i', data: [0, 1] }], { outputs: ['i', 'i'] });
    const all = await rules.asking.ask('rest', 'pmml', pmmlRow({}));
    assert.ok(!('error' in all), JSON.stringify(all));
    assert.deepEqual(
      all.map(({ name }) => name),
      ['z', 'I', 'F', 'X', 'S', 'D', 'T', 'B'],
    );
  });

  test('X30: rows are never dropped', async () => {
    const rows = [x('FP64', [0.5, NAN, 1.5, 7])];
    for (const model of ['skip', 'error']) {
      await refuses(model, rows, /stage 0 'Bucketizer_0': row 1: column 'x' is NaN/);
      await answers(model, rows, [y([0, null, 1, null])], { parameters: { on_invalid: 'null' } });
      await refuses(model, rows, /row 1/, { parameters: { on_invalid: 'error' } });
    }
    await refuses('skip', rows, /'on_invalid': expected 'error' or 'null', got 'skip'/, {
      parameters: { on_invalid: 'skip' },
    });
    await refuses('skip', rows, /'on_invalid': expected a string/, {
      parameters: { on_invalid: 1 },
    });
  });

  test('X30: other rows, and other requests, are answered all the same', async () => {
    const bad = [tensor('s', 'STRING', ['p', 'unheard', 'q'])];
    await refuses('indexer', bad, /row 1.*unheard/);
    await refuses('labels', bad, /row 1.*unheard/);
    const nulls = { parameters: { on_invalid: 'null' } };
    await answers('indexer', bad, [y([0, null, 1])], nulls);
    await answers('labels', bad, [y([0, null, 1])], nulls);
    await answers('indexer', [tensor('s', 'STRING', ['p', 'q'])], [y([0, 1])]);
  });

  test('s2.4: group_outputs mirrors the input form', async () => {
    const both = [tensor('a', 'INT32', [1, 2]), tensor('b', 'INT32', [3, 4])];
    const grouped = { parameters: { group_outputs: true } };
    await answers(
      'two',
      both,
      [
        {
          name: 'outputs_INT32',
          datatype: 'INT32',
          shape: [2, 2],
          parameters: { features: 'ya,yb' },
          data: [1, 3, 2, 4],
        },
      ],
      grouped,
    );
    const mixed = [tensor('a', 'INT32', [1, 2]), tensor('b', 'FP64', [3, 4])];
    await answers('two', mixed, [{ name: 'ya' }, { name: 'yb' }], grouped);
    await refuses('two', both, /'group_outputs': expected true or false/, {
      parameters: { group_outputs: 'yes' },
    });
  });

  test('s2.4: lists of different length have a companion; those of one length are dense', async () => {
    const words = (shape: number[], data: string[], lengths: number[]): Tensor[] => [
      { name: 'words', datatype: 'STRING', shape, data },
      { name: 'words_shape', datatype: 'INT32', shape: [1], data: lengths },
    ];
    await answers('pairs', words([2, 1, -1], [...'abcde'], [3, 2]), [
      { name: 'pairs', datatype: 'STRING', shape: [2, 1, -1], data: ['a b', 'b c', 'd e'] },
      { name: 'pairs_shape', datatype: 'INT32', shape: [1], data: [2, 1] },
    ]);
    await answers('pairs', words([2, 1, -1], [...'abcd'], [2, 2]), [
      { name: 'pairs', datatype: 'STRING', shape: [2, 1], data: ['a b', 'c d'] },
    ]);
    await answers('pairs', words([2, 1, -1], [...'ab'], [2, 0]), [
      { shape: [2, 1, -1], data: ['a b'] },
      { data: [1, 0] },
    ]);
  });

  test('s2.4: text is STRING where the request used the extension, and BYTES elsewhere', async () => {
    const datatype = (name: string) => [{ datatype: name, data: ['a'] }];
    await answers('echo', [x('STRING', ['a'])], datatype('STRING'));
    await answers('echo', [x('BYTES', ['a'])], datatype('BYTES'));
    const features = tensor('t', 'BYTES', ['a'], { shape: [1, 1], parameters: { features: 'x' } });
    await answers('echo', [features], datatype('STRING'));
    for (const name of ['STRING', 'BYTES']) {
      const parameters = { string_datatype: name };
      await answers('echo', [x('STRING', ['a'])], datatype(name), { parameters });
      await answers('echo', [x('BYTES', ['a'])], datatype(name), { parameters });
    }
    await refuses('echo', [x('BYTES', ['a'])], /'string_datatype': expected 'STRING' or 'BYTES'/, {
      parameters: { string_datatype: 'TEXT' },
    });
    // The same holds for dates and vectors.
    const bytes = { parameters: { string_datatype: 'BYTES' } };
    await answers('date', [x('DATE', ['2024-02-29'])], [{ datatype: 'BYTES' }], bytes);
    const v = tensor('v', 'VECTOR', [1, 3], { shape: [1, 2] });
    await answers('norm', [v], [{ datatype: 'FP64', data: [0.25, 0.75] }], bytes);
  });

  test('s2.4: decimals say their precision and scale', async () => {
    const parameters = { precision: '10', scale: '2' };
    await answers('decimal', [x('FP64', [1.5])], [{ datatype: 'FP64', parameters, data: [1.5] }]);
    await answers('decimal', [x('FP64', [1.5, 2], '0')], [{ parameters, data: [null, 2] }]);
  });

  test('s2.4: metadata names platform, datatypes and shapes, and no companions', async () => {
    const about = async (model: string): Promise<Record<string, unknown>> =>
      (await fetch(rules.asking.url(`/v2/models/${model}`))).json() as Promise<
        Record<string, unknown>
      >;
    for (const [model, platform] of [
      ['norm', 'spark_pipelinemodel'],
      ['labels', 'mleap_bundle'],
      ['pmml', 'pmml_xml'],
    ] as const) {
      assert.equal((await about(model))['platform'], platform);
    }
    const list = [{ name: 'words', datatype: 'STRING', shape: [-1, 1, -1] }];
    assert.deepEqual((await about('pairs'))['inputs'], list);
    const vector = [{ name: 'v', datatype: 'VECTOR', shape: [-1, 2] }];
    assert.deepEqual((await about('norm2'))['inputs'], vector);
    const server = (await (await fetch(rules.asking.url('/v2'))).json()) as {
      extensions: readonly string[];
    };
    assert.ok(server.extensions.includes('tabular_v1'));
  });

  test('binary answers are BYTES, whatever the request', async () => {
    await answers('binary', [x('STRING', ['a'])], [{ datatype: 'BYTES', data: ['a'] }]);
    await answers('binary', [x('STRING', ['a'], '0')], [{ datatype: 'BYTES', data: [null] }]);
  });
});

/** A row of the model pmml; fields that are not named have valid values. */
function pmmlRow(numbers: Readonly<Record<string, number>>): Tensor[] {
  return [
    tensor('i', 'INT32', [numbers['i'] ?? 1]),
    tensor('f', 'FP32', [numbers['f'] ?? 0.5]),
    tensor('x', 'FP64', [numbers['x'] ?? 1.5]),
    tensor('s', 'STRING', ['a']),
    tensor('d', 'DATE', ['2024-02-29']),
    tensor('t', 'TIMESTAMP', ['29/02/2024 23:15:00']),
    tensor('b', 'BOOL', [true]),
    tensor('c', 'STRING', ['p']),
  ];
}
