// Which loops are recognized as an LSTM or GRU layer: the standard cells in their spellings, and
// bodies with a single difference, which must stay loops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbersTensor } from '../../../../../../ts/importers/tensorflow/lower/tensors.js';
import type { Value } from '../../../../../../ts/importers/tensorflow/lower/values.js';
import { gruOf, lstmOf, rnnOf } from '../../../../../../ts/importers/tensorflow/ops/rnn/cells.js';
import { Pattern } from '../../../../../../ts/importers/tensorflow/ops/rnn/patterns.js';
import { sequenceOf } from '../../../../../../ts/importers/tensorflow/ops/rnn/sequences.js';
import type {
  Attribute,
  FlatFunction,
  FlatNode,
} from '../../../../../../ts/importers/tensorflow/types.js';
import { refOf } from '../../control-flow/graphs.js';

const UNITS = 5;

/**
 * Lines "name op input ...". "Const=1,2" has these numbers, "Split=4" makes four parts, "MatMul=t"
 * has transposed weights.
 */
function functionOf(
  args: readonly string[],
  lines: readonly string[],
  returns: string,
): FlatFunction {
  const all = [...args.map((name) => `${name} _Arg`), ...lines].map(nodeOf);
  return {
    name: 'f',
    args,
    returns: returns.split(' ').map(refOf),
    control: [],
    nodes: new Map(all.map((node) => [node.name, node])),
  };
}

function nodeOf(line: string): FlatNode {
  const [name = '', spelled = '', ...inputs] = line.split(' ');
  const [op = '', value = ''] = spelled.split('=');
  const attributes = new Map<string, Attribute>();
  if (op === 'Const') {
    const numbers = value.split(',').map(Number);
    const shape = numbers.length === 1 ? [] : [numbers.length];
    attributes.set('value', { kind: 'tensor', value: numbersTensor('int32', shape, numbers) });
  }
  if (op === 'Split') attributes.set('num_split', { kind: 'int', value: BigInt(value) });
  if (value === 't') attributes.set('transpose_b', { kind: 'bool', value: true });
  if (op === 'StridedSlice') {
    const [begin = '', end = ''] = value.split(',');
    attributes.set('begin_mask', { kind: 'int', value: BigInt(begin) });
    attributes.set('end_mask', { kind: 'int', value: BigInt(end) });
  }
  return { name, op, attributes, inputs: inputs.map(refOf), control: [] };
}

const ARGS = ['i', 'n', 'out', 'h', 'c', 'in', 'w', 'u', 'b'];

const AROUND = [
  'one Const=1',
  'i2 AddV2 i one',
  'shape Const=-1,4',
  'x TensorListGetItem in i shape',
  'out2 TensorListSetItem out i h2',
];

const LSTM = [
  ...AROUND,
  'xw MatMul x w',
  'hu MatMul h u',
  'sum AddV2 xw hu',
  'z BiasAdd sum b',
  'axis Const=1',
  'split Split=4 axis z',
  'si Sigmoid split',
  'sf Sigmoid split:1',
  'tg Tanh split:2',
  'so Sigmoid split:3',
  'kept Mul sf c',
  'new Mul si tg',
  'c2 AddV2 kept new',
  'tc Tanh c2',
  'h2 Mul so tc',
];

const tensor = (shape: readonly number[]): Value => ({
  kind: 'tensor',
  name: 'v',
  dtype: 'float',
  shape,
});
const counter: Value = {
  kind: 'tensor',
  dtype: 'int32',
  shape: [],
  constant: numbersTensor('int32', [], [0]),
  ints: [0],
};
const list = (isFull: boolean): Value => {
  const length = counter;
  const items = isFull
    ? ({ kind: 'tensor', name: 'l', dtype: 'float', shape: [7, 1, 4] } as const)
    : undefined;
  return { kind: 'list', dtype: 'float', elementShape: undefined, length, items };
};
const VALUES: readonly Value[] = [
  counter,
  tensor([]),
  list(false),
  tensor([1, UNITS]),
  tensor([1, UNITS]),
  list(true),
  tensor([4, 4 * UNITS]),
  tensor([UNITS, 4 * UNITS]),
  tensor([4 * UNITS]),
];

const CONDITION = functionOf(ARGS, ['less Less i n'], 'less');

interface Change {
  readonly lines?: readonly string[];
  readonly returns?: string;
  readonly condition?: FlatFunction;
  readonly values?: readonly Value[];
}

