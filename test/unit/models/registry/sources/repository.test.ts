// Scanning of regular and unusual model folders.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelSources } from '../../../../../ts/config/config.js';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import {
  scanPath,
  scanSources,
} from '../../../../../ts/models/registry/sources/paths/scan-path.js';
import type { ScanResult } from '../../../../../ts/models/registry/sources/paths/scan-path.js';
import {
  hasModel,
  listModels,
  scanRepository,
} from '../../../../../ts/models/registry/sources/repository.js';
import { fingerprint, mapLimited } from '../../../../../ts/models/registry/sources/scan.js';
import { filledFolder } from '../../../temp-folder.js';

function scan(sources: Partial<ModelSources>): Promise<ScanResult> {
  return scanSources({ paths: [], modelRepositories: [], ...sources });
}

/** "name=versions" of every model. */
function names(result: ScanResult): string[] {
  return result.models.map(
    (model) => `${model.name}=${model.versions.map((one) => one.version).join(',')}`,
  );
}

async function refuses(sources: Partial<ModelSources>, message: string): Promise<void> {
  await assert.rejects(scan(sources), (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, ErrorCode.InvalidArgument);
    assert.equal(error.message, message);
    return true;
  });
}

test('a file, a model folder, a bare folder and a repository', async (t) => {
  const folder = filledFolder(t, {
    'one.onnx': 'x',
    'bare/model.onnx': 'x',
    'half/00000123/model.onnx': 'x',
    'half/9/model.onnx': 'x',
    'half/notes.txt': 'x',
    'repo/b/1/model.onnx': 'x',
    'repo/a/2/model.onnx': 'x',
    'repo/.git/1/model.onnx': 'x',
    'repo/readme.md': 'x',
  });
  const at = (name: string): string => join(folder, name);
  const result = await scan({ paths: ['one.onnx', 'bare', 'half', 'repo'].map(at) });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(names(result), ['a=2', 'b=1', 'bare=1', 'half=123,9', 'one=1']);
  const half = result.models.find((model) => model.name === 'half');
  assert.equal(half?.source, 'model-folder');
  assert.equal(half?.basePath, at('half'));
  assert.equal(half?.versions[0]?.path, at('half/00000123/model.onnx'));
  assert.deepEqual(
    result.models.map((model) => model.source),
    ['repository', 'repository', 'model-folder', 'model-folder', 'file'],
  );
});

test('--model-repository: folders are models whatever their names', async (t) => {
  const folder = filledFolder(t, { '7/1/model.onnx': 'x', 'other/3/model.onnx': 'x' });
  const repository = await scan({ modelRepositories: [folder] });
  assert.deepEqual(names(repository), ['7=1', 'other=3']);
  assert.deepEqual(await listModels(folder), ['7', 'other']);
  for (const name of [...readdirSync(folder), 'none', '7/.', '../x', '.', '..', '']) {
    assert.equal(await hasModel(folder, name), ['7', 'other'].includes(name), name);
  }
  assert.deepEqual(await listModels(join(folder, 'none')), []);
  const wanted = await scanRepository(folder, { wants: (name) => name === 'other' });
  assert.deepEqual(
    wanted.models.map((one) => one.name),
    ['other'],
  );
});

