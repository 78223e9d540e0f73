// Models of scikit-learn that are written by hand: what they answer, and why others are refused.
// test/conformance/tabular/sklearn compares models that scikit-learn has trained.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { importSklearn, importSklearnParts } from '../../../../ts/importers/sklearn/index.js';
import { archiveIn, zipOf } from '../plan/archive/archives.js';
import { runPlan } from '../plan/run-plan.js';
import { tempFolder } from '../../temp-folder.js';
import { type Json, json, list, logistic, node, npyOf, object, objects, treeOf } from './files.js';
import { pipeline, SkopsWriter } from './files.js';

async function planOf(writer: SkopsWriter, root: Json): Promise<Plan> {
  return (await importSklearnParts('m.skops', writer.file(root))).plan;
}

const refused = (parts: Map<string, Uint8Array>, expected: RegExp): Promise<void> =>
  assert.rejects(importSklearnParts('m.skops', parts), (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, ErrorCode.ModelInvalid);
    assert.match(error.message, expected);
    return true;
  });

const column = (values: readonly unknown[], type: 'double' | 'string' = 'double') =>
  ({ type, values }) as const;

test('a logistic regression answers with labels, probabilities and scores', async () => {
  const writer = new SkopsWriter();
  const plan = await planOf(writer, logistic(writer));
  assert.deepEqual(
    [plan.producer, plan.matrix, plan.fields.map(({ name }) => name)],
    ['scikit-learn 1.9.1', true, ['x0', 'x1']],
  );
  const columns = { x0: column([1, -1]), x1: column([1, 1]) };
  const outputs = ['predict', 'predict_proba', 'decision_function'];
  const { columns: got } = runPlan(plan, columns, { outputs });
  assert.deepEqual(got['predict'], ['yes', 'no']);
  assert.deepEqual(got['decision_function'], [1.5, -2.5]);
  const [first] = got['predict_proba'] as readonly (readonly number[])[];
  assert.ok(Math.abs((first?.[1] ?? 0) - 1 / (1 + Math.exp(-1.5))) < 1e-15);
});

test('a missing value is refused by an estimator that has no way for it', async () => {
  const writer = new SkopsWriter();
  const plan = await planOf(writer, logistic(writer));
  const columns = { x0: column([1, Number.NaN]), x1: column([1, 1]) };
  assert.throws(() => runPlan(plan, columns), /LogisticRegression: row 1: column 'x0' is missing/);
});

test('fields have the names of the data frame, and the types of their first readers', async () => {
  const writer = new SkopsWriter();
  const encoder = object('OneHotEncoder', {
    handle_unknown: json('ignore'),
    categories_: list(objects(json('a'), json('b'))),
  });
  const columns = object('ColumnTransformer', {
    transformers_: list(
      list(json('text'), encoder, list(json('city'))),
      list(json('rest'), json('passthrough'), list(json('size'))),
      list(json('gone'), json('drop'), list(json('name'))),
    ),
    feature_names_in_: objects(json('city'), json('name'), json('size')),
    n_features_in_: json(3),
  });
  const model = object('Ridge', { coef_: writer.reals([1, 10, 100]), intercept_: json(0.25) });
  const plan = await planOf(writer, pipeline(['prepare', columns], ['model', model]));
  assert.deepEqual(
    plan.fields.map(({ name, type, optional }) => [name, type, optional ?? false]),
    [
      ['city', 'string', false],
      ['name', 'any', true],
      ['size', 'double', false],
    ],
  );
  const rows = { city: column(['a', 'b', 'c'], 'string'), size: column([1, 2, 3]) };
  const { columns: got } = runPlan(plan, { ...rows, name: column(['x', 'y', 'z'], 'string') });
  assert.deepEqual(got['predict'], [101.25, 210.25, 300.25]);
});

test('an estimator that is not supported is named with its place and a way out', async () => {
  const writer = new SkopsWriter();
  const scaler = object('StandardScaler', {
    with_mean: json(false),
    with_std: json(false),
    n_features_in_: json(2),
  });
  const steps = pipeline(['scale', scaler], ['clf', object('QuantileTransformer', {})]);
  await refused(
    writer.file(steps),
    /m\.skops: scikit-learn model: steps\[1\] 'clf': QuantileTransformer is not supported; .*skl2onnx/,
  );
  const own = object('LogisticRegression', { n_features_in_: json(2) }, 'acme.models');
  await refused(writer.file(own), /acme\.models\.LogisticRegression is not supported/);
  const inside = object('ColumnTransformer', {
    n_features_in_: json(2),
    transformers_: list(list(json('a'), object('Birch', {}), list(json(0)))),
  });
  await refused(
    writer.file(pipeline(['prepare', inside])),
    /steps\[0\] 'prepare', transformers_\[0\] 'a': Birch is not supported/,
  );
});

