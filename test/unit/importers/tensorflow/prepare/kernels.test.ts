// Operators that the interpreter runs: values, shapes, types, and refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeDef, Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid } from '../messages.js';
import {
  type Attrs,
  bool,
  constant,
  floats,
  graph,
  int,
  int32s,
  int64s,
  list,
  loaded,
  node,
  prepared,
  strings,
  text,
  type,
  values,
} from './graphs.js';

/** The value of `name`, assigned to a variable by the init op. */
function result(nodes: readonly NodeDef[], name: string): Tensor {
  const all = [
    ...nodes,
    node('v', 'VarHandleOp'),
    node('set', 'AssignVariableOp', ['v', name]),
    node('read', 'ReadVariableOp', ['v']),
  ];
  const model = prepared(loaded(graph(all), ['read'], { saver: undefined, initOp: 'set' }));
  const found = model.state.variables.get('v');
  assert.ok(found !== undefined, 'the variable has no value');
  return found;
}

/** "dtype[dims] values". */
function shown(found: Tensor): string {
  return `${found.dtype}[${found.shape.join()}] ${values(found).join(' ')}`;
}

function run(op: string, inputs: readonly Tensor[], attributes: Attrs = {}): string {
  const nodes = inputs.map((input, at) => constant(`i${at}`, input));
  return shown(
    result(
      [
        ...nodes,
        node(
          'o',
          op,
          nodes.map(({ name }) => name),
          attributes,
        ),
      ],
      'o',
    ),
  );
}

const fails = (op: string, inputs: readonly Tensor[], attributes: Attrs = {}): string =>
  invalid(() => run(op, inputs, attributes));

const M = int32s([1, 2, 3, 4, 5, 6], [2, 3]);
const i = (...all: number[]): Tensor => int32s(all, [all.length]);
const s = (value: number): Tensor => int32s([value], []);
const bytes = (dtype: Tensor['dtype'], all: number[]): Tensor => ({
  dtype,
  shape: [all.length],
  data: { kind: 'bytes', bytes: new Uint8Array(all) },
});

test('shapes', () => {
  assert.equal(run('Reshape', [M, i(3, -1)]), 'int32[3,2] 1 2 3 4 5 6');
  assert.equal(run('Reshape', [M, i(6)]), 'int32[6] 1 2 3 4 5 6');
  assert.match(fails('Reshape', [M, i(4, -1)]), /Reshape "o": \[2, 3\] as \[4, -1\]/);
  assert.match(fails('Reshape', [M, i(-1, -1)]), /expected at most one -1/);
  assert.match(fails('Reshape', [M, i(-2, -3)]), /expected at most one -1/);
  assert.equal(run('ExpandDims', [M, s(-1)]), 'int32[2,3,1] 1 2 3 4 5 6');
  assert.match(fails('ExpandDims', [M, s(3)]), /axis 3 is out of range for rank 3/);
  const one = int32s([7], [1, 1]);
  assert.equal(run('Squeeze', [one]), 'int32[] 7');
  assert.equal(run('Squeeze', [one], { squeeze_dims: list({ ints: [-1n] }) }), 'int32[1] 7');
  assert.match(
    fails('Squeeze', [M], { squeeze_dims: list({ ints: [0n] }) }),
    /expected a size of 1/,
  );
  assert.equal(run('Shape', [M]), 'int32[2] 2 3');
  assert.equal(run('Shape', [M], { out_type: type('int64') }), 'int64[2] 2 3');
  assert.equal(run('Size', [M]), 'int32[] 6');
});

test('putting together and taking apart', () => {
  assert.equal(run('Pack', [i(1, 2), i(3, 4)]), 'int32[2,2] 1 2 3 4');
  assert.equal(run('Pack', [i(1, 2), i(3, 4)], { axis: int(-1) }), 'int32[2,2] 1 3 2 4');
  assert.equal(run('ConcatV2', [M, M, s(1)]), 'int32[2,6] 1 2 3 1 2 3 4 5 6 4 5 6');
  assert.equal(run('Concat', [s(0), M, int32s([7, 8, 9], [1, 3])]), 'int32[3,3] 1 2 3 4 5 6 7 8 9');
  assert.equal(
    run('ConcatV2', [strings(['a'], [1]), strings(['b', 'c'], [2]), s(0)]),
    'string[3] a b c',
  );
  assert.match(fails('ConcatV2', [M, i(1), s(0)]), /shapes \[2, 3\] and \[1\]/);
  assert.match(fails('ConcatV2', [M, M, s(2)]), /axis 2/);
  assert.match(fails('Pack', [i(1), floats([1], [1])]), /types of inputs differ/);
  assert.equal(run('Slice', [M, i(0, 1), i(-1, 2)]), 'int32[2,2] 2 3 5 6');
  assert.match(fails('Slice', [M, i(0, 2), i(1, 2)]), /the slice is out of range/);
  assert.equal(run('Gather', [M, i(1, 0, 1)]), 'int32[3,3] 4 5 6 1 2 3 4 5 6');
  assert.match(fails('Gather', [M, i(2)]), /index 2 is out of range for 2 rows/);
  assert.match(fails('Gather', [M, i(-1)]), /index -1/);
  assert.equal(run('Split', [s(1), M], { num_split: int(3) }), 'int32[2,1] 1 4');
  assert.match(fails('Split', [s(1), M], { num_split: int(2) }), /3 in 2 parts/);
});

