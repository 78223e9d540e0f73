// How models of Spark, MLeap and PMML are found, and the load requests for them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelSpec } from '../../../../../ts/model/engine-api.js';
import { desiredModel, type SpecSettings } from '../../../../../ts/models/registry/desired.js';
import { BasePathSource } from '../../../../../ts/models/registry/sources/base-paths.js';
import {
  scanPath,
  scanSources,
} from '../../../../../ts/models/registry/sources/paths/scan-path.js';
import type { FoundModel } from '../../../../../ts/models/registry/sources/repository.js';
import { filledFolder } from '../../../temp-folder.js';
import { FakeClock } from '../fakes.js';
import { CONFIG } from './source-setup.js';

const SETTINGS: SpecSettings = {
  model: CONFIG.model,
  batching: undefined,
  defaultMaxBatchSize: 4,
  savedModelTags: [],
};

/** "name/version format platform file" of every model below `folder`. */
async function found(folder: string, paths: readonly string[]): Promise<readonly string[]> {
  const scan = await scanSources({
    paths: paths.map((path) => join(folder, path)),
    modelRepositories: [],
  });
  assert.deepEqual(scan.problems, []);
  return scan.models.flatMap((model) =>
    model.versions.map(({ version, format, platform, path }) =>
      [`${model.name}/${version}`, format, platform, path.slice(folder.length + 1)].join(' '),
    ),
  );
}

async function specOf(path: string): Promise<{ spec: ModelSpec; model: FoundModel }> {
  const { models } = await scanPath(path, {});
  const model = models[0] as FoundModel;
  const [version] = desiredModel(model, SETTINGS, {}, true).versions;
  assert.ok(version);
  return { spec: version.spec, model };
}

/** The importer of a PMML document without settings in the configuration. */
const importerOf = (schema: string) =>
  ({ format: 'pmml', schema, timezone: '', ansi: '', verification: 'fail' }) as const;