test('config.pbtxt: file name, version policy, label files', async (t) => {
  const folder = filledFolder(t, {
    'm/config.pbtxt': `default_model_filename: "net.onnx"
      version_policy { latest { num_versions: 2 } }
      output { name: "y" data_type: TYPE_FP32 dims: 2 label_filename: "labels.txt" }`,
    'm/labels.txt': 'cat\ndog\n',
    'm/1/net.onnx': 'x',
    'm/2/net.onnx': 'x',
    'm/3/model.onnx': 'x',
    'm/4/net.onnx': 'x',
    'null/config.pbtxt': 'backend: "serval_null"',
    'null/1/readme': '',
    'alone/config.pbtxt': '',
    'alone/1/model.onnx': 'x',
  });
  const { models } = await scanRepository(folder, {});
  const [alone, m, none] = models;
  assert.deepEqual(
    m?.versions.map((one) => [one.version, one.path]),
    [
      ['4', join(folder, 'm/4/net.onnx')],
      ['2', join(folder, 'm/2/net.onnx')],
    ],
  );
  assert.deepEqual(m?.config.classLabels.get('y'), ['cat', 'dog']);
  assert.equal(m?.config.config?.['default_model_filename'], 'net.onnx');
  assert.deepEqual(m?.problems, [`${folder}/m/3 has no model: expected net.onnx, got model.onnx`]);
  assert.deepEqual(
    none?.versions.map((one) => [one.version, one.format]),
    [['1', 'null']],
  );
  assert.deepEqual([alone?.config.config, alone?.problems], [{}, []]);
  writeFileSync(join(folder, 'm/labels.txt'), 'cat\nhorse\n');
  const again = await scanRepository(folder, {});
  assert.notEqual(again.models[1]?.config.revision, m?.config.revision, 'labels count');
});

test('a bad or missing config.pbtxt is the problem of its model alone', async (t) => {
  const folder = filledFolder(t, {
    'bad/config.pbtxt': 'max_batch_size: "many"',
    'bad/1/model.onnx': 'x',
    'good/config.pbtxt': 'max_batch_size: 4',
    'good/1/model.onnx': 'x',
    'labels/config.pbtxt': 'output { name: "y" data_type: TYPE_FP32 dims: 2 label_filename: "l" }',
    'labels/1/model.onnx': 'x',
    'none/1/model.onnx': 'x',
  });
  mkdirSync(join(folder, 'odd/config.pbtxt'), { recursive: true });
  const { models } = await scanRepository(folder, { autoComplete: false });
  const [bad, good, labels, none, odd] = models;
  assert.match(bad?.config.problem ?? '', /^\S+\/bad\/config.pbtxt:1:\d+: max_batch_size/);
  assert.deepEqual(bad?.problems, [bad?.config.problem]);
  assert.deepEqual(
    bad?.versions.map((one) => one.version),
    ['1'],
    'would-be versions',
  );
  assert.deepEqual([good?.config.problem, good?.problems], ['', []]);
  assert.equal(labels?.config.problem, '');
  assert.match(labels?.problems[0] ?? '', /labels\/l: label_filename: cannot read/);
  assert.match(none?.config.problem ?? '', /none\/config.pbtxt: no such file: expected one/);
  assert.deepEqual([odd?.readable, odd?.versions], [false, []]);
  assert.match(odd?.problems[0] ?? '', /cannot read .*odd.config.pbtxt/);
});

test('a configuration with a name counts where a model has it, else the usual one', async (t) => {
  const folder = filledFolder(t, {
    'bad/configs/h100.pbtxt': 'max_batch_size: "many"',
    'bad/1/model.onnx': 'x',
    'named/config.pbtxt': 'max_batch_size: 4',
    'named/configs/h100.pbtxt': 'max_batch_size: 8',
    'named/configs/config.pbtxt': 'max_batch_size: 16',
    'named/1/model.onnx': 'x',
    'usual/config.pbtxt': 'max_batch_size: 4',
    'usual/configs/v100.pbtxt': 'max_batch_size: 8',
    'usual/1/model.onnx': 'x',
    'without/configs/h100.pbtxt': 'max_batch_size: 8',
    'without/1/model.onnx': 'x',
    'neither/1/model.onnx': 'x',
  });
  mkdirSync(join(folder, 'odd/configs/h100.pbtxt'), { recursive: true });
  const sizes = async (configName: string): Promise<Record<string, unknown>> => {
    const { models } = await scanRepository(folder, { configName, autoComplete: false });
    return Object.fromEntries(
      models.map(({ name, config }) => [name, config.config?.['max_batch_size']]),
    );
  };
  const none = { bad: undefined, neither: undefined, odd: undefined };
  assert.deepEqual(await sizes('h100'), { ...none, named: 8, usual: 4, without: 8 });
  assert.deepEqual(await sizes('config'), { ...none, named: 16, usual: 4, without: undefined });
  assert.deepEqual(await sizes(''), { ...none, named: 4, usual: 4, without: undefined });
  const { models } = await scanRepository(folder, { configName: 'h100' });
  const [bad, named, , odd] = models;
  assert.match(bad?.config.problem ?? '', /^\S+\/bad\/configs\/h100.pbtxt:1:\d+: max_batch_size/);
  assert.deepEqual([odd?.name, odd?.readable], ['odd', false]);
  writeFileSync(join(folder, 'named/configs/h100.pbtxt'), 'max_batch_size: 9');
  const again = await scanRepository(folder, { configName: 'h100' });
  assert.notEqual(again.models[1]?.config.revision, named?.config.revision, 'a change counts');
  const one = await scanPath(join(folder, 'without'), { configName: 'h100' });
  assert.equal(one.models[0]?.config.config?.['max_batch_size'], 8);
});