test('strided slices', () => {
  const cut = (begin: Tensor, end: Tensor, steps: Tensor, attributes: Attrs = {}): string =>
    run('StridedSlice', [M, begin, end, steps], attributes);
  assert.equal(cut(i(1), i(2), i(1), { shrink_axis_mask: int(1) }), 'int32[3] 4 5 6');
  assert.equal(cut(i(-1, -1), i(0, 0), i(1, 1), { shrink_axis_mask: int(3) }), 'int32[] 6');
  assert.equal(cut(i(0, 0), i(2, 3), i(1, 2)), 'int32[2,2] 1 3 4 6');
  assert.equal(
    cut(i(0, -1), i(0, 0), i(1, -1), { begin_mask: int(1), end_mask: int(3) }),
    'int32[2,3] 3 2 1 6 5 4',
  );
  assert.equal(cut(i(5), i(9), i(1)), 'int32[0,3] ');
  assert.match(
    invalid(() => cut(i(2), i(3), i(1), { shrink_axis_mask: int(1) })),
    /axis 2/,
  );
  assert.match(
    invalid(() => cut(i(0), i(1), i(0))),
    /expected steps other than 0/,
  );
  assert.match(
    invalid(() => cut(i(0), i(1), i(1), { ellipsis_mask: int(1) })),
    /ellipsis/,
  );
  assert.match(
    invalid(() => cut(i(0, 0, 0), i(1, 1, 1), i(1, 1, 1))),
    /got more slices than dimensions/,
  );
});

test('filling', () => {
  assert.equal(run('Fill', [i(2, 2), floats([1.5])]), 'float[2,2] 1.5 1.5 1.5 1.5');
  assert.equal(run('Fill', [i(2), strings(['x'], [])]), 'string[2] x x');
  assert.match(fails('Fill', [i(-1), floats([1])]), /shape \[-1\]/);
  assert.equal(run('ZerosLike', [M]), 'int32[2,3] 0 0 0 0 0 0');
  assert.equal(run('OnesLike', [floats([1, 2], [2])]), 'float[2] 1 1');
  assert.equal(run('ZerosLike', [strings(['a'], [1])]), 'string[1] ');
  assert.equal(run('Range', [s(3), s(-3), s(-2)]), 'int32[3] 3 1 -1');
  assert.equal(run('Range', [int64s([5], []), int64s([9], []), int64s([3], [])]), 'int64[2] 5 8');
  assert.equal(run('Range', [s(3), s(0), s(1)]), 'int32[0] ');
  assert.match(fails('Range', [s(0), s(1), s(0)]), /a range with step 0/);
  // No memory is allocated for a size that the file does not have.
  assert.equal(
    result(
      [
        constant('d', i(1 << 20, 1 << 20)),
        constant('x', floats([1])),
        node('o', 'Fill', ['d', 'x']),
      ],
      'o',
    ).data.kind,
    'fill',
  );
  assert.match(fails('Range', [s(0), s(2_000_000_000), s(1)]), /more than 16777216 elements/);
});

