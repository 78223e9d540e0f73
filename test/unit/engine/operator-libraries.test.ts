// Which libraries with custom operators a model may open: names, folders, links. Test time only.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { withLibraries } from '../../../ts/engine/isolated.js';
import type { ModelSpec } from '../../../ts/model/engine-api.js';
import {
  libraryProblem,
  operatorLibraries,
} from '../../../ts/models/config/files/operator-libraries.js';
import type { TritonConfig } from '../../../ts/models/config/types.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'serval-libraries-')));
after(() => rmSync(root, { recursive: true, force: true }));
const [allowed, model, version] = ['allowed', 'model', 'model/1'].map((name) => join(root, name));
const beside = join(root, 'allowed-not');
for (const folder of [allowed, version, beside]) mkdirSync(folder ?? '', { recursive: true });
const file = (...parts: readonly string[]): string => {
  const path = join(root, ...parts);
  writeFileSync(path, '');
  return path;
};
const inAllowed = file('allowed', 'a.so');
file('allowed-not', 'b.so');
const own = file('model', '1', 'own.so');
file('model', 'own.so');
symlinkSync(inAllowed, join(root, 'model', 'good.so'));
symlinkSync(own, join(root, 'allowed', 'bad.so'));

const SPEC: ModelSpec = { name: 'm', version: '1', backend: 'onnxruntime' };
const found = (
  names: readonly string[],
  folders: readonly (string | undefined)[] = [allowed],
  isIsolated = true,
): Promise<ModelSpec> =>
  withLibraries(
    {
      ...SPEC,
      ...{ operatorLibraries: names, libraryFolders: [version, model].map((one) => one ?? '') },
    },
    { allowed: folders.map((one) => one ?? ''), isIsolated },
  );

test('a spec without libraries is unchanged', async () => {
  assert.deepEqual(await withLibraries(SPEC, { allowed: [], isIsolated: false }), SPEC);
  assert.deepEqual(await found([], []), SPEC);
});

test('real paths: of the version first, then the model, then the allowed folders', async () => {
  const { operatorLibraries: paths, ...rest } = await found(['a.so', inAllowed, 'good.so']);
  assert.deepEqual(paths, [inAllowed], 'the same library three times is opened once');
  assert.deepEqual(rest, SPEC);
  assert.deepEqual((await found(['own.so'], [root])).operatorLibraries, [own]);
  assert.deepEqual((await found(['a.so'], ['/nowhere', `${allowed}/`])).operatorLibraries, [
    inAllowed,
  ]);
});

test('refused: no flag, no process, no file, a folder, a file elsewhere', async () => {
  const cases: readonly (readonly [() => Promise<ModelSpec>, RegExp])[] = [
    [() => found(['a.so'], []), /^model 'm': model_operations: no operator library is allowed/],
    [
      () => found(['a.so'], [allowed], false),
      /isolation: process in its config.pbtxt, or --isolate=m$/,
    ],
    ...['none.so', '', 'a\0.so', '/none.so'].map(
      (name) => [() => found([name]), /model_operations: no such file/] as const,
    ),
    [() => found([allowed ?? ''], [root]), /expected a file, got a folder/],
    ...['own.so', 'bad.so', '../allowed-not/b.so', join(beside, 'b.so'), '../../etc/passwd'].map(
      (name) =>
        [
          () => found([name]),
          /outside of the folders of --operator-libraries|no such file/,
        ] as const,
    ),
    [() => found(['a.so', 'own.so']), /"own.so" is outside/],
  ];
  for (const [result, reason] of cases) {
    await assert.rejects(result(), (error: Error) => {
      assert.match(error.message, reason);
      return true;
    });
  }
});

test('refused: a file that every user may replace', async () => {
  const open = file('allowed', 'open.so');
  chmodSync(open, 0o666);
  await assert.rejects(found(['open.so']), /not everyone may write, got "open.so"/);
  chmodSync(open, 0o664);
  assert.deepEqual((await found(['open.so'])).operatorLibraries, [open]);
  chmodSync(allowed ?? '', 0o1777);
  await assert.rejects(found(['open.so']), /not everyone may write/);
  chmodSync(allowed ?? '', 0o755);
  const inner = join(allowed ?? '', 'open', 'inner');
  mkdirSync(inner, { recursive: true });
  file('allowed', 'open', 'inner', 'a.so');
  const below = 'open/inner/a.so';
  assert.equal((await found([below])).operatorLibraries?.length, 1);
  chmodSync(join(inner, '..'), 0o777);
  await assert.rejects(
    found([below]),
    /expected a file and folders, up to that of --operator-libraries, that not/,
  );
  assert.equal((await found(['a.so'], [inner])).operatorLibraries?.length, 1, 'it is above');
  await assert.rejects(found(['a.so'], [inner, allowed]), /not everyone may write/);
});

test('refused: a pipe', async () => {
  execFileSync('mkfifo', [join(allowed ?? '', 'pipe.so')]);
  await assert.rejects(found(['pipe.so']), /expected a file, got a pipe, a socket or a device/);
});

test('a configuration names them, for ONNX models only', () => {
  const config = { model_operations: { op_library_filename: ['a.so', 'b.so'] } } as TritonConfig;
  assert.deepEqual(operatorLibraries(config), ['a.so', 'b.so']);
  assert.deepEqual(operatorLibraries(undefined), []);
  assert.equal(libraryProblem(config, 'onnx'), undefined);
  assert.equal(libraryProblem({} as TritonConfig, 'tensorflow'), undefined);
  assert.match(libraryProblem(config, 'tensorflow') ?? '', /got "a.so": a TensorFlow model is/);
  for (const format of ['null', 'plan', 'spark', 'booster', 'ensemble']) {
    assert.match(libraryProblem(config, format) ?? '', /only ONNX models have custom operators/);
  }
});