test('odd folders are reported and the others load', async (t) => {
  const folder = filledFolder(t, {
    'bare_and_versions/model.onnx': 'x',
    'bare_and_versions/1/model.onnx': 'x',
    'bundle/1/weights.bin': 'x',
    'file_as_version/1': 'x',
    'good/1/model.onnx': 'x',
    'huge/9223372036854775808/model.onnx': 'x',
    'no_version/model-v1.onnx': 'x',
    'partly/1/model.onnx': 'x',
    'partly/2/other.onnx': 'x',
    'stray.onnx': 'x',
    'twins/01/model.onnx': 'x',
    'twins/1/model.onnx': 'x',
    'v1/v1/model.onnx': 'x',
  });
  mkdirSync(join(folder, 'folder_as_model/1/model.onnx'), { recursive: true });
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
  const result = await scan({ modelRepositories: [folder] });
  assert.deepEqual(names(result), [
    'bare_and_versions=1',
    'bundle=',
    'dangling=',
    'file_as_version=',
    'folder_as_model=',
    'good=1',
    'huge=',
    'loop=',
    'no_version=',
    'partly=1',
    'twins=1',
    'v1=',
  ]);
  const own = Object.fromEntries(result.models.map((one) => [one.name, one.problems.join('; ')]));
  assert.deepEqual(
    Object.keys(own).filter((name) => own[name] === ''),
    ['good'],
  );
  assert.match(own['bare_and_versions'] ?? '', /model.onnx is ignored because version folders/);
  assert.match(own['bundle'] ?? '', /bundle\/1 has no model: expected .*, got weights.bin/);
  assert.match(own['dangling'] ?? '', /cannot read .*dangling: ENOENT/);
  assert.match(own['loop'] ?? '', /cannot read .*loop: ELOOP/);
  assert.match(own['file_as_version'] ?? '', /cannot read .*file_as_version\/1: ENOTDIR/);
  assert.match(own['folder_as_model'] ?? '', /model.onnx: expected a file/);
  assert.match(own['huge'] ?? '', /fits int64, got 9223372036854775808/);
  assert.match(own['no_version'] ?? '', /has no version folder: expected .*version\/1\/model.onnx/);
  assert.match(own['partly'] ?? '', /partly\/2 has no model: expected model.onnx, got other.onnx/);
  assert.match(own['twins'] ?? '', /01 and .*twins\/1 are both version 1: the second is served/);
  assert.match(own['v1'] ?? '', /has no version folder/);
  assert.equal(
    result.models.find((one) => one.name === 'twins')?.versions[0]?.path,
    join(folder, 'twins/1/model.onnx'),
  );
  const stray = result.problems.filter((problem) => problem.includes('stray.onnx'));
  assert.equal(stray.length, 1);
  assert.match(stray[0] ?? '', /in a repository it would be .*stray\/1\/model.onnx/);
  for (const model of result.models) {
    for (const problem of model.problems) assert.ok(result.problems.includes(problem));
  }
});