test('arithmetic broadcasts and wraps around', () => {
  assert.equal(run('AddV2', [M, i(10, 20, 30)]), 'int32[2,3] 11 22 33 14 25 36');
  assert.equal(run('Sub', [s(1), i(3, 4)]), 'int32[2] -2 -3');
  assert.equal(run('Mul', [int32s([1, 2], [2, 1]), i(3, 4)]), 'int32[2,2] 3 4 6 8');
  assert.equal(run('Add', [s(2_147_483_647), s(1)]), 'int32[] -2147483648');
  assert.equal(run('Mul', [s(123_456_789), s(987_654_321)]), 'int32[] -67153019');
  assert.equal(run('Add', [bytes('uint8', [250, 1]), bytes('uint8', [10, 1])]), 'uint8[2] 4 2');
  assert.equal(run('Add', [bytes('int8', [127]), bytes('int8', [1])]), 'int8[1] -128');
  assert.equal(run('Sub', [bytes('uint8', [1]), bytes('uint8', [2])]), 'uint8[1] 255');
  assert.equal(
    run('Add', [int64s([9_223_372_036_854_775_807n], []), int64s([1], [])]),
    'int64[] -9223372036854776000',
  );
  assert.equal(run('RealDiv', [floats([1]), floats([3])]), `float[] ${Math.fround(1 / 3)}`);
  assert.equal(run('FloorDiv', [i(-7, 7), s(2)]), 'int32[2] -4 3');
  assert.equal(run('Maximum', [i(1, 5), s(3)]), 'int32[2] 3 5');
  assert.equal(run('Neg', [i(1, -5)]), 'int32[2] -1 5');
  assert.equal(run('Sqrt', [floats([4])]), 'float[] 2');
  assert.equal(run('Prod', [i(2, 3, 4), i(0)]), 'int32[] 24');
  assert.equal(run('Sum', [M, i(0, 1)], { keep_dims: bool(true) }), 'int32[1,1] 21');
  assert.match(fails('FloorDiv', [s(1), s(0)]), /division by zero/);
  assert.match(fails('Add', [i(1, 2), i(1, 2, 3)]), /do not broadcast/);
  assert.match(fails('Add', [s(1), floats([1])]), /types int32 and float differ/);
  assert.match(fails('Add', [strings(['a'], []), strings(['b'], [])]), /cannot compute|expected/);
  assert.match(fails('Sum', [M, i(0)]), /only reductions over all axes are supported/);
});

test('comparing and choosing', () => {
  assert.equal(run('Less', [i(1, 2, 3), s(2)]), 'bool[3] 1 0 0');
  assert.equal(run('Equal', [strings(['a', 'b'], [2]), strings(['a'], [])]), 'bool[2] 1 0');
  assert.equal(run('GreaterEqual', [floats([NaN, 1], [2]), floats([1])]), 'bool[2] 0 1');
  assert.equal(run('LogicalNot', [bytes('bool', [0, 1])]), 'bool[2] 1 0');
  assert.equal(run('LogicalAnd', [bytes('bool', [1, 1]), bytes('bool', [0, 1])]), 'bool[2] 0 1');
  const flag = { dtype: 'bool', shape: [], data: { kind: 'fill', element: new Uint8Array([1]) } };
  assert.equal(run('SelectV2', [flag as Tensor, s(1), s(2)]), 'int32[] 1');
  assert.match(fails('SelectV2', [bytes('bool', [1]), s(1), s(2)]), /expected a scalar condition/);
});

test('casting', () => {
  const cast = (input: Tensor, to: Tensor['dtype']): string =>
    run('Cast', [input], { DstT: type(to) });
  assert.equal(cast(floats([1.9, -1.9, 300], [3]), 'int32'), 'int32[3] 1 -1 300');
  assert.equal(cast(i(0, 2), 'bool'), 'bool[2] 0 1');
  assert.equal(cast(i(1, -1), 'int64'), 'int64[2] 1 -1');
  assert.equal(cast(i(300), 'uint8'), 'uint8[1] 44');
  assert.equal(cast(int64s([2 ** 40 + 5], []), 'int32'), 'int32[] 5');
  assert.match(
    invalid(() => cast(floats([NaN]), 'int32')),
    /NaN as int32/,
  );
  assert.match(
    invalid(() => cast(i(1), 'string')),
    /cannot compute with string/,
  );
});

