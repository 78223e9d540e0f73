// TensorFlow models among the served folders, in every layout; and the import settings in their
// Triton configuration.
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';
import type { TritonConfig } from '../../../../../ts/models/config/types.js';
import { desiredModel, type SpecSettings } from '../../../../../ts/models/registry/desired.js';
import { scanSources } from '../../../../../ts/models/registry/sources/paths/scan-path.js';
import {
  type FoundModel,
  type FoundVersion,
  NO_CONFIG,
} from '../../../../../ts/models/registry/sources/scan.js';
import { filledFolder } from '../../../temp-folder.js';

/** "name/version: platform, path below the folder" of every version that a scan finds. */
async function found(folder: string, ...paths: readonly string[]): Promise<string[]> {
  const { models, problems } = await scanSources({
    paths: paths.map((path) => join(folder, path)),
    modelRepositories: [],
  });
  assert.deepEqual(problems, []);
  return models.flatMap((model) =>
    model.versions.map(({ version, platform, path, format }) => {
      assert.equal(format, platform === 'onnxruntime_onnx' ? 'onnx' : 'tensorflow');
      return `${model.name}/${version}: ${platform}, ${path.slice(folder.length + 1)}`;
    }),
  );
}

test('version folders as TensorFlow Serving has them', async (t) => {
  const folder = filledFolder(t, {
    'half/00000123/saved_model.pb': 'x',
    'half/00000123/variables/variables.index': 'x',
    'half/124/saved_model.pbtxt': 'x',
    'bundle/00000007/export.meta': 'x',
    'bundle/00000007/export-00000-of-00001': 'x',
    'bundle/8-tmp/export.meta': 'x',
  });
  assert.deepEqual(await found(folder, 'half', 'bundle'), [
    'bundle/7: tensorflow_savedmodel, bundle/00000007',
    'half/124: tensorflow_savedmodel, half/124',
    'half/123: tensorflow_savedmodel, half/00000123',
  ]);
});

test('version folders as Triton has them', async (t) => {
  const folder = filledFolder(t, {
    'repo/saved/1/model.savedmodel/saved_model.pb': 'x',
    'repo/graph/2/model.graphdef': 'x',
    'repo/named/3/net.pb': 'x',
    'repo/named/3/other.pb': 'x',
    'repo/named/config.pbtxt': 'default_model_filename: "net.pb"',
    'repo/onnx/1/model.onnx': 'x',
    'repo/named/4/net.onnx': 'x',
  });
  const { models, problems } = await scanSources({
    paths: [],
    modelRepositories: [join(folder, 'repo')],
  });
  assert.deepEqual(
    models.map(({ name, versions }) => [
      name,
      versions.map(
        (one) =>
          `${one.version} ${one.platform} ${one.path.slice(join(folder, 'repo', name).length)}`,
      ),
    ]),
    [
      ['graph', ['2 tensorflow_graphdef /2/model.graphdef']],
      ['named', ['3 tensorflow_graphdef /3/net.pb']],
      ['onnx', ['1 onnxruntime_onnx /1/model.onnx']],
      ['saved', ['1 tensorflow_savedmodel /1/model.savedmodel']],
    ],
  );
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /named\/4 has no model: expected net\.pb/);
});

test('a SavedModel, a bundle and a graph without a version folder are version 1', async (t) => {
  const folder = filledFolder(t, {
    'saved/saved_model.pb': 'x',
    'saved/variables/variables.index': 'x',
    'old/export.meta': 'x',
    'graph/frozen.pb': 'x',
    'single.pb': 'x',
    'text.pbtxt': 'x',
    'triton/model.savedmodel/saved_model.pb': 'x',
  });
  assert.deepEqual(
    await found(
      folder,
      'saved',
      'old',
      'graph',
      'single.pb',
      'text.pbtxt',
      'triton',
      'triton/model.savedmodel',
    ),
    [
      'graph/1: tensorflow_graphdef, graph/frozen.pb',
      'model.savedmodel/1: tensorflow_savedmodel, triton/model.savedmodel',
      'old/1: tensorflow_savedmodel, old',
      'saved/1: tensorflow_savedmodel, saved',
      'single/1: tensorflow_graphdef, single.pb',
      'text/1: tensorflow_graphdef, text.pbtxt',
      'triton/1: tensorflow_savedmodel, triton/model.savedmodel',
    ],
  );
});

test('versions of one model may be of different formats', async (t) => {
  const folder = filledFolder(t, {
    'm/1/model.onnx': 'x',
    'm/2/saved_model.pb': 'x',
    'm/3/model.graphdef': 'x',
    'm/4/model.tflite': 'x',
  });
  assert.deepEqual(
    (await found(folder, 'm')).map((text) => text.replace(/,.*/, '')),
    [
      'm/4: tensorflow_lite',
      'm/3: tensorflow_graphdef',
      'm/2: tensorflow_savedmodel',
      'm/1: onnxruntime_onnx',
    ],
  );
});

