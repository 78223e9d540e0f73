// Building ONNX graphs: names, constants, the casts that the runtime's kernels need.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import {
  constantValue,
  GraphBuilder,
  ModelBuild,
  withInts,
} from '../../../../../ts/importers/tensorflow/lower/graph-builder.js';
import {
  numbersTensor,
  stringsTensor,
  tensorNumbers,
} from '../../../../../ts/importers/tensorflow/lower/tensors.js';
import type { TensorValue } from '../../../../../ts/importers/tensorflow/lower/values.js';
import { WeightStore } from '../../../../../ts/importers/tensorflow/lower/weights.js';
import type { Dtype, Shape } from '../../../../../ts/importers/tensorflow/types.js';
import { errorText } from '../messages.js';

const builder = (): GraphBuilder => new GraphBuilder(new ModelBuild(new WeightStore('')));
const value = (dtype: Dtype, shape: Shape = [2], name = 'x'): TensorValue => ({
  kind: 'tensor',
  dtype,
  shape,
  name,
});
const constant = (dtype: Dtype, numbers: readonly number[]): TensorValue =>
  constantValue(numbersTensor(dtype, [numbers.length], numbers));
const ops = (built: GraphBuilder): string[] => built.nodes.map((node) => node.op);

test('names that were reserved are given to nobody else', () => {
  const model = new ModelBuild(new WeightStore(''));
  assert.equal(model.reserve('Add_1'), 'Add_1');
  assert.equal(model.reserve('x'), 'x');
  assert.equal(model.reserve('x'), 'x:1');
  assert.equal(model.reserve('x'), 'x:2');
  assert.notEqual(model.reserve(''), '');
  assert.equal(model.name('Add'), 'Add_2');
  assert.notEqual(model.name('Add'), model.name('Add'));
});

test('a kernel that has the type is used as it is', () => {
  const built = builder();
  const [sum] = built.add(
    'Add',
    [value('float'), value('float', [2], 'y')],
    [{ dtype: 'float', shape: [2] }],
  );
  assert.deepEqual(ops(built), ['Add']);
  assert.deepEqual(built.nodes[0]?.inputs, ['x', 'y']);
  assert.equal(sum?.dtype, 'float');
});

test('one that lacks it gets casts before and after', () => {
  const built = builder();
  const [result] = built.add('Acos', [value('double')], [{ dtype: 'double', shape: [2] }]);
  assert.deepEqual(ops(built), ['Cast', 'Acos', 'Cast']);
  assert.deepEqual(
    built.nodes.map((node) => node.attributes?.['to']),
    [{ int: 1 }, undefined, { int: 11 }],
  );
  assert.equal(result?.dtype, 'double');
  const halves = builder();
  halves.add('Add', [value('half'), value('half')], [{ dtype: 'half', shape: [2] }]);
  assert.deepEqual(ops(halves), ['Cast', 'Cast', 'Add', 'Cast']);
});

test('outputs of another type variable are not cast back', () => {
  const built = builder();
  const [index] = built.add('ArgMax', [value('int16')], [{ dtype: 'int64', shape: [] }]);
  assert.deepEqual(ops(built), ['Cast', 'ArgMax']);
  assert.equal(index?.dtype, 'int64');
});

test('constants are cast at once, as long as no value is lost', () => {
  const built = builder();
  built.add('Acos', [constant('double', [0.5])], [{ dtype: 'double', shape: [1] }]);
  assert.deepEqual(ops(built), ['Acos', 'Cast']);
  assert.equal(built.cast(constant('int32', [7]), 'int64').ints?.[0], 7);
  const kept = built.cast(constant('int64', [2 ** 53 - 1]), 'float');
  assert.equal(kept.constant, undefined, 'left to the runtime, which rounds');
  const wrapped = built.cast(constant('float', [1.5]), 'int32');
  assert.equal(wrapped.constant, undefined, 'left to the runtime, which cuts');
});

