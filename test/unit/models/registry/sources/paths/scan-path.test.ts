// Contents of PATHs: files with custom names, folders of files, names given as "name=".
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { modelPath } from '../../../../../../ts/config/values/model-path.js';
import { ServalError } from '../../../../../../ts/base/errors.js';
import {
  scanPath,
  scanSources,
} from '../../../../../../ts/models/registry/sources/paths/scan-path.js';
import { filledFolder } from '../../../../temp-folder.js';

async function served(folder: string, ...paths: readonly string[]): Promise<string[]> {
  const given = paths.map((text) => modelPath(folder, text));
  const { models, problems } = await scanSources({ paths: given, modelRepositories: [] });
  assert.deepEqual(problems, []);
  return models.map(
    ({ name, versions }) => `${name}: ${versions[0]?.path.slice(folder.length + 1)}`,
  );
}

async function refused(folder: string, ...paths: readonly string[]): Promise<string> {
  try {
    await served(folder, ...paths);
  } catch (error) {
    assert.ok(error instanceof ServalError, String(error));
    return error.message.replaceAll(`${folder}/`, '');
  }
  return 'not refused';
}

const filled = (t: TestContext): string =>
  filledFolder(t, {
    'a.onnx': 'x',
    'b.onnx': 'x',
    'odd=name.onnx': 'x',
    'pipeline.zip': 'x',
    'files/one.onnx': 'x',
    'files/two.onnx': 'x',
    'files/three.pmml': 'x',
    'files/readme.md': 'x',
    'single/resnet.onnx': 'x',
    'documents/p.pmml': 'x',
    'documents/q.pmml': 'x',
    'export/saved_model.pb': 'x',
    'repo/m/1/model.onnx': 'x',
    'repo/n/1/model.onnx': 'x',
    'repo/stray.onnx': 'x',
  });

test('each PATH serves under a name of its own', async (t) => {
  const folder = filled(t);
  assert.deepEqual(await served(folder, 'a.onnx', 'c=b.onnx', 'export', 'pipeline.zip'), [
    'a: a.onnx',
    'c: b.onnx',
    'export: export',
    'pipeline: pipeline.zip',
  ]);
  assert.deepEqual(await served(folder, 'x=a.onnx', 'y=a.onnx', 'z=export'), [
    'x: a.onnx',
    'y: a.onnx',
    'z: export',
  ]);
  assert.deepEqual(await served(folder, 'odd=name.onnx'), ['odd=name: odd=name.onnx']);
});

test('a folder of files serves each', async (t) => {
  const folder = filled(t);
  assert.deepEqual(await served(folder, 'files'), [
    'one: files/one.onnx',
    'three: files/three.pmml',
    'two: files/two.onnx',
  ]);
  const beside = filledFolder(t, { 'm/model.onnx': 'x', 'm/other.onnx': 'x' });
  assert.deepEqual(await served(beside, 'm'), ['model: m/model.onnx', 'other: m/other.onnx']);
  assert.deepEqual(await served(folder, 'single'), ['resnet: single/resnet.onnx']);
  assert.deepEqual(await served(folder, 'documents'), [
    'p: documents/p.pmml',
    'q: documents/q.pmml',
  ]);
  const { models, problems } = await scanPath(join(folder, 'repo'), {});
  assert.deepEqual([models.map(({ name }) => name), problems.length], [['m', 'n'], 1]);
});

test('an archive beside models is said not to be one', async (t) => {
  const folder = filledFolder(t, { 'm/a.onnx': 'x', 'm/b.onnx': 'x', 'm/data.zip': 'x' });
  const { models, problems } = await scanPath(join(folder, 'm'), {});
  assert.deepEqual(
    models.map(({ name }) => name),
    ['a', 'b'],
  );
  assert.match(problems.join(), /data\.zip is not served/);
});

test('a folder of files stays one when models of a repository are not asked for', async (t) => {
  const folder = filled(t);
  const { models } = await scanPath(join(folder, 'repo'), { wants: () => false });
  assert.deepEqual(models, []);
});

test('two of one name are an error that names both', async (t) => {
  const folder = filled(t);
  assert.equal(
    await refused(folder, 'a.onnx', 'a=b.onnx'),
    "b.onnx: model 'a' is also in a.onnx: expected unique names, as in NAME=b.onnx",
  );
  assert.match(await refused(folder, 'repo', 'm=a.onnx'), /^a\.onnx: model 'm' is also in repo\/m/);
  const twins = filledFolder(t, { 'm/a.onnx': 'x', 'm/a.pmml': 'x' });
  assert.match(await refused(twins, 'm'), /^m\/a\.pmml: model 'a' is also in m\/a\.onnx/);
});

