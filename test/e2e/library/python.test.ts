// serval.load() of the Python package and `serval compile`: the wheel's modules with this
// checkout's program, engine and Node. test/package installs the wheel itself. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const root = packageRoot();
const examples = join(root, 'examples', 'models');
const onnxruntime = join('onnxruntime-node', 'bin', 'napi-v6', 'linux', 'x64');
const page = join(root, 'docs', 'guides', 'python.md');
const SAVED_MODEL = resolve('../shared/models/tfserving/saved_model_half_plus_two_cpu');

/** Makes `folder`/serval, the package as the wheel installs it, of links into the checkout. */
function makePackage(folder: string): void {
  const to = join(folder, 'serval');
  cpSync(join(root, 'scripts', 'packaging', 'python', 'serval'), to, { recursive: true });
  const runtime = join(to, '_runtime');
  const links = {
    'package.json': join(root, 'package.json'),
    bin: join(root, 'bin'),
    dist: join(root, 'dist'),
    'node/node': process.execPath,
    'prebuilt/libserval.so': join(root, 'build', 'Release', 'libserval.so'),
    'prebuilt/libonnxruntime.so.1': join(root, 'node_modules', onnxruntime, 'libonnxruntime.so.1'),
  };
  for (const name of ['node', 'prebuilt']) mkdirSync(join(runtime, name), { recursive: true });
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(runtime, name));
}

describe('a model in Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-python-'));
  const savedModel = existsSync(SAVED_MODEL) ? SAVED_MODEL : '';
  const { python, missing } = findPython();
  let server: ServalProcess | undefined;
  before(async () => {
    if (missing !== '') return;
    makePackage(folder);
    server = await startServer([examples, ...(savedModel === '' ? [] : [savedModel])]);
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives what a server answers', async (context) => {
    if (server === undefined) {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'library.test_load', server, {
      PYTHONPATH: folder,
      SERVAL_EXAMPLES: examples,
      SERVAL_LOAD_CACHE: join(folder, 'cache'),
      SERVAL_SAVED_MODEL: savedModel,
      SERVAL_PAGE: page,
    });
  });
});

describe('libserval.so in C', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-c-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const library = join(root, 'build', 'Release', 'libserval.so');

  it('compiles and runs the example of its page', (t) => {
    const [, code = ''] = /```c\n(.*?)```/s.exec(readFileSync(page, 'utf8')) ?? [];
    const [source, program] = [join(folder, 'example.c'), join(folder, 'example')];
    writeFileSync(source, code);
    symlinkSync(examples, join(folder, 'models'));
    const strict = ['-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic'];
    const from = ['-I', join(root, 'native', 'capi'), source, library, '-o', program];
    const made = spawnSync('cc', [...strict, ...from], { encoding: 'utf8' });
    if (made.error !== undefined) {
      t.skip('no C compiler');
      return;
    }
    assert.equal(made.status, 0, made.stderr);
    const runtime = join(root, 'node_modules', onnxruntime, 'libonnxruntime.so.1');
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: join(root, 'build', 'Release'),
      SERVAL_ORT_LIBRARY: runtime,
    };
    const done = spawnSync(program, { cwd: folder, env, encoding: 'utf8' });
    assert.equal(done.stdout, 'y 3.5 4 5.5\n', done.stderr);
  });

  it('exports nothing but serval_ functions', () => {
    const listed = spawnSync('nm', ['-D', '--defined-only', library], { encoding: 'utf8' });
    const names = listed.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ').at(-1) ?? '');
    assert.ok(names.length >= 19, listed.stdout);
    const others = names.filter((name) => !/^(serval_\w+@@SERVAL_1|SERVAL_1)$/.test(name));
    assert.deepEqual(others, []);
  });
});

describe('serval compile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-compile-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const iris = join(examples, 'iris_tree');

  it('writes a folder that contains everything', async () => {
    const out = join(folder, 'iris');
    const { code, stdout, stderr } = await runServal(['compile', iris, '--out', out]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /iris {2}pmml model iris_tree, version 1: 2 files, /);
    assert.deepEqual(readdirSync(out).sort(), ['model.serval', 'plan.bin']);
  });

  it('leaves nothing when it fails', async () => {
    for (const [args, code, text] of [
      [['compile', iris], 2, /expected one PATH and --out DIR, got 1 and no --out/],
      [['compile', iris, iris, '--out', 'x'], 2, /got 2 and a --out/],
      [['compile', iris, '--out', folder], 1, /--out: expected a new folder, got /],
      [['compile', join(folder, 'none'), '--out', join(folder, 'x')], 1, /none: no such file/],
      [['compile', examples, '--out', join(folder, 'x')], 1, /expected one model or the name/],
      [['compile', iris, '--signature', 's', '--out', join(folder, 'x')], 1, /only TensorFlow/],
    ] as const) {
      const done = await runServal([...args]);
      assert.equal(done.code, code, done.stderr);
      assert.match(done.stderr, text);
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name !== 'iris'),
      [],
    );
  });
});