test('folders without a model are ignored with a note', async (t) => {
  const folder = filledFolder(t, {
    'good/1/model.onnx': 'x',
    'notes/readme.md': 'text',
    'docs/images/a.svg': 'text',
    'mistake/v1/model.onnx': 'x',
    '.git/1/model.onnx': 'x',
    'lost+found/1/model.onnx': 'x',
  });
  mkdirSync(join(folder, 'empty'));
  const result = await scan({ modelRepositories: [folder] });
  assert.deepEqual(names(result), ['good=1', 'mistake=']);
  const ignored = result.problems.filter((one) => one.includes('is ignored'));
  assert.deepEqual(
    ignored,
    ['docs', 'empty', 'lost+found', 'notes'].map(
      (name) => `${join(folder, name)} is ignored: it is a folder without a model`,
    ),
  );
  assert.deepEqual(await listModels(folder), ['good', 'mistake']);
});

test('a folder of the name of the ONNX file holds it, as in Triton', async (t) => {
  const folder = filledFolder(t, {
    'same/1/model.onnx/model.onnx': 'x',
    'same/1/model.onnx/weights.bin': 'x',
    'only/1/model.onnx/net.onnx': 'x',
    'named/1/net.onnx/model.onnx': 'x',
    'named/config.pbtxt': 'default_model_filename: "net.onnx" backend: "onnxruntime"',
    'two/1/model.onnx/a.onnx': 'x',
    'two/1/model.onnx/b.onnx': 'x',
  });
  const { models, problems } = await scan({ modelRepositories: [folder] });
  const paths = models.map(({ name, versions }) => [name, versions[0]?.path]);
  assert.deepEqual(paths, [
    ['named', join(folder, 'named/1/net.onnx/model.onnx')],
    ['only', join(folder, 'only/1/model.onnx/net.onnx')],
    ['same', join(folder, 'same/1/model.onnx/model.onnx')],
    ['two', undefined],
  ]);
  assert.equal(problems.length, 1, problems.join());
  assert.match(
    problems[0] ?? '',
    /two\/1\/model\.onnx: expected a file, or a folder with one \.onnx/,
  );
});

test('serves the first of two models with one name', async (t) => {
  const folder = filledFolder(t, { 'a/m/1/model.onnx': 'x', 'b/m/2/model.onnx': 'x' });
  const repositories = ['a', 'b'].map((name) => join(folder, name));
  const result = await scan({ modelRepositories: repositories });
  assert.deepEqual(names(result), ['m=1']);
  assert.deepEqual(result.problems, [
    `model 'm' is in ${folder}/a/m and in ${folder}/b/m: the first is served`,
  ]);
});

test('an empty repository is reported', async (t) => {
  const folder = filledFolder(t, {});
  assert.deepEqual(await scan({ paths: [folder] }), {
    models: [],
    problems: [`${folder} contains no model folders`],
  });
});

test('requires named paths to exist', async (t) => {
  const folder = filledFolder(t, { 'notes.txt': 'x', 'm.onnx': 'x' });
  const at = (name: string): string => join(folder, name);
  await refuses({ paths: [at('none')] }, `${at('none')}: no such file or folder`);
  await refuses({ modelRepositories: [at('none')] }, `${at('none')}: no such file or folder`);
  await refuses(
    { paths: [at('notes.txt')] },
    `${at('notes.txt')}: expected a folder or a file that ends in .onnx, .pb, .pbtxt, .graphdef, .plan, .pmml, .pmml.gz, .xml, .zip, .tar, .tar.gz, .tgz or .gz, or a model of XGBoost, LightGBM or CatBoost`,
  );
  await refuses({ modelRepositories: [at('m.onnx')] }, `${at('m.onnx')}: expected a folder`);
  await refuses(
    { paths: ['/dev/null'] },
    '/dev/null: expected a folder or a file that ends in .onnx, .pb, .pbtxt, .graphdef, .plan, .pmml, .pmml.gz, .xml, .zip, .tar, .tar.gz, .tgz or .gz, or a model of XGBoost, LightGBM or CatBoost',
  );
});

