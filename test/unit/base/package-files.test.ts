// Finds native files in a checkout, in the package, or in the package of the platform.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nativeFilesRemedy, shippedFile } from '../../../ts/base/package-files.js';
import { tempFolder } from '../temp-folder.js';

const NATIVE = '@x/linux-x64';
const OTHER = '@x/linux-arm64';

// A package installed in node_modules, with the optional dependency, and files of both.
function installed(context: TestContext, files: readonly string[], optional = true): string {
  const folder = join(tempFolder(context), 'node_modules');
  const root = join(folder, 'x');
  const manifest = optional
    ? { optionalDependencies: { [NATIVE]: '1.0.0', [OTHER]: '1.0.0' } }
    : {};
  const texts = files.map((path) => [path, path.endsWith('.json') ? '{}' : ''] as const);
  for (const [path, text] of [...texts, ['x/package.json', JSON.stringify(manifest)] as const]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return root;
}

test('finds a file in the package before that of the platform package', (context) => {
  const root = installed(context, ['x/prebuilt/a.node', `${NATIVE}/prebuilt/a.node`]);
  assert.equal(shippedFile('a.node', 'build/a.node', root), join(root, 'prebuilt', 'a.node'));
});

test('finds a file in the platform package that npm has installed beside it', (context) => {
  const root = installed(context, [`${NATIVE}/prebuilt/a.node`]);
  const wanted = join(dirname(root), NATIVE, 'prebuilt', 'a.node');
  assert.equal(shippedFile('a.node', 'build/a.node', root, 'linux-x64'), wanted);
  assert.equal(shippedFile('b.node', 'build/b.node', root, 'linux-x64'), undefined);
});

test('finds the platform package of the machine, not another that is installed', (context) => {
  const files = [NATIVE, OTHER].map((name) => `${name}/prebuilt/a.node`);
  const root = installed(context, files);
  const wanted = join(dirname(root), OTHER, 'prebuilt', 'a.node');
  assert.equal(shippedFile('a.node', 'build/a.node', root, 'linux-arm64'), wanted);
  assert.equal(shippedFile('a.node', 'build/a.node', root, 'linux-riscv64'), undefined);
});

test('finds a file in the platform package that npm has installed inside it', (context) => {
  const inside = `x/node_modules/${NATIVE}/prebuilt/a.node`;
  const root = installed(context, [inside]);
  const found = shippedFile('a.node', 'build/a.node', root, 'linux-x64');
  assert.equal(found, join(dirname(root), inside));
});

test('names the platform package when it is not installed', (context) => {
  const root = installed(context, []);
  assert.equal(shippedFile('a.node', 'build/a.node', root, 'linux-x64'), undefined);
  const remedy = nativeFilesRemedy(root, 'linux-arm64');
  assert.match(remedy, /^the package @x\/linux-arm64 is not installed/);
  const broken = installed(context, [`${NATIVE}/package.json`]);
  assert.equal(nativeFilesRemedy(broken, 'linux-x64'), `reinstall ${NATIVE}`);
  assert.equal(nativeFilesRemedy(installed(context, [], false)), 'run `make build`');
});
