// MLeap bundles: which parts of their files are read, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { MLEAP_OPS, REFUSED_OPS } from '../../../../ts/importers/mleap/index.js';
import {
  double,
  doubles,
  filesOf,
  importFiles,
  importNodes,
  long,
  type NodeOf,
  text,
  texts,
  vector,
} from './memory-bundle.js';

const scaler: NodeOf = {
  op: 'standard_scaler',
  attributes: { std: vector(2, 4) },
  inputs: { input: 'x' },
  outputs: { output: 'y' },
};
const regression: NodeOf = {
  op: 'linear_regression',
  attributes: { coefficients: vector(1, 2), intercept: double(0.5) },
  inputs: { features: 'y' },
  outputs: { prediction: 'p' },
};

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ServalError, String(error));
  assert.equal(error.code, ErrorCode.ModelInvalid);
  return error.message;
}

test('fields are what no node makes, answers what the last prediction and later nodes make', async () => {
  const { plan } = await importNodes({ scale: scaler, predict: regression });
  assert.deepEqual(
    plan.fields.map(({ name, type, size }) => ({ name, type, size })),
    [{ name: 'x', type: 'vector', size: 2 }],
  );
  assert.deepEqual(
    plan.outputs.map(({ name, extra }) => ({ name, extra: extra === true })),
    [
      { name: 'y', extra: true },
      { name: 'p', extra: false },
      { name: 'shap_values', extra: true },
      { name: 'expected_value', extra: true },
    ],
  );
  assert.equal(plan.producer, 'MLeap 0.20.0');
});

test('without a prediction the answers are what no node reads', async () => {
  const { plan } = await importNodes({
    first: scaler,
    second: { ...scaler, inputs: { input: 'y' }, outputs: { output: 'z' } },
  });
  const defaults = plan.outputs.filter(({ extra }) => extra !== true);
  assert.deepEqual(
    defaults.map(({ name }) => name),
    ['z'],
  );
});

test('a scalar that is zero is written as nothing', async () => {
  const model = { ...regression, attributes: { coefficients: vector(1, 2), intercept: {} } };
  const { plan } = await importNodes({ scale: scaler, predict: model });
  const stage = plan.block.stages.find(({ kind }) => kind === 'linear_regression');
  const intercept = stage?.attributes.find(({ name }) => name === 'intercept');
  assert.deepEqual(intercept?.reals, Float64Array.of(0));
});

test('all that is not supported is told at once, with its node', async () => {
  const message = await refusal(
    importNodes({
      graph: { op: 'tensorflow' },
      mine: { op: 'my_transformer' },
      topics: { op: 'lda_local_model_op' },
      fine: scaler,
      math: {
        op: 'math_unary',
        attributes: { operation: text('gamma') },
        inputs: { input: 'a' },
        outputs: { output: 'b' },
      },
    }),
  );
  assert.match(message, /4 problems/);
  assert.match(message, /node 'graph' \(tensorflow\).*TensorFlow graphs/);
  assert.match(message, /node 'mine' \(my_transformer\).*unknown op/);
  assert.match(message, /node 'topics'/);
  assert.match(message, /node 'math' \(math_unary\): the operation 'gamma'/);
});

const broken: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['no bundle.json', { 'root/model.json': {} }, /expected bundle\.json, as in every/],
  ['bundle.json is none', { 'bundle.json': '[1]' }, /bundle\.json: expected an object/],
  ['not JSON', { 'bundle.json': '{' }, /bundle\.json: /],
  ['not UTF-8', { 'bundle.json': Uint8Array.of(0x22, 0xff, 0x22) }, /bundle\.json: /],
  ['a format', { 'bundle.json': { format: 'mixed' } }, /expected format 'json' or 'protobuf'/],
];

for (const [name, files, expected] of broken) {
  test(`a bundle is refused: ${name}`, async () => {
    assert.match(await refusal(importFiles(files)), expected);
  });
}

