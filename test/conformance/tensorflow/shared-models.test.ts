// TensorFlow Serving's own test models and the session bundles beside the checkout: imported,
// loaded and called. Values: y = x / 2 + 2 and variants (README.md beside them), INDEX.json of the
// bundles.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import type { ImportedModel } from '../../../ts/importers/tensorflow/imported.js';
import { importTensorFlow } from '../../../ts/importers/tensorflow/index.js';
import {
  numbersTensor,
  stringsTensor,
  tensorNumbers,
} from '../../../ts/importers/tensorflow/lower/tensors.js';
import type { Tensor } from '../../../ts/importers/tensorflow/types.js';
import { importedSpec } from '../../../ts/importers/run/imported-spec.js';
import { sharedModel } from '../../unit/importers/tensorflow/load/support.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { type Classes, EngineRunner } from './support/engine-run.js';
import { floatExample } from './support/examples.js';

const floats = (values: readonly number[], shape: readonly number[] = [values.length]): Tensor =>
  numbersTensor('float', shape, values);
const examplesOf = (values: readonly number[], feature = 'x'): Uint8Array[] =>
  values.map((value) => floatExample({ [feature]: [value] }));
const scores = (values: readonly number[]): Classes[] =>
  values.map((score) => [{ label: '', score }]);

const X = [0, 1, 2, 3, -4.5];
/** x -> x / 2 + b for each element. */
const line = (b: number): number[] => X.map((x) => 0.5 * x + b);

/**
 * Paths below shared/models whose serving_default is x -> x / 2 + b, and their other signatures.
 */
interface Half {
  readonly path: string;
  readonly b?: number;
  /** Signatures on serialized Examples: classify or regress, and their b. */
  readonly examples?: Readonly<Record<string, readonly ['classify' | 'regress', number]>>;
  /** The signature equivalent to serving_default, if that one has Examples as input. */
  readonly signature?: string;
}

const FROM_EXAMPLES = {
  classify_x_to_y: ['classify', 2],
  regress_x_to_y: ['regress', 2],
  regress_x_to_y2: ['regress', 3],
} as const;
const REGRESS_ONLY = { serving_default: ['regress', 2] } as const;

const HALVES: readonly Half[] = [
  ...[
    '2_versions/00000123',
    '2_versions/00000124',
    'cpu/00000123',
    'gpu/00000123',
    'gpu_trt/00000123',
    'mlmd/00000123',
    'cpu_with_saved_model_config/00000123',
    'cpu_with_empty_saved_model_config/00000123',
    'tf2_cpu/00000123',
  ].map(
    (name): Half => ({
      path: `tfserving/saved_model_half_plus_two_${name}`,
      examples: FROM_EXAMPLES,
    }),
  ),
  {
    // Its y2 comes from a convolution with random weights.
    path: 'tfserving/saved_model_half_plus_two_mkl/00000123',
    examples: { classify_x_to_y: ['classify', 2], regress_x_to_y: ['regress', 2] },
  },
  {
    path: 'tfserving/saved_model_half_plus_three/00000123',
    b: 3,
    examples: { 'tensorflow/serving/regress': ['regress', 3] },
  },
  {
    path: 'tfserving/session_bundle/half_plus_two/00000123',
    signature: 'serving_default_from_named',
    examples: REGRESS_ONLY,
  },
  {
    path: 'session_bundle/v1_sharded_half_plus_two/00000123',
    signature: 'serving_default_from_named',
    examples: REGRESS_ONLY,
  },
  { path: 'session_bundle/v1_plain_half_plus_two/00000123' },
  { path: 'session_bundle/v2_half_plus_two/00000123' },
  ...['v1_plain', 'v1_sharded', 'v2_plain', 'v2_sharded'].map(
    (name): Half => ({ path: `session_bundle/generated/${name}_dtypes/00000123` }),
  ),
];

