// Finding models in good and odd folders.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelSources } from '../../../ts/config.js';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import { desiredModels } from '../../../ts/registry/desired.js';
import { scanSources } from '../../../ts/registry/repository.js';
import type { ScanResult } from '../../../ts/registry/repository.js';
import { filledFolder } from '../temp-folder.js';

function scan(sources: Partial<ModelSources>): Promise<ScanResult> {
  return scanSources({ paths: [], modelRepositories: [], baseModel: undefined, ...sources });
}

/** "name=versions" of every model. */
function names(result: ScanResult): string[] {
  return result.models.map(
    (model) => `${model.name}=${model.versions.map((one) => one.version).join(',')}`);
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
    'one.onnx': 'x', 'bare/model.onnx': 'x', 'half/00000123/model.onnx': 'x',
    'half/9/model.onnx': 'x', 'half/notes.txt': 'x', 'repo/b/1/model.onnx': 'x',
    'repo/a/2/model.onnx': 'x', 'repo/.git/1/model.onnx': 'x', 'repo/readme.md': 'x',
  });
  const at = (name: string): string => join(folder, name);
  const result = await scan({ paths: ['one.onnx', 'bare', 'half', 'repo'].map(at) });
  assert.deepEqual(result.problems, []);
  assert.deepEqual(names(result), ['a=2', 'b=1', 'bare=1', 'half=123,9', 'one=1']);
  const half = result.models.find((model) => model.name === 'half');
  assert.equal(half?.source, 'model-folder');
  assert.equal(half?.basePath, at('half'));
  assert.equal(half?.versions[0]?.path, at('half/00000123/model.onnx'));
  assert.deepEqual(result.models.map((model) => model.source),
    ['repository', 'repository', 'model-folder', 'model-folder', 'file']);
});

test('--model-repository and --model-base-path', async (t) => {
  const folder = filledFolder(t, { '7/1/model.onnx': 'x', 'other/3/model.onnx': 'x' });
  const repository = await scan({ modelRepositories: [folder] });
  assert.deepEqual(names(repository), ['7=1', 'other=3']);
  const base = await scan({ baseModel: { name: 'named', path: join(folder, 'other') } });
  assert.deepEqual(names(base), ['named=3']);
  assert.equal(base.models[0]?.source, 'base-path');
});

test('odd folders are reported and the others load', async (t) => {
  const folder = filledFolder(t, {
    'bare_and_versions/model.onnx': 'x', 'bare_and_versions/1/model.onnx': 'x',
    'bundle/1/saved_model.pb': 'x', 'config/1/model.onnx': 'x', 'config/config.pbtxt': 'x',
    'file_as_version/1': 'x', 'good/1/model.onnx': 'x', 'huge/9223372036854775808/model.onnx': 'x',
    'no_version/model-v1.onnx': 'x', 'partly/1/model.onnx': 'x', 'partly/2/other.onnx': 'x',
    'stray.onnx': 'x', 'twins/01/model.onnx': 'x', 'twins/1/model.onnx': 'x',
    'v1/v1/model.onnx': 'x',
  });
  mkdirSync(join(folder, 'folder_as_model/1/model.onnx'), { recursive: true });
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
  const result = await scan({ modelRepositories: [folder] });
  assert.deepEqual(names(result), [
    'bare_and_versions=1', 'bundle=', 'config=1', 'dangling=', 'file_as_version=',
    'folder_as_model=', 'good=1', 'huge=', 'loop=', 'no_version=', 'partly=1', 'twins=1', 'v1=',
  ]);
  const own = Object.fromEntries(result.models.map((one) => [one.name, one.problems.join('; ')]));
  assert.deepEqual(
    Object.keys(own).filter((name) => own[name] === ''), ['good']);
  assert.match(own['bare_and_versions'] ?? '', /model.onnx is not served: there are version/);
  assert.match(own['bundle'] ?? '', /bundle\/1 has no model: expected .*, got 1 other files/);
  assert.match(own['config'] ?? '', /config.pbtxt is not read/);
  assert.match(own['dangling'] ?? '', /cannot read .*dangling: ENOENT/);
  assert.match(own['loop'] ?? '', /cannot read .*loop: ELOOP/);
  assert.match(own['file_as_version'] ?? '', /cannot read .*file_as_version\/1: ENOTDIR/);
  assert.match(own['folder_as_model'] ?? '', /model.onnx: expected a file/);
  assert.match(own['huge'] ?? '', /fits int64, got 9223372036854775808/);
  assert.match(own['no_version'] ?? '', /has no version folder: expected .*version\/1\/model.onnx/);
  assert.match(own['partly'] ?? '', /partly\/2 has no model: expected model.onnx, got other.onnx/);
  assert.match(own['twins'] ?? '', /01 and .*twins\/1 are both version 1: the second is served/);
  assert.match(own['v1'] ?? '', /has no version folder/);
  assert.equal(result.models.find((one) => one.name === 'twins')?.versions[0]?.path,
    join(folder, 'twins/1/model.onnx'));
  const stray = result.problems.filter((problem) => problem.includes('stray.onnx'));
  assert.equal(stray.length, 1);
  assert.match(stray[0] ?? '', /in a repository it would be .*stray\/1\/model.onnx/);
  for (const model of result.models) {
    for (const problem of model.problems) assert.ok(result.problems.includes(problem));
  }
});

