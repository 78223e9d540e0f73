// Models that TensorFlow wrote, beside the checkout if there are any: the values of their variables
// and tables after preparation. Values: INDEX.json, and TensorFlow 2.21 for the SavedModels.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { reachable } from '../../../../../ts/importers/tensorflow/prepare/prune.js';
import { sharedModel } from '../load/support.js';
import { attribute, preparedFolder, values, variablesOf } from './graphs.js';

const HALF = { a: [0.5], b: [2], c: [3] };
// A signature's graph keeps the asset's name in a variable; after preparation it is the constant's
// own.
const WITH_FILE = { ...HALF, filename_tensor: ['foo.txt'] };
const TWICE = { ...WITH_FILE, a2: [0.5], c2: [3] };
const PLAIN = { Variable: [0.5], Variable_1: [2] };
const EMB = [
  [0.4839409589767456, 0.5062030553817749, 0.25514376163482666, 0.12474226951599121],
  [0.9330101013183594, 0.6646093130111694, 0.22922444343566895, 0.8442271947860718],
  [0.7691035270690918, 0.5511230230331421, 0.9364590644836426, 0.10922825336456299],
  [0.8274022340774536, 0.16611576080322266, 0.16201579570770264, 0.29471421241760254],
];
// All three parts have the same random seed.
const DTYPES = {
  a: [0.5],
  b: [2],
  bools: [1, 0],
  'emb/part_0': EMB.flat(),
  'emb/part_1': EMB.slice(0, 3).flat(),
  'emb/part_2': EMB.slice(0, 3).flat(),
  f64: [1.5, -2.5],
  half: [0, 1, 2, 3, 4],
  i64: [-1_099_511_627_776, 1_099_511_627_776],
  i8: [-3, -2, -1, 0, 1, 2],
  strs: ['x', 'yy\ufffd'],
};
const V2_DTYPES = { ...DTYPES, bf16: [1, 2] };
const W = [0.2390373945236206, 0.92039954662323];
const CLASSIFY = { 'W/part_0': [...W, 0.05051243305206299, 0.4957444667816162], 'W/part_1': W };

type Contents = Readonly<Record<string, readonly (number | string)[]>>;
const VARIABLES: Readonly<Record<string, Contents>> = {
  'session_bundle/generated/v1_classify_assets/00000007': CLASSIFY,
  'session_bundle/generated/v1_plain_dtypes/00000123': DTYPES,
  'session_bundle/generated/v1_sharded_dtypes/00000123': DTYPES,
  'session_bundle/generated/v2_classify_assets/00000007': CLASSIFY,
  'session_bundle/generated/v2_plain_dtypes/00000123': V2_DTYPES,
  'session_bundle/generated/v2_sharded_dtypes/00000123': V2_DTYPES,
  'session_bundle/v1_plain_bad_half_plus_two/00000123': PLAIN,
  'session_bundle/v1_plain_half_plus_two/00000123': PLAIN,
  'session_bundle/v2_half_plus_two/00000123': PLAIN,
  'tfserving/bad_half_plus_two/00000123': PLAIN,
  'tfserving/batching/matrix_half_plus_two/1': {},
  'tfserving/saved_model_counter/00000123': { counter: [0] },
  'tfserving/saved_model_half_plus_three/00000123': { ...WITH_FILE, b: [3] },
  'tfserving/saved_model_half_plus_two_2_versions/00000123': WITH_FILE,
  'tfserving/saved_model_half_plus_two_2_versions/00000124': WITH_FILE,
  'tfserving/saved_model_half_plus_two_cpu/00000123': TWICE,
  'tfserving/saved_model_half_plus_two_cpu_with_empty_saved_model_config/00000123': TWICE,
  'tfserving/saved_model_half_plus_two_cpu_with_saved_model_config/00000123': TWICE,
  'tfserving/saved_model_half_plus_two_gpu/00000123': HALF,
  'tfserving/saved_model_half_plus_two_gpu_trt/00000123': TWICE,
  'tfserving/saved_model_half_plus_two_mlmd/00000123': TWICE,
};

for (const [path, expected] of Object.entries(VARIABLES)) {
  test(path, (t) => {
    const folder = sharedModel(t, path);
    if (folder === undefined) return;
    const model = preparedFolder(folder);
    assert.deepEqual(variablesOf(model), expected);
    assert.deepEqual(model.state.warnings, []);
  });
}

for (const path of [
  'session_bundle/v1_sharded_half_plus_two/00000123',
  'tfserving/session_bundle/half_plus_two/00000123',
]) {
  test(`${path}: variables hold the fed paths of assets, constants their own`, (t) => {
    const folder = sharedModel(t, path);
    if (folder === undefined) return;
    const model = preparedFolder(folder);
    assert.deepEqual(variablesOf(model), {
      a: [0.5],
      asset_path: ['/tmp/original/export/assets'],
      b: [2],
      filename1: [join(folder, 'assets', 'hello1.txt')],
      filename2: [join(folder, 'assets', 'hello2.txt')],
    });
  });
}

for (const path of ['v1_classify_assets', 'v2_classify_assets']) {
  test(`${path}: the table holds the asset's lines`, (t) => {
    const folder = sharedModel(t, `session_bundle/generated/${path}/00000007`);
    if (folder === undefined) return;
    const [[name, table] = []] = preparedFolder(folder).state.tables;
    assert.deepEqual(
      [name, values(table?.keys), values(table?.values)],
      ['hash_table', [0, 1, 2], ['cat', 'dog', 'bird']],
    );
  });
}

test('TensorFlow 2: calls are inlined, the asset variable is set by the init op', (t) => {
  const folder = sharedModel(t, 'tfserving/saved_model_half_plus_two_tf2_cpu/00000123');
  if (folder === undefined) return;
  const model = preparedFolder(folder);
  assert.deepEqual(variablesOf(model), { ...HALF, Variable: [join(folder, 'assets', 'foo.txt')] });
  const ops = new Set([...model.main.nodes.values()].map(({ op }) => op));
  assert.ok(!ops.has('StatefulPartitionedCall') && ops.has('ParseExampleV2'));
  const y = { node: 'StatefulPartitionedCall_5', output: 0 };
  const needed = reachable(model.main, [y], [{ node: 'serving_default_x', output: 0 }]);
  assert.ok(![...needed].some((name) => name.startsWith('StatefulPartitionedCall_1')));
  const read = [...needed]
    .flatMap((name) => model.main.nodes.get(name) ?? [])
    .filter(({ op }) => op === 'VarHandleOp')
    .map(({ name }) => name);
  assert.deepEqual(read.sort(), ['a', 'b']);
});

test('weights that are drawn anew at every load are drawn, with a warning', (t) => {
  const folder = sharedModel(t, 'tfserving/saved_model_half_plus_two_mkl/00000123');
  if (folder === undefined) return;
  const { state, main } = preparedFolder(folder);
  assert.match(state.warnings.join(), /initialised with random numbers/);
  const kernels = [...state.variables].filter(([name]) => name.endsWith('/kernel'));
  assert.equal(kernels.length, 3);
  for (const [name, value] of kernels) {
    const declared = attribute(main.nodes.get(name)?.attributes, 'shape');
    assert.deepEqual(value.shape, declared, name);
    assert.ok(
      values(value).every((each) => Math.abs(Number(each)) <= Math.sqrt(3)),
      name,
    );
  }
});