describe('models beside the checkout', () => {
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  /** Returns undefined and skips the test if the model does not exist. */
  function imported(t: TestContext, path: string): ImportedModel | undefined {
    const folder = sharedModel(t, path);
    if (folder === undefined) return undefined;
    const model = importTensorFlow(folder, { workFolder: tempFolder(t) });
    assert.deepEqual(model.blocked, []);
    return model;
  }

  async function call(
    model: ImportedModel,
    signature: string,
    feeds: Readonly<Record<string, Tensor>>,
  ): Promise<ReadonlyMap<string, Tensor>> {
    const graph = model.graphs.find((one) => one.signature === signature);
    assert.ok(graph !== undefined, `no signature ${signature}`);
    return engine.run(model, graph, new Map(Object.entries(feeds)));
  }

  const numbers = async (
    model: ImportedModel,
    signature: string,
    feeds: Readonly<Record<string, Tensor>>,
    alias: string,
  ): Promise<readonly number[] | undefined> => {
    const got = (await call(model, signature, feeds)).get(alias);
    return got && tensorNumbers(got);
  };

  for (const { path, b = 2, examples = {}, signature = 'serving_default' } of HALVES) {
    test(path, async (t) => {
      const model = imported(t, path);
      if (model === undefined) return;
      for (const shape of [[X.length, 1], [X.length], [1, X.length]]) {
        assert.deepEqual(await numbers(model, signature, { x: floats(X, shape) }, 'y'), line(b));
      }
      assert.deepEqual(await numbers(model, signature, { x: floats([1], [1, 1]) }, 'y'), [0.5 + b]);
      for (const [name, [method, plus]] of Object.entries(examples)) {
        const serialized = examplesOf(X);
        const feeds = { inputs: stringsTensor([X.length], serialized) };
        const alias = method === 'classify' ? 'scores' : 'outputs';
        assert.deepEqual(await numbers(model, name, feeds, alias), line(plus), name);
        if (method === 'regress') {
          assert.deepEqual(await engine.regress(model, name, serialized), line(plus), name);
        } else {
          assert.deepEqual(await engine.classify(model, name, serialized), scores(line(plus)));
        }
        await assert.rejects(engine.regress(model, name, [Buffer.from('\x0a\x7f')]), name);
      }
      await engine.unload(model);
    });
  }

  test('serves signatures whose inputs follow the parsing of Examples', async (t) => {
    const model = imported(t, 'tfserving/saved_model_half_plus_two_cpu/00000123');
    if (model === undefined) return;
    const got = await numbers(model, 'regress_x2_to_y3', { inputs: floats(X, [5, 1]) }, 'outputs');
    assert.deepEqual(got, line(3));
    const missing = engine.regress(model, 'regress_x_to_y', examplesOf([1], 'other'));
    await missing.then(
      (value) => assert.ok(Array.isArray(value)),
      (error: Error) => assert.match(error.message, /x/),
    );
    await engine.unload(model);
  });

  test('the counter counts, for all signatures together', async (t) => {
    const model = imported(t, 'tfserving/saved_model_counter/00000123');
    if (model === undefined) return;
    assert.equal(model.states.length, 1);
    const count = async (signature: string, delta?: number): Promise<number | undefined> => {
      const feeds = delta === undefined ? {} : { delta: floats([delta], []) };
      return (await numbers(model, signature, feeds, 'output'))?.[0];
    };
    assert.equal(await count('get_counter'), 0);
    assert.equal(await count('incr_counter'), 1);
    assert.equal(await count('incr_counter_by', 5), 6);
    assert.equal(await count('get_counter'), 6);
    assert.equal(await count('incr_counter_by', -2.5), 3.5);
    await assert.rejects(call(model, 'incr_counter_by', {}), /delta/);
    assert.equal(await count('get_counter'), 3.5);
    assert.equal(await count('reset_counter'), 0);
    assert.equal(await count('get_counter'), 0);
    await engine.unload(model);
  });

  test('matrix_half_plus_two, of 1 and of 3 matrices', async (t) => {
    const model = imported(t, 'tfserving/batching/matrix_half_plus_two/1');
    if (model === undefined) return;
    for (const rows of [1, 3]) {
      const x = Array.from({ length: rows * 9 }, (_, i) => i - 4);
      const got = await numbers(model, 'serving_default', { x: floats(x, [rows, 3, 3]) }, 'y');
      assert.deepEqual(
        got,
        x.map((one) => one / 2 + 2),
      );
    }
    await engine.unload(model);
  });

  for (const version of ['v1', 'v2']) {
    test(`classes from a table in an asset, ${version} checkpoint`, async (t) => {
      const model = imported(t, `session_bundle/generated/${version}_classify_assets/00000007`);
      if (model === undefined) return;
      const want = [0.08686972, 0.41831538, 0.49481484];
      const answer = await call(model, 'serving_default', { inputs: floats([1, 2], [1, 2]) });
      const classes = answer.get('classes')?.data;
      const labels = classes?.kind === 'strings' ? classes.values : [];
      assert.deepEqual(
        labels.map((one) => Buffer.from(one).toString()),
        ['bird', 'dog'],
      );
      const plain = await numbers(
        model,
        'serving_default_from_named',
        { x: floats([1, 2], [1, 2]) },
        'scores',
      );
      const given = answer.get('scores');
      for (const got of [plain, given && tensorNumbers(given)]) {
        assert.equal(got?.length, 3);
        want.forEach((one, i) => assert.ok(Math.abs(one - (got[i] ?? NaN)) < 1e-6, `${got}`));
      }
      await engine.unload(model);
    });
  }

  for (const path of ['session_bundle/v1_plain_bad_half_plus_two', 'tfserving/bad_half_plus_two']) {
    test(`${path} has no signatures: an error that says so`, (t) => {
      const folder = sharedModel(t, path);
      if (folder === undefined) return;
      const model = importTensorFlow(join(folder, '00000123'), { workFolder: tempFolder(t) });
      assert.deepEqual(model.graphs, []);
      const spec = { name: 'm', version: '1', backend: 'onnxruntime' } as const;
      assert.throws(
        () => importedSpec(spec, model),
        (error: unknown) =>
          error instanceof ServalError &&
          error.code === ErrorCode.ModelInvalid &&
          error.message === 'no signature can be served: the model has no signatures',
      );
    });
  }

  for (const [name, input] of [
    ['saved_model_half_plus_two_tflite', 'x'],
    ['saved_model_half_plus_two_tflite_with_sigdef', 'tflite_input'],
  ] as const) {
    test(`${name}: half plus two`, async (t) => {
      const model = imported(t, `tfserving/${name}/00000123`);
      if (model === undefined) return;
      const got = await numbers(model, 'serving_default', { [input]: floats([3], [1, 1]) }, 'y');
      assert.deepEqual(got, [3.5]);
      await engine.unload(model);
    });
  }

  test('parse_example_tflite: its custom operator is refused by its name', (t) => {
    const folder = sharedModel(t, 'tfserving/parse_example_tflite/00000123');
    if (folder === undefined) return;
    const { blocked } = importTensorFlow(folder, { workFolder: tempFolder(t) });
    assert.deepEqual(
      blocked.flatMap(({ problems }) => problems.map(({ op, reason }) => `${op}: ${reason}`)),
      ['CUSTOM ParseExampleV2: the operator is not supported'],
    );
  });

  test('tf_text_regression lacks its saved_model.pb: the error names it', (t) => {
    const folder = sharedModel(t, 'tfserving/tf_text_regression/01');
    if (folder === undefined) return;
    assert.throws(
      () => importTensorFlow(folder, { workFolder: tempFolder(t) }),
      (error: unknown) =>
        error instanceof ServalError &&
        error.code === ErrorCode.ModelInvalid &&
        /saved_model\.pb/.test(error.message),
    );
  });
});