test('half and bfloat16', () => {
  const twoBytes = (dtype: Tensor['dtype'], ...all: number[]): Tensor => ({
    dtype,
    shape: [all.length],
    data: { kind: 'bytes', bytes: new Uint8Array(new Uint16Array(all).buffer) },
  });
  const cast = (input: Tensor, to: Tensor['dtype']): string =>
    run('Cast', [input], { DstT: type(to) });
  assert.equal(
    cast(twoBytes('bfloat16', 0x3f80, 0xc040, 0x7f80), 'float'),
    'float[3] 1 -3 Infinity',
  );
  assert.equal(
    cast(twoBytes('half', 0x3c00, 0xc000, 0x0001, 0x7bff, 0xfc00), 'float'),
    `float[5] 1 -2 ${2 ** -24} 65504 -Infinity`,
  );
  // 65520 is halfway to 65536, which halves do not have; 2049 and 2051 are halfway between two
  // halves.
  assert.equal(
    cast(floats([65_519, 65_520, 2049, 2051, 1e-8, 6e-8, -0], [7]), 'half'),
    `half[7] 65504 Infinity 2048 2052 0 ${2 ** -24} 0`,
  );
  assert.equal(
    cast(floats([Infinity, -Infinity, 1e30, NaN], [4]), 'half'),
    'half[4] Infinity -Infinity Infinity NaN',
  );
  assert.equal(
    cast(floats([1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38, NaN], [4]), 'bfloat16'),
    `bfloat16[4] 1 ${1 + 2 ** -6} Infinity NaN`,
  );
  assert.equal(run('Bitcast', [floats([1])], { type: type('int32') }), 'int32[] 1065353216');
  assert.equal(
    run('Bitcast', [twoBytes('uint16', 0, 0x3f80)], { type: type('float') }),
    'float[] 1',
  );
  assert.match(fails('Bitcast', [bytes('uint8', [1, 2])], { type: type('float') }), /as float/);
});

test('strings', () => {
  const join = (separator: string, ...all: Tensor[]): string =>
    run('StringJoin', all, { N: int(all.length), separator: text(separator) });
  assert.equal(join('/', strings(['a'], []), strings(['b', 'c'], [2])), 'string[2] a/b a/c');
  assert.equal(join('', strings(['ä'], []), strings([''], [])), 'string[] ä');
  assert.match(
    invalid(() => join('', strings(['a'], [1]), strings(['b', 'c'], [2]))),
    /differ/,
  );
  assert.equal(run('AsString', [i(1, -2)], { width: int(-1) }), 'string[2] 1 -2');
  assert.equal(run('AsString', [bytes('bool', [0, 1])]), 'string[2] false true');
  assert.match(fails('AsString', [floats([1])]), /of float/);
  assert.match(fails('AsString', [i(1)], { width: int(3) }), /width and fill are not supported/);
});

test('constants whose bytes do not fit their shape', () => {
  const short: Tensor = {
    dtype: 'int32',
    shape: [3],
    data: { kind: 'bytes', bytes: new Uint8Array(8) },
  };
  assert.match(fails('Neg', [short]), /expected 12 bytes of elements, got 8/);
  const few: Tensor = { dtype: 'string', shape: [2], data: { kind: 'strings', values: [] } };
  assert.match(fails('StringJoin', [few], { N: int(1) }), /expected 2 strings, got 0/);
  assert.match(
    fails('Neg', [
      { dtype: 'complex64', shape: [], data: { kind: 'bytes', bytes: new Uint8Array(8) } },
    ]),
    /cannot compute with complex64/,
  );
  const gone: Tensor = {
    dtype: 'float',
    shape: [1],
    data: { kind: 'file', path: '/nonexistent', offset: 0, byteLength: 4 },
  };
  assert.match(fails('Neg', [gone]), /Neg "o": .*no such file.*nonexistent/);
  assert.match(fails('Neg', [{ ...short, shape: [-2, -1] }]), /shape \[-2, -1\]/);
  assert.match(fails('Range', [int64s([0], []), floats([3.5]), floats([0.5])]), /types/);
  assert.match(fails('Neg', [{ ...gone, shape: [2] }]), /expected 8 bytes of elements, got 4/);
});

test('random initial values are the same at every load, in their ranges, and warned of', () => {
  const nodes = (op: string): NodeDef[] => [
    constant('n', i(1000)),
    node('o', op, ['n'], { dtype: type('float') }),
  ];
  const [uniform, normal, truncated] = [
    'RandomUniform',
    'RandomStandardNormal',
    'TruncatedNormal',
  ].map((op) => values(result(nodes(op), 'o')).map(Number));
  assert.ok(uniform?.every((value) => value >= 0 && value < 1));
  assert.ok(truncated?.every((value) => Math.abs(value) < 2));
  const mean = (all: readonly number[] = []): number => all.reduce((a, b) => a + b, 0) / all.length;
  assert.ok(Math.abs(mean(uniform) - 0.5) < 0.05 && Math.abs(mean(normal)) < 0.15);
  assert.ok(Math.abs(mean(normal?.map((value) => value * value)) - 1) < 0.2);
  assert.deepEqual(values(result(nodes('RandomUniform'), 'o')), uniform);
});