test('the revision changes with anything in the folder of the version', async (t) => {
  const folder = filledFolder(t, { '1/model.onnx': 'x', '1/weights/a.bin': 'x', '1/b': 'x' });
  const at = (name: string): string => join(folder, '1', name);
  const seen = new Set<string>();
  const isNew = async (): Promise<boolean> => {
    const before = seen.size;
    return seen.add(await fingerprint(at(''))).size > before;
  };
  assert.equal(await isNew(), true);
  assert.equal(await isNew(), false, 'nothing changed');
  writeFileSync(at('model.onnx'), 'xy');
  assert.equal(await isNew(), true, 'a longer file');
  writeFileSync(at('weights/a.bin'), 'xyz');
  assert.equal(await isNew(), true, 'a file further down');
  writeFileSync(at('new'), '');
  assert.equal(await isNew(), true, 'a new file');
  renameSync(at('new'), at('other'));
  assert.equal(await isNew(), true, 'another name');
  rmSync(at('b'));
  assert.equal(await isNew(), true, 'a file less');
  writeFileSync(join(folder, 'replacement'), 'xy');
  renameSync(join(folder, 'replacement'), at('model.onnx'));
  assert.equal(await isNew(), true, 'the same size, another file');
  symlinkSync(at('.'), at('loop'));
  assert.equal(await isNew(), true, 'a link to itself ends');
  symlinkSync(join(folder, 'nowhere'), at('dangling'));
  assert.equal(await isNew(), true);
  assert.equal(await isNew(), false);
});

test('work is done a few at a time, and results keep their order', async () => {
  let [running, most] = [0, 0];
  const doubled = await mapLimited([5, 1, 4, 2, 3], 2, async (n) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < n; i++) await Promise.resolve();
    running -= 1;
    return 2 * n;
  });
  assert.deepEqual([doubled, most], [[10, 2, 8, 4, 6], 2]);
  assert.deepEqual(await mapLimited([], 2, () => Promise.resolve(1)), []);
  await assert.rejects(
    mapLimited([1], 2, () => Promise.reject(new Error('no'))),
    /no/,
  );
});

test('a library of operators is part of the revision, wherever it is', async (t) => {
  const folder = filledFolder(t, {
    'repo/m/1/model.onnx': 'x',
    'repo/m/config.pbtxt': 'model_operations { op_library_filename: "ops.so" }',
    'repo/plain/1/model.onnx': 'x',
    'repo/plain/config.pbtxt': 'max_batch_size: 2',
    'ops/ops.so': 'one',
  });
  const allowed = [join(folder, 'ops')];
  const revisions = async (libraryFolders: readonly string[]): Promise<readonly string[]> => {
    const { models } = await scanRepository(join(folder, 'repo'), { libraryFolders });
    return models.map((model) => model.config.revision);
  };
  const first = await revisions(allowed);
  assert.deepEqual(await revisions(allowed), first);
  writeFileSync(join(folder, 'ops', 'new'), 'two');
  renameSync(join(folder, 'ops', 'new'), join(folder, 'ops', 'ops.so'));
  const [changed, plain] = await revisions(allowed);
  assert.notEqual(changed, first[0]);
  assert.equal(plain, first[1], 'a model without libraries');
  writeFileSync(join(folder, 'repo', 'm', 'ops.so'), 'nearer');
  assert.notEqual((await revisions(allowed))[0], changed);
  rmSync(join(folder, 'ops', 'ops.so'));
  const without = await revisions(allowed);
  assert.deepEqual(await revisions(allowed), without);
  assert.equal((await revisions([]))[1], plain);
});
