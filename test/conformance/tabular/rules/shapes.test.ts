// Shapes, companions and names of tensors on a running server, in every form of the V2 protocol.
// Source: tabular.md 2.1, X8 to X17, X24, X28.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FORMS, GRPC, type Tensor, entriesOf } from './asking.js';
import { RulesServer } from './models.js';

const tensor = (
  name: string,
  datatype: string,
  shape: readonly number[],
  data: readonly unknown[],
  features?: string,
): Tensor => ({
  name,
  datatype,
  shape,
  data,
  ...(features === undefined ? {} : { parameters: { features } }),
});
const REST = ['rest'] as const;

describe('shapes and names of the extension', () => {
  const rules = new RulesServer(
    [],
    [
      'echo',
      'fp64',
      'list',
      'two',
      'two_ints',
      'two_texts',
      'shape_field',
      'quoted',
      'norm',
      'norm2',
      'two_norms',
      'pairs',
      'two_pairs',
      'pmml',
    ],
  );
  const { answers, refuses } = rules;

  const ragged = tensor('v', 'VECTOR', [2, 1, -1], [1, 3, 4]);
  const lengths = (datatype: string, shape: readonly number[], data: readonly number[]): Tensor =>
    tensor('v_shape', datatype, shape, data);
  const UNITS = [
    { name: 'unit', shape: [2, 1, -1], data: [0.25, 0.75, 1] },
    { name: 'unit_shape', datatype: 'INT32', shape: [1], data: [2, 1] },
  ];

  test('X8: a companion has shape [1], [R*F] or [R,F], and R*F lengths', async () => {
    for (const shape of [[1], [2], [2, 1]]) {
      await answers('norm', [ragged, lengths('INT32', shape, [2, 1])], UNITS);
      await answers('norm', [lengths('INT64', shape, [2, 1]), ragged], UNITS);
    }
    for (const shape of [[3], [1, 2], [2, 1, 1], [], [-1]]) {
      await refuses('norm', [ragged, lengths('INT32', shape, [2, 1])], /'v_shape'.*shape/);
    }
    for (const datatype of ['INT8', 'INT16', 'UINT32', 'FP64', 'STRING', 'BOOL']) {
      const data = datatype === 'STRING' ? ['2', '1'] : [2, 1];
      const given = tensor('v_shape', datatype, [1], datatype === 'BOOL' ? [true, true] : data);
      await refuses('norm', [ragged, given], new RegExp(`'v_shape'.*INT32, got ${datatype}`));
    }
    for (const count of [[], [3], [1, 1, 1]]) {
      await refuses('norm', [ragged, lengths('INT32', [1], count)], /'v_shape'.*row and field/);
    }
  });

  test('X9: lengths and contents are row by row, field by field', async () => {
    const t = tensor('t', 'STRING', [2, 2, -1], [...'abcdefgh'], 'a,b');
    await answers(
      'two_pairs',
      [t, tensor('t_shape', 'INT32', [1], [2, 1, 3, 2])],
      [
        { name: 'A', shape: [2, 1, -1], data: ['a b', 'd e', 'e f'] },
        { name: 'A_shape', data: [1, 2] },
        { name: 'B', shape: [2, 1, -1], data: ['g h'] },
        { name: 'B_shape', data: [0, 1] },
      ],
    );
    await answers(
      'norm',
      [ragged, lengths('INT32', [1], [3, 0])],
      [{ data: [0.125, 0.375, 0.5] }, { data: [3, 0] }],
    );
    await refuses('norm', [ragged, lengths('INT32', [1], [4, -1])], /'v_shape', element 1: .*-1/);
    await refuses('norm', [ragged, lengths('INT32', [1], [2, 2])], /'v'.*adds up to 4/);
    await refuses('norm', [ragged, lengths('INT32', [1], [1, 1])], /'v'.*adds up to 2/);
  });

  test('X10: -1 may only be the last of three dimensions, and needs a companion', async () => {
    await refuses('norm', [tensor('v', 'VECTOR', [2, -1], [1, 3])], /'v'.*send \[2,1,-1\]/);
    for (const shape of [[-1], [-1, 1], [-1, 1, -1], [1, -1, -1], [1, -1, 2], [1, 1, -2]]) {
      await refuses('norm', [tensor('v', 'VECTOR', shape, [1, 3])], /'v': shape .*-/);
    }
    await refuses('norm', [ragged], /'v'.*\[2,1,-1\].*'v_shape' of INT32/, { forms: GRPC });
    await refuses('norm', [ragged], /'v'.*\[2,1,-1\] without an input 'v_shape'/, { forms: REST });
  });

  test('X11: what ends in _shape is a field, unless it belongs to a ragged tensor', async () => {
    await answers(
      'shape_field',
      [tensor('a', 'INT32', [1], [1]), tensor('a_shape', 'INT32', [1], [2])],
      [
        { name: 'ya', data: [1] },
        { name: 'yb', data: [2] },
      ],
    );
    const a = tensor('a', 'INT32', [1, 1, -1], [1, 2]);
    const missing = [a, tensor('a_shape', 'INT32', [1], [2])];
    await refuses('shape_field', missing, /missing field.*'a_shape'/);
    // The companion is not a field: strict requests may have it, too.
    await answers('norm', [ragged, lengths('INT32', [1], [2, 1])], UNITS, {
      parameters: { strict: true },
    });
  });

  test('X12: the name of a tensor with features is no field name, and is given once', async () => {
    const t = tensor('a', 'INT32', [1, 2], [1, 2], 'b,a');
    await answers('two_ints', [t], [{ data: [2] }, { data: [1] }]);
    const one = (field: string): Tensor => tensor('t', 'INT32', [1, 1], [1], field);
    await refuses('two_ints', [one('a'), one('b')], /'t' is given twice/);
  });

  test('X13: fields are found by name, whatever their order', async () => {
    const z = tensor('z', 'FP64', [1], [0]);
    const b = tensor('b', 'INT32', [1], [2]);
    const a = tensor('a', 'INT32', [1], [1]);
    await answers('two_ints', [b, z, a], [{ data: [1] }, { data: [2] }]);
  });

  test('X14: lists of names', async () => {
    const named = (features: string, width = 2): Tensor[] => [
      tensor('t', 'INT32', [1, width], [1, 2, 3].slice(0, width), features),
    ];
    for (const text of ['a,b', ' a , b\t', '"a","b"', ' "a" ,b']) {
      await answers('two_ints', named(text), [{ data: [1] }, { data: [2] }]);
    }
    await answers('quoted', named('"a,b"," say ""hi"" "'), [{ data: [1] }, { data: [2] }]);
    for (const text of ['', ',', 'a,', ',a', 'a,,b', 'a, ', '""', 'a,"b', 'a,"b"c']) {
      await refuses('two_ints', named(text), /'t': parameter 'features'/);
    }
    for (const text of ['a', 'a,b,c']) {
      await refuses('two_ints', named(text), /'t'.*2 fields.*'features' names [13]/);
    }
    for (const text of ['a,a', 'a,b,a']) {
      await refuses(
        'two_ints',
        named(text, text.split(',').length),
        /'t': field 'a'.*more than once/,
      );
    }
  });

  test('X15: features are text', async () => {
    for (const features of [5, true]) {
      const t = { ...tensor('t', 'INT32', [1, 2], [1, 2]), parameters: { features } };
      await refuses('two_ints', [t], /'t': parameter 'features': expected a string/);
    }
    const body = {
      inputs: [
        {
          ...tensor('t', 'INT32', [1, 2], [1, 2]),
          parameters: { features: { string_param: 'a,b' } },
        },
      ],
    };
    const [status, text] = await rules.asking.post('/v2/models/two_ints/infer', body);
    assert.equal(status, 200, text);
  });

  test('X16: one field is [R] or [R,1]; [R,N] is a vector, or needs features', async () => {
    for (const shape of [[2], [2, 1]]) {
      await answers('fp64', [tensor('x', 'FP64', shape, [1, 2])], [{ shape: [2], data: [1, 2] }]);
      await answers(
        'fp64',
        [tensor('any', 'FP64', shape, [1, 2], 'x')],
        [{ shape: [2], data: [1, 2] }],
      );
    }
    const wide = tensor('x', 'FP64', [1, 2], [1, 2]);
    await refuses('fp64', [wide], /'x'.*\[1,2\].*'features'/);
    await answers('norm2', [tensor('v', 'FP64', [1, 2], [1, 3])], [{ data: [0.25, 0.75] }]);
    await answers(
      'list',
      [tensor('x', 'STRING', [1, 2], ['p', 'q'])],
      [{ shape: [1, 2], data: ['p', 'q'] }],
    );
  });

  test('X17: all tensors have the same number of rows, in their first dimension', async () => {
    const [a, b] = [tensor('a', 'INT32', [2], [1, 2]), tensor('b', 'INT32', [1], [1])];
    await refuses('two_ints', [a, b], /'a' and 'b'.*same number of rows, got 2 and 1/);
    await refuses('two_ints', [tensor('a', 'INT32', [], [1]), b], /'a'.*rows.*scalar/);
    const none = ['a', 'b'].map((name) => tensor(name, 'INT32', [0], []));
    await answers('two_ints', none, [
      { shape: [0], data: [] },
      { shape: [0], data: [] },
    ]);
    const raggedNone = [tensor('v', 'VECTOR', [0, 1, -1], []), lengths('INT32', [1], [])];
    await answers('norm', raggedNone, [{ shape: [0, 0], data: [] }]);
  });

  test('X24: the model says what is missing, unknown or of another type', async () => {
    const a = tensor('a', 'INT32', [1], [1]);
    const [b, q] = [tensor('b', 'INT32', [1], [2]), tensor('q', 'FP64', [1, 2, 3, 4], [1])];
    await refuses('two_ints', [a], /missing field: expected also 'b'/);
    const known = tensor('q', 'FP64', [1], [1]);
    await answers('two_ints', [a, b, known], [{ data: [1] }, { data: [2] }]);
    const strict = { parameters: { strict: true } };
    await refuses('two_ints', [a, b, known], /'q': the model has no field 'q'.*strict/, strict);
    await answers('two_ints', [a, b], [{ data: [1] }, { data: [2] }], strict);
    await answers('two_ints', [a, b, known], [{ data: [1] }, { data: [2] }], {
      parameters: { strict: false },
    });
    await refuses('two_ints', [a, b, q], /'q'.*1 to 3 dimensions|'q'.*values|'q'.*elements/);
    await refuses('two_texts', [a, b], /'a': the model's type is STRING .*got INT32/);
    // A PMML document declares its own fields, and which of them are optional.
    await refuses('pmml', [tensor('x', 'VECTOR', [1, 2], [1, 2])], /'x': the model's type is FP64/);
  });

  test('X28: a field is given once', async () => {
    const group = tensor('t', 'INT32', [1, 2], [1, 2], 'a,b');
    await refuses('two_ints', [tensor('b', 'INT32', [1], [1]), group], /'t': field 'b'.*once/);
    await refuses('two_ints', [group, tensor('b', 'INT32', [1], [1])], /'b': field 'b'.*once/);
    const b = tensor('b', 'INT32', [1], [1]);
    await refuses('two_ints', [b, b], /'b' is given twice/);
  });

  test('a tensor of several vector fields needs features', async () => {
    await answers(
      'two_norms',
      [tensor('t', 'VECTOR', [1, 2, 2], [1, 3, 4, 4], 'w,v')],
      [
        { name: 'V', data: [0.5, 0.5] },
        { name: 'W', data: [0.25, 0.75] },
      ],
    );
    await refuses('two_norms', [tensor('t', 'VECTOR', [1, 2, 2], [1, 3, 4, 4])], /'t'/);
  });

  test('many tensors get the same checks as few', async () => {
    const many = Array.from({ length: 40 }, (_, i) => tensor(`z${i}`, 'INT32', [1], [i]));
    const both = [tensor('a', 'INT32', [1], [1]), tensor('b', 'INT32', [1], [2])];
    await answers('two_ints', [...many, ...both], [{ data: [1] }, { data: [2] }]);
    const twice = [...many, ...both, tensor('z7', 'INT32', [1], [1])];
    await refuses('two_ints', twice, /'z7' is given twice/);
  });

  test('a parameter without a set member of its oneof is refused', async () => {
    const got = await rules.asking.message({
      model_name: 'two_ints',
      inputs: [
        {
          name: 't',
          datatype: 'INT32',
          shape: [1, 2],
          contents: { int_contents: [1, 2] },
          parameters: [...entriesOf({}), { key: 'features', value: {} }],
        },
      ],
    });
    assert.ok('error' in got);
    assert.match(got.error, /'t': parameter 'features': expected a string/);
    assert.equal(FORMS.length, 4);
  });
});