test('files, folders, version folders and repositories', async (t) => {
  const spark = { 'metadata/part-00000': '{}', 'stages/x': '' };
  const mleap = { 'bundle.json': '{}', 'root/model.json': '{}' };
  const ydf = { 'a_header.pb': '', 'a_data_spec.pb': '', 'a_nodes-00000-of-00001': '', a_done: '' };
  const below = (folder: string, files: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
  const folder = filledFolder(t, {
    'iris.pmml': '<PMML/>',
    'lr.tar.gz': 'x',
    ...below('pipeline', spark),
    ...below('bundle', mleap),
    ...below('versioned/3', spark),
    ...below('grown', ydf),
    ...below('repo/d/5', ydf),
    'repo/a/1/model.pmml': '<PMML/>',
    ...below('repo/b/2/model', spark),
    'repo/b/config.pbtxt': 'platform: "spark_pipelinemodel"',
    'repo/c/1/lr.zip': 'x',
    'repo/c/1/schema.json': '{}',
  });
  assert.deepEqual(
    await found(folder, [
      'iris.pmml',
      'lr.tar.gz',
      'pipeline',
      'bundle',
      'versioned',
      'grown',
      'repo',
    ]),
    [
      'a/1 pmml pmml_xml repo/a/1/model.pmml',
      'b/2 spark spark_pipelinemodel repo/b/2/model',
      'bundle/1 mleap mleap_bundle bundle',
      'c/1 archive  repo/c/1/lr.zip',
      'd/5 ydf ydf_model repo/d/5',
      'grown/1 ydf ydf_model grown',
      'iris/1 pmml pmml_xml iris.pmml',
      'lr/1 archive  lr.tar.gz',
      'pipeline/1 spark spark_pipelinemodel pipeline',
      'versioned/3 spark spark_pipelinemodel versioned/3',
    ],
  );
});

test('requests the backend, importer and schema beside the model', async (t) => {
  const folder = filledFolder(t, { 'iris.pmml': 'x', 'other.pmml': 'x', 'iris.schema.json': '{}' });
  const iris = await specOf(join(folder, 'iris.pmml'));
  assert.equal(iris.spec.backend, 'tabular');
  const own = importerOf(join(folder, 'iris.schema.json'));
  assert.deepEqual(iris.spec.importer, own);
  assert.deepEqual((await specOf(join(folder, 'other.pmml'))).spec.importer, importerOf(''));
  writeFileSync(join(folder, 'schema.json'), '{}');
  const common = importerOf(join(folder, 'schema.json'));
  assert.deepEqual((await specOf(join(folder, 'other.pmml'))).spec.importer, common);
  assert.deepEqual((await specOf(join(folder, 'iris.pmml'))).spec.importer, own);
  const before = iris.model.versions[0]?.revision;
  writeFileSync(join(folder, 'iris.schema.json'), '{"inputs": []}');
  const after = (await specOf(join(folder, 'iris.pmml'))).model.versions[0]?.revision;
  assert.notEqual(after, before, 'another schema is another revision');
});

test('background rows beside the model; a configured file wins', async (t) => {
  const folder = filledFolder(t, {
    'iris.pmml': 'x',
    'other.pmml': 'x',
    'iris.explain_background.csv': 'x\n1\n',
    'm/1/model.pmml': 'x',
    'm/1/explain_background.csv': 'x\n1\n',
    'm/rows.csv': 'x\n2\n',
  });
  const rowsOf = async (path: string): Promise<string | undefined> => {
    const { importer } = (await specOf(join(folder, path))).spec;
    return (importer as { readonly background?: string }).background;
  };
  assert.equal(await rowsOf('iris.pmml'), join(folder, 'iris.explain_background.csv'));
  assert.equal(await rowsOf('other.pmml'), undefined);
  assert.equal(await rowsOf('m'), join(folder, 'm/1/explain_background.csv'));
  const before = (await specOf(join(folder, 'm'))).model.versions[0]?.revision;
  writeFileSync(join(folder, 'm/1/explain_background.csv'), 'x\n12345\n');
  const after = (await specOf(join(folder, 'm'))).model.versions[0]?.revision;
  assert.notEqual(after, before, 'other rows are another revision');
  const parameter = 'parameters { key: "explain_background" value { string_value: "rows.csv" } }';
  writeFileSync(join(folder, 'm/config.pbtxt'), `platform: "pmml_xml" ${parameter}`);
  assert.equal(await rowsOf('m'), join(folder, 'm/rows.csv'));
});

test('a configured schema wins, and stays in the folder', async (t) => {
  const config = (name: string): string =>
    `platform: "pmml_xml" parameters { key: "schema" value { string_value: "${name}" } }`;
  const folder = filledFolder(t, {
    '1/model.pmml': 'x',
    '1/schema.json': '{}',
    'mine.json': '{}',
    'config.pbtxt': config('mine.json'),
  });
  const first = await specOf(folder);
  assert.deepEqual(first.spec.importer, importerOf(join(folder, 'mine.json')));
  for (const [name, why] of [
    ['../mine.json', /expected a file in the model's folder, got/],
    ['/etc/passwd', /expected a file in the model's folder, got/],
    ['none.json', /cannot read .*none\.json/],
  ] as const) {
    writeFileSync(join(folder, 'config.pbtxt'), config(name));
    const { models } = await scanPath(folder, {});
    assert.match(models[0]?.problems.join() ?? '', why);
    assert.match(
      desiredModel(models[0] as FoundModel, SETTINGS, {}, true).versions[0]?.problem ?? '',
      why,
    );
  }
});

test('a background set is a file in the folder; another content is another revision', async (t) => {
  const config = (name: string): string =>
    `platform: "pmml_xml" parameters { key: "explain_background" value { string_value: "${name}" } }`;
  const folder = filledFolder(t, {
    '1/model.pmml': 'x',
    'rows.csv': 'a\n1\n',
    'config.pbtxt': config('rows.csv'),
  });
  const revisionOf = (model: FoundModel): string | undefined =>
    desiredModel(model, SETTINGS, {}, true).versions[0]?.revision;
  const { spec, model } = await specOf(folder);
  const background = join(folder, 'rows.csv');
  assert.deepEqual(spec.importer, { ...importerOf(''), background });
  writeFileSync(background, 'a\n1\n2\n');
  const changed = await specOf(folder);
  assert.notEqual(revisionOf(changed.model), revisionOf(model));
  writeFileSync(join(folder, 'config.pbtxt'), config('../rows.csv'));
  const { models } = await scanPath(folder, {});
  const why = /explain_background.*expected a file in the model's folder/;
  assert.match(models[0]?.problems.join() ?? '', why);
});

test('what becomes of a model that does not answer as its file says', async (t) => {
  const config = (mode: string): string =>
    `platform: "pmml_xml" parameters { key: "verification" value { string_value: "${mode}" } }`;
  const folder = filledFolder(t, { '1/model.pmml': 'x', 'config.pbtxt': config('warn') });
  const { spec, model } = await specOf(folder);
  assert.deepEqual(spec.importer, { ...importerOf(''), verification: 'warn' });
  writeFileSync(join(folder, 'config.pbtxt'), config('never'));
  const { models } = await scanPath(folder, {});
  assert.match(models[0]?.problems.join() ?? '', /expected fail or warn or off, got "never"/);
  assert.equal(model.problems.length, 0);
});

test('other formats get no schema', async (t) => {
  const folder = filledFolder(t, { 'model.onnx': 'x', 'schema.json': '{}' });
  const { spec } = await specOf(folder);
  assert.deepEqual([spec.backend, spec.importer], ['onnxruntime', undefined]);
});

/** The error of an entry in models.config whose folder contains this file. */
async function entryProblems(folder: string, platform: string): Promise<string> {
  const source = new BasePathSource({
    clock: new FakeClock(),
    settleMs: 0,
    takesChanges: () => true,
    autoComplete: true,
    batchingPerModel: false,
    wants: undefined,
    configOf: () => undefined,
  });
  const versionPolicy = { kind: 'all' } as const;
  const entry = { name: 'm', basePath: folder, platform, versionPolicy, labels: {}, place: 'here' };
  source.entries = [entry];
  await source.look(true);
  assert.equal(source.models[0]?.versions.length, 1);
  return source.models[0]?.problems.join() ?? '';
}

test('base paths: the platform that the entry names may not contradict the files', async (t) => {
  const pmml = filledFolder(t, { '1/model.pmml': 'x' });
  assert.equal(await entryProblems(pmml, 'pmml_xml'), '');
  assert.equal(await entryProblems(pmml, ''), '');
  assert.match(await entryProblems(pmml, 'tensorflow'), /model_platform.*expected "pmml"/);
  const archive = filledFolder(t, { '1/model.zip': 'x' });
  assert.equal(await entryProblems(archive, 'mleap'), '');
  assert.match(await entryProblems(archive, 'onnx'), /expected "archive"/);
});

test('the parameters timezone and spark.ansi go to the importer', async (t) => {
  const zone = 'parameters { key: "timezone" value { string_value: "Europe/Berlin" } }';
  const ansi = 'parameters { key: "spark.ansi" value { string_value: "false" } }';
  const folder = filledFolder(t, {
    '1/model.pmml': 'x',
    'config.pbtxt': `platform: "pmml_xml" ${zone} ${ansi}`,
  });
  const { spec } = await specOf(folder);
  assert.deepEqual(spec.importer, { ...importerOf(''), timezone: 'Europe/Berlin', ansi: 'false' });
});