/** An LSTM in which lines replace those with the same name. */
function lstmWith({
  lines = [],
  returns,
  condition = CONDITION,
  values = VALUES,
}: Change = {}): ReturnType<typeof lstmOf> {
  const names = new Set(lines.map((line) => line.split(' ')[0]));
  const kept = LSTM.filter((line) => !names.has(line.split(' ')[0]));
  const body = functionOf(ARGS, [...kept, ...lines], returns ?? 'i2 n out2 h2 c2 in w u b');
  const pattern = new Pattern(body);
  const sequence = sequenceOf(condition, pattern, values);
  return sequence && lstmOf(pattern, sequence);
}

test('the standard LSTM', () => {
  assert.deepEqual(lstmWith(), {
    h: 3,
    c: 4,
    weights: refOf('w'),
    recurrent: refOf('u'),
    bias: refOf('b'),
  });
});

test('the same LSTM in other words', () => {
  const same = (change: Change): void => assert.notEqual(lstmWith(change), undefined);
  same({ lines: ['c2 AddV2 new kept', 'kept Mul c sf', 'new Mul tg si', 'h2 Mul tc so'] });
  same({ lines: ['sum AddV2 hu xw', 'z AddV2 b sum'] });
  same({ lines: ['sum AddV2 xw b', 'z AddV2 sum hu'] });
  same({ lines: ['z Identity sum'] });
  same({ lines: ['read ReadVariableOp w', 'xw MatMul x read', 'axis Const=-1'] });
  same({ lines: ['first Const=0', 'out2 TensorListSetItem out first h2'] });
  same({ lines: ['ih Identity h2'], returns: 'i2 n out2 ih c2 in w u b' });
  same({ condition: functionOf(ARGS, ['seven Const=7', 'less Less i seven'], 'less') });
  same({ condition: functionOf(ARGS, ['a Less i n', 'and LogicalAnd a a'], 'and') });
});

test('bodies that are no standard LSTM', () => {
  const other = (...lines: string[]): void =>
    assert.equal(lstmWith({ lines }), undefined, lines.join('; '));
  other('sf Sigmoid split', 'si Sigmoid split:1');
  other('so Sigmoid split:2', 'tg Tanh split:3');
  other('tg Sigmoid split:2');
  other('si Tanh split');
  other('tc Tanh new');
  other('tc Sigmoid c2');
  other('kept Mul sf h');
  other('kept Mul sf x');
  other('c2 Sub kept new');
  other('axis Const=0');
  other('split Split=5 axis z');
  other('xw MatMul=t x w');
  other('hu MatMul c u');
  other('xw MatMul h w');
  other('b2 Neg h', 'z BiasAdd sum b2');
  other('z2 AddV2 sum b', 'z AddV2 z2 b');
  other('u2 Mul u h', 'hu MatMul h u2');
  other('noise RandomUniform shape', 'u2 Mul u noise', 'hu MatMul h u2');
  other('mask Less i n', 'h3 SelectV2 mask h2 h', 'out2 TensorListSetItem out i h3');
});

test('loops that are no sequence', () => {
  const other = (change: Change): void => assert.equal(lstmWith(change), undefined);
  other({ lines: ['i2 AddV2 i i'] });
  other({ lines: ['two Const=2', 'i2 AddV2 i two'] });
  other({ lines: ['back Sub n i', 'x TensorListGetItem in back shape'] });
  other({ lines: ['back Sub n i', 'out2 TensorListSetItem out back h2'] });
  other({ lines: ['out2 TensorListSetItem out i c2'] });
  other({ lines: ['second TensorListGetItem in one shape'] });
  other({ lines: ['assign AssignVariableOp w h2'] });
  other({ returns: 'i2 n out2 h c2 in w u b' });
  other({ returns: 'i2 i2 out2 h2 c2 in w u b' });
  other({ returns: 'i2 n out2 h2 c2 in u w b' });
  other({ condition: functionOf(ARGS, ['less LessEqual i n'], 'less') });
  other({ condition: functionOf(ARGS, ['less Less n i'], 'less') });
  other({ condition: functionOf(ARGS, ['a Less i n', 'less LogicalOr a a'], 'less') });
  other({ condition: functionOf(ARGS, ['less Greater h c'], 'less') });
  const begun = VALUES.map((value, i) => (i === 0 ? tensor([]) : value));
  other({ values: begun });
  other({ values: VALUES.map((value, i) => (i === 5 ? list(false) : value)) });
});

const GRU_ARGS = ['i', 'n', 'out', 'h', 'in', 'w', 'u', 'b', 'rb'];
const GRU_VALUES = [...VALUES.slice(0, 4), ...VALUES.slice(5, 8), tensor([15]), tensor([15])];
const GRU = [
  ...AROUND,
  'xw MatMul x w',
  'hu MatMul h u',
  'zx BiasAdd xw b',
  'zr BiasAdd hu rb',
  'axis Const=1',
  'px Split=3 axis zx',
  'pr Split=3 axis zr',
  'sz AddV2 px pr',
  'z Sigmoid sz',
  'sr AddV2 px:1 pr:1',
  'r Sigmoid sr',
  'rh Mul r pr:2',
  'sh AddV2 px:2 rh',
  'hh Tanh sh',
  'one_f Const=1',
  'rest Sub one_f z',
  'kept Mul z h',
  'new Mul rest hh',
  'h2 AddV2 kept new',
];