const model = (attributes: unknown) => ({ op: 'standard_scaler', attributes });
const changes: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  [
    'a missing node',
    { 'root/a.node/node.json': undefined },
    /root\/a\.node\/node\.json: .*not found/,
  ],
  ['a missing model', { 'root/a.node/model.json': undefined }, /root\/a\.node\/model\.json/],
  ['an op that is no text', { 'root/a.node/model.json': { op: 1 } }, /expected 'op', got 1/],
  ['attributes of 0.7', { 'root/a.node/model.json': model([]) }, /got a list/],
  ['a type', { 'root/a.node/model.json': model({ std: { type: 'map' } }) }, /'std': expected type/],
  [
    'values that do not fill the shape',
    { 'root/a.node/model.json': model({ std: { ...vector(1, 2), double: [1] } }) },
    /shape \[2\] with 1 values/,
  ],
  [
    'numbers that are none',
    { 'root/a.node/model.json': model({ std: doubles(1, 'x') }) },
    /value 1: expected a number, got "x"/,
  ],
  [
    'one value for a list',
    { 'root/a.node/model.json': model({ std: double(1) }) },
    /'std': expected a list or a tensor, got one value/,
  ],
  [
    'a port',
    { 'root/a.node/node.json': { name: 'a', shape: { inputs: [{ port: 1 }], outputs: [] } } },
    /expected a port and a name/,
  ],
  [
    'no such port',
    { 'root/a.node/node.json': { name: 'a', shape: { inputs: [], outputs: [] } } },
    /node 'a' \(standard_scaler\): expected the input 'input', got none/,
  ],
];

for (const [name, changed, expected] of changes) {
  test(`a node is refused: ${name}`, async () => {
    const files = { ...filesOf({ a: scaler, b: regression }), ...changed };
    const left = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== undefined));
    assert.match(await refusal(importFiles(left)), expected);
  });
}

test('pipelines that hold themselves end', async () => {
  const files = filesOf({ a: scaler });
  const pipeline = { op: 'pipeline', attributes: { nodes: texts('a') } };
  for (let i = 1, folder = 'root'; i < 80; i += 1) {
    folder += '/a.node';
    files[`${folder}/model.json`] = pipeline;
  }
  assert.match(await refusal(importFiles(files)), /at most 64 nested pipelines/);
});

test('two nodes may not make one column', async () => {
  assert.match(
    await refusal(importNodes({ a: scaler, b: scaler })),
    /node 'b'.*'y' has the same name/,
  );
});

const treeNode = (tree: string): NodeOf => ({
  op: 'decision_tree_regression',
  attributes: { num_features: long(2) },
  inputs: { features: 'x' },
  outputs: { prediction: 'p' },
  files: { 'tree.json': tree },
});
const split = (feature: number) =>
  JSON.stringify({
    type: 'internal',
    split: { type: 'continuous', featureIndex: feature, threshold: 1 },
  });
const leaf = (...values: readonly number[]) => JSON.stringify({ type: 'leaf', values });

test('a tree is read from its lines', async () => {
  const lines = [split(0), split(1), leaf(1), leaf(2), leaf(3), ''].join('\n');
  const { plan } = await importNodes({ tree: treeNode(lines) });
  const attributes = plan.block.stages[0]?.attributes ?? [];
  const of = (name: string) => attributes.find((each) => each.name === name);
  assert.deepEqual(of('left')?.integers, Int32Array.of(1, ~0));
  assert.deepEqual(of('right')?.integers, Int32Array.of(~2, ~1));
  assert.deepEqual(of('leaves')?.reals, Float64Array.of(1, 2, 3));
});