test('of two models with one name the first is served', async (t) => {
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
  assert.deepEqual(await scan({ paths: [folder] }),
    { models: [], problems: [`${folder} holds no model folder`] });
});

test('what the user names must be there', async (t) => {
  const folder = filledFolder(t, { 'notes.txt': 'x', 'm.onnx': 'x' });
  const at = (name: string): string => join(folder, name);
  await refuses({ paths: [at('none')] }, `${at('none')}: no such file or folder`);
  await refuses({ modelRepositories: [at('none')] }, `${at('none')}: no such file or folder`);
  await refuses({ baseModel: { name: 'm', path: at('none') } },
    `${at('none')}: no such file or folder`);
  await refuses({ paths: [at('notes.txt')] },
    `${at('notes.txt')}: expected a folder or a file that ends in .onnx`);
  await refuses({ modelRepositories: [at('m.onnx')] }, `${at('m.onnx')}: expected a folder`);
  await refuses({ paths: ['/dev/null'] },
    '/dev/null: expected a folder or a file that ends in .onnx');
  await refuses({ baseModel: { name: 'n'.repeat(4097), path: folder } },
    `${folder}: expected a model name of 1 to 4096 bytes`);
});

test('the revision changes with the file', async (t) => {
  const first = await scan({ paths: [join(filledFolder(t, { 'm.onnx': 'x' }), 'm.onnx')] });
  const second = await scan({ paths: [join(filledFolder(t, { 'm.onnx': 'xy' }), 'm.onnx')] });
  const revision = (result: ScanResult): string | undefined =>
    result.models[0]?.versions[0]?.revision;
  assert.notEqual(revision(first), undefined);
  assert.notEqual(revision(first), revision(second));
});

test('desired: latest version, settings on every spec, empty models are kept', async (t) => {
  const folder = filledFolder(t, {
    'a/1/model.onnx': 'x', 'a/10/model.onnx': 'x', 'a/9/model.onnx': 'x', 'b/readme': 'x',
  });
  const { models } = await scan({ modelRepositories: [folder] });
  const settings = {
    execMode: 'queued', inlineUsMax: 5, queueRequestsMax: 6, instances: 7, intraOpThreads: 8,
    interOpThreads: 9, graphOptimization: 1, providers: [{ name: 'cpu', options: {} }],
  } as const;
  const [a, b] = desiredModels(models, settings);
  assert.deepEqual(a?.versions.map((one) => one.spec), [{
    name: 'a', version: '10', backend: 'onnxruntime', path: join(folder, 'a/10/model.onnx'),
    ...settings,
  }]);
  assert.equal(a?.versions[0]?.platform, 'onnxruntime_onnx');
  assert.deepEqual(b, { name: 'b', versions: [], labels: {} });
  const all = desiredModels(models, settings, { kind: 'all' });
  assert.deepEqual(all[0]?.versions.map((one) => one.version), ['10', '9', '1']);
});