test('a type that no kernel comes near to is refused by name', () => {
  assert.match(
    errorText(
      () => builder().add('Add', [value('string')], [{ dtype: 'string', shape: [2] }]),
      ErrorCode.Unimplemented,
    ),
    /ONNX Add has no kernel for string/,
  );
});

test('optional inputs that are left out stay out', () => {
  const built = builder();
  built.add(
    'Clip',
    [value('float'), undefined, value('float', [], 'max')],
    [{ dtype: 'float', shape: [2] }],
  );
  assert.deepEqual(built.nodes[0]?.inputs, ['x', '', 'max']);
});

test('small constants are inline, equal ones once; strings are strings', () => {
  const built = builder();
  const names = [
    constant('int32', [1, 2]),
    constant('int32', [1, 2]),
    constant('uint32', [1, 2]),
    constantValue(numbersTensor('int32', [2, 1], [1, 2])),
  ].map((one) => built.use(one));
  assert.equal(names[0], names[1]);
  assert.equal(new Set(names).size, 3);
  const words = built.use(constantValue(stringsTensor([1], ['a'])));
  const initializer = built.model.initializers.find((one) => one.name === words);
  assert.deepEqual(initializer?.data, [Buffer.from('a')]);
  assert.deepEqual([...built.model.weightsUsed], []);
});

test('halves stay float between kernels that have no others', () => {
  const built = builder();
  const made = (
    type: string,
    inputs: readonly TensorValue[],
    dtype: Dtype = 'half',
  ): TensorValue => {
    const [out] = built.add(type, inputs, [{ dtype, shape: [2] }]);
    assert.ok(out !== undefined);
    return out;
  };
  const first = made('Exp', [value('half')]);
  assert.equal(first.dtype, 'half');
  const joined = made('Concat', [
    made('Sqrt', [made('Transpose', [first])]),
    constant('half', [1]),
  ]);
  const last = made('Sqrt', [joined]);
  const graph = built.subgraph('body', [], [last]);
  // The constant's cast is done at once.
  assert.deepEqual(
    graph.nodes.map((node) => node.op),
    ['Cast', 'Exp', 'Transpose', 'Sqrt', 'Concat', 'Sqrt', 'Cast', 'Identity'],
  );
  const casts = (outputs: readonly TensorValue[]): number =>
    built.subgraph('body', [], outputs).nodes.filter((node) => node.op === 'Cast').length;
  assert.equal(casts([built.cast(first, 'float')]), 3);
  assert.equal(casts([made('Floor', [first])]), 4);
  assert.equal(casts([made('Less', [first, first], 'bool')]), 4);
});

test('custom operators say the type of what they give', () => {
  const built = builder();
  const [out] = built.add(
    'Hash',
    [value('string')],
    [{ dtype: 'int64', shape: [2] }],
    {},
    'serval',
  );
  assert.equal(built.nodes[0]?.domain, 'serval');
  assert.deepEqual(built.model.typesOf(built.nodes), [{ name: out?.name, type: 'int64' }]);
});

test('a subgraph gives its outputs names of their own and drops what they do not need', () => {
  const built = builder();
  built.add('Neg', [value('float')], [{ dtype: 'float', shape: [2] }]);
  const [used] = built.add('Abs', [value('float')], [{ dtype: 'float', shape: [2] }]);
  assert.ok(used !== undefined);
  const graph = built.subgraph('body', [], [used, used]);
  assert.deepEqual(
    graph.nodes.map((node) => node.op),
    ['Abs', 'Identity', 'Identity'],
  );
  assert.equal(new Set(graph.outputs.map((one) => one.name)).size, 2);
});

test('known integers become a constant where they are all known', () => {
  const known = withInts(value('int64', [2]), [3, 4]);
  assert.deepEqual(known.constant && tensorNumbers(known.constant), [3, 4]);
  assert.equal(known.name, undefined);
  const part = withInts(value('int64', [2]), [undefined, 4]);
  assert.equal(part.constant, undefined);
  assert.deepEqual([part.name, part.ints], ['x', [undefined, 4]]);
  const free = withInts(value('int64', [undefined]), [1]);
  assert.equal(free.constant, undefined);
});