const trees: readonly (readonly [string, string, RegExp])[] = [
  ['ends too early', [split(0), leaf(1)].join('\n'), /ends after 2 nodes: 1 are missing/],
  ['goes on', [leaf(1), leaf(2)].join('\n'), /node 1 is after the end of the tree/],
  ['has no nodes', '', /ends after 0 nodes: 1 are missing/],
  ['has a leaf without value', leaf(), /a leaf has 0 values, expected 1/],
  ['has a strange node', '{"type":"x"}', /line 1: expected a leaf, or/],
  [
    'has a strange feature',
    [split(-1), leaf(1), leaf(2)].join('\n'),
    /feature: expected 0 or more, got -1/,
  ],
  ['is not JSON', 'x', /tree\.json: line 1/],
];

for (const [name, tree, expected] of trees) {
  test(`a tree is refused: it ${name}`, async () => {
    assert.match(await refusal(importNodes({ tree: treeNode(tree) })), expected);
  });
}

const protobuf = (bytes: readonly number[]) => ({
  'bundle.json': { format: 'protobuf' },
  'root/model.pb': Uint8Array.from(bytes),
});

const messages: readonly (readonly [string, readonly number[], RegExp])[] = [
  ['empty', [], /expected an op, got none/],
  ['cut', [0x0a, 5, 0x61], /expected 5 bytes, but only 1 remain/],
  ['of another kind', [0x08, 1], /expected wire type 2/],
  ['not UTF-8', [0x0a, 1, 0xff], /not valid UTF-8/],
];

for (const [name, bytes, expected] of messages) {
  test(`a protobuf model is refused: ${name}`, async () => {
    assert.match(await refusal(importFiles(protobuf(bytes))), expected);
  });
}

// Source: tabular.md 4.2
const SPECIFIED =
  'binarizer bucketizer bucketed_random_projection_lsh chi_sq_selector coalesce count_vectorizer dct ' +
  'elementwise_product feature_hasher hashing_term_frequency idf imputer interaction map_entry_selector ' +
  'math_unary math_binary max_abs_scaler min_hash_lsh min_max_scaler multinomial_labeler ngram normalizer ' +
  'one_hot_encoder pca polynomial_expansion regex_indexer regex_tokenizer reverse_string_indexer ' +
  'standard_scaler stopwords_remover string_indexer string_map tokenizer vector_assembler vector_indexer ' +
  'vector_slicer word_filter word_to_vector decision_tree_classifier decision_tree_regression ' +
  'random_forest_classifier random_forest_regression gbt_classifier gbt_regression logistic_regression ' +
  'linear_svc support_vector_machine naive_bayes multi_layer_perceptron_classifier one_vs_rest ' +
  'categorical_drilldown k_means bisecting_k_means gaussian_mixture lda_local_model_op als ' +
  'linear_regression generalized_linear_regression isotonic_regression aft_survival_regression ' +
  'sklearn_binarizer sklearn_polynomial_expansion xgboost.classifier xgboost.regression tensorflow';

test('every op of the specification is lowered, or refused with its reason', () => {
  for (const op of SPECIFIED.split(' ')) {
    assert.ok(MLEAP_OPS.has(op) !== REFUSED_OPS.has(op), op);
  }
});

test('whatever becomes of the bytes of a bundle, it is read or refused', async () => {
  const tree = [split(0), split(1), leaf(1), leaf(2), leaf(3)].join('\n');
  const whole = filesOf({ scale: scaler, predict: regression, tree: treeNode(tree) });
  const names = Object.keys(whole);
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let refused = 0;
  for (let i = 0; i < 1500; i += 1) {
    const name = names[random(names.length)] ?? '';
    const content = whole[name];
    const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
    for (let changes = 1 + random(3); changes > 0; changes -= 1) {
      bytes[random(bytes.length)] =
        random(4) === 0 ? random(256) : (bytes[random(bytes.length)] ?? 0);
    }
    const cut = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    try {
      await importFiles({ ...whole, [name]: cut });
    } catch (error) {
      assert.ok(error instanceof ServalError, `${name}: ${String(error)}`);
      assert.equal(error.code, ErrorCode.ModelInvalid);
      refused += 1;
    }
  }
  assert.ok(refused > 300, `${refused}`);
});