test('broken and hostile files are refused with their place', async () => {
  const writer = new SkopsWriter();
  const withCoefficients = (coef: Json): Json => logistic(writer, { coef_: coef });
  const pickled = writer.array(npyOf("'|O'", [1, 2], Buffer.alloc(16)));
  const short = writer.array(npyOf("'<f8'", [1, 2], Buffer.alloc(8)));
  const huge = writer.array(npyOf("'<f8'", [2 ** 40, 2 ** 40], Buffer.alloc(8)));
  const nothing = writer.array(npyOf("'<U0'", [2 ** 40], Buffer.alloc(0)));
  const texts = writer.array(npyOf("'<U1'", [1, 2], Buffer.from('a\0\0\0b\0\0\0')));
  const cached = { __loader__: 'CachedNode', __id__: 1 };
  let deep: Json = json(1);
  for (let i = 0; i < 200; i += 1) deep = pipeline(['in', deep]);
  const away = { ...node('ndarray', 'numpy', 'NdArrayNode'), type: 'numpy', file: '../../x.npy' };
  const cases: readonly (readonly [Json, RegExp])[] = [
    [withCoefficients(pickled), /LogisticRegression\.coef_: .*pickled Python objects/],
    [withCoefficients(short), /coef_: .*expected 2 values of 8 bytes, got 8 bytes/],
    [withCoefficients(huge), /coef_: .*expected .* values of 8 bytes, got 8 bytes/],
    [withCoefficients(nothing), /coef_: .*expected values of 1 byte or more/],
    [withCoefficients(texts), /coef_: expected numbers/],
    [withCoefficients(away), /coef_: .*the file has no array "\.\.\/\.\.\/x\.npy"/],
    [
      withCoefficients(writer.reals([1, 2, 3], [1, 3])),
      /coef_: expected an array of shape \[n, 2\]/,
    ],
    [withCoefficients(cached), /coef_: a reference to another object \(CachedNode\)/],
    [withCoefficients(json('x')), /coef_: expected an array, got "x"/],
    [logistic(writer, { n_features_in_: json(1e9) }), /n_features_in_: expected a whole number/],
    [logistic(writer, { classes_: objects(json('a'), json(1)) }), /classes of one type/],
    [deep, /expected at most 100 nested objects|expected a name/],
    [object('LogisticRegression', {}), /n_features_in_ is missing: is the model fitted\?/],
  ];
  for (const [root, expected] of cases) await refused(writer.file(root), expected);
  const schema = (text: string): Map<string, Uint8Array> =>
    new Map([['schema.json', Buffer.from(text)]]);
  await refused(schema('{'), /schema\.json: .*JSON/);
  await refused(schema('{}'), /protocol: expected a number, got nothing/);
  await refused(schema('{"protocol": 9}'), /expected protocol 0 to 2, got 9/);
  await refused(schema('{"protocol": 2}'), /__class__: expected a name/);
});

test('a tree compares floats, and sends missing values where the node says', async () => {
  const writer = new SkopsWriter();
  const plan = await planOf(writer, treeOf(writer, [1, 2]));
  // 0.50000001 is 0.5 as a float.
  const { columns } = runPlan(plan, { x0: column([0.5, 0.500_000_01, 0.6, Number.NaN]) });
  assert.deepEqual(columns['predict'], [1, 1, 2, 1]);
});

test('trees with cycles, and children that do not exist, are refused', async () => {
  for (const children of [
    [0, 2],
    [1, 1],
    [1, 3],
    [-5, 2],
  ]) {
    const writer = new SkopsWriter();
    await refused(
      writer.file(treeOf(writer, children)),
      /tree_: node 0: -?\d+ cannot be its child/,
    );
  }
});

test('a file is a zip; names that lead out of it are refused', async (context) => {
  const folder = tempFolder(context);
  const writer = new SkopsWriter();
  const entries = [...writer.file(logistic(writer))].map(([name, bytes]) => ({
    name,
    content: bytes,
  }));
  const good = archiveIn(folder, 'good.skops', zipOf(entries));
  assert.equal((await importSklearn(good)).plan.outputs.length, 5);
  const bad = archiveIn(
    folder,
    'bad.skops',
    zipOf([...entries, { name: '../x.npy', content: Buffer.from('x') }]),
  );
  await assert.rejects(importSklearn(bad), /points outside the model|invalid relative path/);
  const text = archiveIn(folder, 'text.skops', Buffer.from('hello'));
  await assert.rejects(importSklearn(text), /expected a folder, a zip or a gzip'd tar/);
});