function gruWith(...lines: readonly string[]): ReturnType<typeof gruOf> {
  const names = new Set(lines.map((line) => line.split(' ')[0]));
  const kept = GRU.filter((line) => !names.has(line.split(' ')[0]));
  const body = functionOf(GRU_ARGS, [...kept, ...lines], 'i2 n out2 h2 in w u b rb');
  const pattern = new Pattern(body);
  const condition = functionOf(GRU_ARGS, ['less Less i n'], 'less');
  const sequence = sequenceOf(condition, pattern, GRU_VALUES);
  return sequence && gruOf(pattern, sequence, () => UNITS);
}

test('the standard GRU, its parts by Split or by slices', () => {
  const found = gruWith();
  assert.deepEqual(found, {
    h: 3,
    weights: refOf('w'),
    recurrent: refOf('u'),
    bias: refOf('b'),
    recurrentBias: refOf('rb'),
  });
  const slices = [
    'at0 Const=0,0',
    'at1 Const=0,5',
    'at2 Const=0,10',
    'end Const=0,0',
    'steps Const=1,1',
    'r0 StridedSlice=3,1 zr at0 at1 steps',
    'r1 StridedSlice=1,1 zr at1 at2 steps',
    'r2 StridedSlice=1,3 zr at2 end steps',
  ];
  const used = ['sz AddV2 px r0', 'sr AddV2 px:1 r1', 'rh Mul r r2'];
  assert.deepEqual(gruWith(...slices, ...used), found);
  assert.notEqual(gruWith('sz AddV2 pr px', 'sr AddV2 pr:1 px:1', 'rh Mul pr:2 r'), undefined);
  assert.equal(gruWith(...slices, 'sz AddV2 px r1', 'sr AddV2 px:1 r0', 'rh Mul r r2'), undefined);
  const short = 'r2 StridedSlice=1,1 zr at2 at2 steps';
  assert.equal(
    gruWith(...slices.filter((line) => !line.startsWith('r2')), short, ...used),
    undefined,
  );
});

test('bodies that are no standard GRU', () => {
  const other = (...lines: string[]): void =>
    assert.equal(gruWith(...lines), undefined, lines.join('; '));
  other('kept Mul rest h', 'new Mul z hh');
  other('one_f Const=2');
  other('rest Sub z one_f');
  other('rest Sub one_f r');
  other('hh Sigmoid sh');
  other('sh AddV2 px:2 pr:2');
  other('rh Mul r px:2');
  other('sz AddV2 px pr:1', 'sr AddV2 px:1 pr');
  other('reset Mul h r', 'hu MatMul reset u');
  other('zr BiasAdd hu h');
});

function rnnWith(...lines: readonly string[]): ReturnType<typeof rnnOf> {
  const plain = [
    ...AROUND,
    'xw MatMul x w',
    'hu MatMul h u',
    'xb BiasAdd xw b',
    'z AddV2 xb hu',
    'h2 Tanh z',
  ];
  const names = new Set(lines.map((line) => line.split(' ')[0]));
  const kept = plain.filter((line) => !names.has(line.split(' ')[0]));
  const args = GRU_ARGS.slice(0, -1);
  const body = functionOf(args, [...kept, ...lines], 'i2 n out2 h2 in w u b');
  const pattern = new Pattern(body);
  const condition = functionOf(args, ['less Less i n'], 'less');
  const sequence = sequenceOf(condition, pattern, GRU_VALUES.slice(0, -1));
  return sequence && rnnOf(pattern, sequence);
}

test('the plain recurrent cell, and what is not it', () => {
  assert.deepEqual(rnnWith(), {
    h: 3,
    weights: refOf('w'),
    recurrent: refOf('u'),
    bias: refOf('b'),
  });
  assert.notEqual(rnnWith('z AddV2 xw hu'), undefined);
  assert.equal(rnnWith('h2 Relu z'), undefined);
  assert.equal(rnnWith('z AddV2 xb h'), undefined);
  assert.equal(rnnWith('z AddV2 xb xb'), undefined);
  assert.equal(rnnWith('t Tanh hu', 'z AddV2 xb t'), undefined);
  assert.equal(rnnWith('out2 TensorListSetItem out i z'), undefined);
});