test('reports folders without a model as problems, with their place', async (t) => {
  const folder = filledFolder(t, {
    'm/1/variables/variables.index': 'x',
    'm/1/fingerprint.pb': 'x',
    'm/2/a.pb': 'x',
    'm/2/b.pb': 'x',
    'm/3/saved_model.pb': 'x',
  });
  symlinkSync('/nowhere', join(folder, 'm', '3', 'model.onnx'));
  const { models, problems } = await scanSources({
    paths: [join(folder, 'm')],
    modelRepositories: [],
  });
  assert.deepEqual(models[0]?.versions, []);
  assert.match(problems.join('\n'), /m\/1 has no model[^]*m\/2 has no model|m\/2[^]*m\/1/);
});

test('a change anywhere in the folder is a new content', async (t) => {
  const folder = filledFolder(t, {
    'm/1/saved_model.pb': 'x',
    'm/1/variables/variables.index': 'x',
    'm/1/assets/words.txt': 'a',
  });
  const revision = async (): Promise<string | undefined> => {
    const { models } = await scanSources({ paths: [join(folder, 'm')], modelRepositories: [] });
    return models[0]?.versions[0]?.revision;
  };
  const first = await revision();
  assert.equal(await revision(), first);
  writeFileSync(join(folder, 'm/1/assets/words.txt'), 'ab');
  assert.notEqual(await revision(), first);
});

const SETTINGS: SpecSettings = {
  model: {
    execMode: 'auto',
    inlineUsMax: 0,
    queueRequestsMax: 1,
    instances: 1,
    intraOpThreads: 1,
    interOpThreads: 0,
    graphOptimization: 99,
    providers: [],
  },
  batching: undefined,
  defaultMaxBatchSize: 0,
  savedModelTags: [],
};

function configOf(text: string): TritonConfig {
  const { config, problems } = parseTritonConfig(text, 'config.pbtxt');
  assert.ok(config !== undefined, JSON.stringify(problems));
  return config;
}

/** The importer of a version with this configuration. */
function importerOf(
  version: Partial<FoundVersion>,
  text?: string,
  settings: Partial<SpecSettings> = {},
): unknown {
  const one: FoundVersion = {
    version: '1',
    folder: '/m/1',
    path: '/m/1',
    format: 'tensorflow',
    revision: 'r',
    problem: '',
    platform: 'tensorflow_savedmodel',
    ...version,
  };
  const config = text === undefined ? NO_CONFIG : { ...NO_CONFIG, config: configOf(text) };
  const model: FoundModel = {
    name: 'm',
    basePath: '/m',
    source: 'repository',
    problems: [],
    versions: [one],
    readable: true,
    config,
    labels: {},
    pending: [],
  };
  const { versions } = desiredModel(model, { ...SETTINGS, ...settings }, {}, true);
  return versions[0]?.spec.importer;
}

const parameter = (key: string, value: string): string =>
  `parameters { key: "${key}" value { string_value: "${value}" } }`;
const PLAIN = { format: 'tensorflow', tags: [], inputs: [], outputs: [], signature: '' };

test("a SavedModel is imported by the server's tags, or its own", () => {
  assert.deepEqual(importerOf({}), PLAIN);
  assert.deepEqual(importerOf({}, undefined, { savedModelTags: ['serve', 'gpu'] }), {
    ...PLAIN,
    tags: ['serve', 'gpu'],
  });
  const own = parameter('TF_GRAPH_TAG', 'eval') + parameter('TF_SIGNATURE_DEF', 'second');
  assert.deepEqual(importerOf({}, own, { savedModelTags: ['serve', 'gpu'] }), {
    ...PLAIN,
    tags: ['eval'],
    signature: 'second',
  });
  assert.deepEqual(importerOf({}, parameter('TF_NUM_INTRA_THREADS', '2')), PLAIN);
});

test('random numbers are refused where the flag or the configuration says so', () => {
  const own = (value: string): string => parameter('serval.allow_random', value);
  assert.deepEqual(importerOf({}, own('true'), { allowRandom: false }), PLAIN);
  const refusing = { ...PLAIN, allowRandom: false };
  assert.deepEqual(importerOf({}, undefined, { allowRandom: false }), refusing);
  assert.deepEqual(importerOf({}, own('false'), { allowRandom: true }), refusing);
});

test("a GraphDef's ends are those of its configuration; a SavedModel says its own", () => {
  const text = `input { name: "x" data_type: TYPE_FP32 dims: [ 2 ] }
    input { name: "z:1" data_type: TYPE_FP32 dims: [ 2 ] }
    output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }`;
  const graph = { path: '/m/1/model.graphdef', platform: 'tensorflow_graphdef' };
  assert.deepEqual(importerOf(graph, text), { ...PLAIN, inputs: ['x', 'z:1'], outputs: ['y'] });
  assert.deepEqual(importerOf(graph), PLAIN);
  assert.deepEqual(importerOf({}, text), PLAIN);
});

test('ONNX and null models are not imported', () => {
  for (const format of ['onnx', 'null'] as const) {
    assert.equal(importerOf({ format, platform: '' }, parameter('TF_GRAPH_TAG', 'x')), undefined);
  }
});