const onlyName = ({ name }: { readonly name: string }): string => name;
/** A file that is recognised by its content: TensorFlow Lite's. */
const UNLOADABLE = '\u001c\0\0\0TFL3';

test('a file that cannot be loaded is reported and stops no other', async (t) => {
  for (const name of ['net.keras', 'net.h5', 'net.pt']) {
    const folder = filledFolder(t, {
      [`files/${name}`]: UNLOADABLE,
      'files/good.onnx': 'x',
      [`repo/${name}`]: UNLOADABLE,
      'repo/good/1/model.onnx': 'x',
      [`alone/${name}`]: UNLOADABLE,
    });
    for (const place of ['files', 'repo']) {
      const { models, problems, notes } = await scanPath(join(folder, place), {});
      assert.deepEqual(models.map(onlyName), ['good'], `${place} ${name}`);
      assert.deepEqual(notes, []);
      assert.equal(problems.length, 1, problems.join());
      assert.ok(
        problems[0]?.startsWith(`${join(folder, place, name)}: is a TensorFlow Lite model`),
      );
    }
    const alone = await scanPath(join(folder, 'alone'), {});
    const isServed = alone.models.flatMap((one) => one.versions.map(({ path }) => path));
    if (name === 'net.pt') assert.match(alone.problems.join(), /net\.pt: is a TensorFlow Lite/);
    else assert.deepEqual(isServed, [join(folder, 'alone', name)], 'its load says why');
  }
});

test('an exported model beside its own Keras file is served alone', async (t) => {
  const folder = filledFolder(t, {
    'exported/net/saved_model.pb': 'x',
    'exported/net.keras': UNLOADABLE,
    'files/net.onnx': 'x',
    'files/net.keras': UNLOADABLE,
  });
  for (const [place, served] of [
    ['exported', 'net'],
    ['files', 'net.onnx'],
  ] as const) {
    const path = join(folder, place);
    const { models, problems, notes } = await scanPath(path, {});
    assert.deepEqual(models.map(onlyName), ['net']);
    const note = `${join(path, 'net.keras')} is ignored: ${join(path, served)} is served`;
    assert.deepEqual([problems, notes], [[note], [note]]);
  }
  const named = await scanPath({ name: 'n', path: join(folder, 'exported/net') }, {});
  assert.deepEqual(named.models.map(onlyName), ['n']);
});

test('a loose model among model folders is reported with its place', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': 'x', 'tree.pmml': 'x', 'graph.pb': 'x' });
  const { problems } = await scanPath(folder, {});
  assert.deepEqual(problems, [
    `${folder}/graph.pb is not served: in a repository it would be ${folder}/graph/1/graph.pb`,
    `${folder}/tree.pmml is not served: in a repository it would be ${folder}/tree/1/tree.pmml`,
  ]);
});

test('a misnamed ONNX model in a version is reported, not the Keras file beside it', async (t) => {
  const folder = filledFolder(t, { 'm/1/net.onnx': 'x', 'm/1/net.keras': UNLOADABLE });
  const { models } = await scanPath(folder, {});
  const expected = `${folder}/m/1 has no model: expected model.onnx, got net.onnx`;
  assert.deepEqual(models[0]?.problems, [expected]);
});

test('one name for several models is refused', async (t) => {
  const folder = filled(t);
  assert.match(await refused(folder, 'one=files'), /^files: expected one model to be named 'one'/);
  assert.match(await refused(folder, 'one=repo'), /^repo: expected one model to be named 'one'/);
  assert.match(await refused(folder, 'one=gone.onnx'), /gone\.onnx: no such file or folder/);
});

test('files of other tools are told what to do, as file, folder and version', async (t) => {
  const gguf = 'GGUF0000';
  const folder = filledFolder(t, { 'm.gguf': gguf, 'f/m.gguf': gguf, 'r/m/1/m.gguf': gguf });
  assert.match(await refused(folder, 'm.gguf'), /^m\.gguf: is GGUF: .*optimum-cli/);
  for (const path of ['f', 'r', 'r/m']) {
    const scan = await scanPath(join(folder, path), {});
    const problems = [...scan.problems, ...scan.models.flatMap((one) => one.problems)];
    assert.match(problems.join(), /m\.gguf: is GGUF: .*optimum-cli/, path);
  }
});
