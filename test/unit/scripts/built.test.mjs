// Whether a build is current, from its record: what `npm pack` packs without a build.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { beginBuild, PARTS, staleReason } from '../../../scripts/packaging/record/built.mjs';

function checkout(t) {
  const root = mkdtempSync(join(tmpdir(), 'serval-built-'));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (path, text) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('native/base/a.cc', 'int a;');
  write('ts/main.ts', 'main();');
  return { root, write };
}

const OUTPUTS = {
  native: 'build/Release/serval.node',
  baseline: 'build/Release/serval-baseline.node',
  ts: 'dist/bundle/main.cjs',
};
const SOURCES = {
  native: 'native/base/a.cc',
  baseline: 'native/base/a.cc',
  ts: 'ts/main.ts',
};

for (const part of Object.keys(PARTS)) {
  test(`${part}: is current until a source or an output changes`, (t) => {
    const { root, write } = checkout(t);
    const reason = () => staleReason(part, root);
    assert.match(reason(), /is missing$/);
    const finished = beginBuild(part, root);
    write(OUTPUTS[part], 'built');
    assert.equal(reason(), 'no finished build is recorded');
    finished();
    assert.equal(reason(), undefined);
    utimesSync(join(root, SOURCES[part]), 1, 1);
    assert.equal(reason(), undefined, 'times do not count');
    write(SOURCES[part], 'other');
    assert.match(reason(), /changed since the build$/);
    beginBuild(part, root)();
    assert.equal(reason(), undefined);
    write(`${dirname(SOURCES[part])}/new`, 'added');
    assert.match(reason(), /changed since the build$/);
    beginBuild(part, root)();
    write(OUTPUTS[part], 'built by another');
    assert.equal(reason()?.startsWith(PARTS[part].outputs[0]), true);
  });

  test(`${part}: a build that fails, or whose sources change meanwhile, is not current`, (t) => {
    const { root, write } = checkout(t);
    write(OUTPUTS[part], 'built');
    beginBuild(part, root)();
    beginBuild(part, root);
    assert.equal(staleReason(part, root), 'no finished build is recorded');
    const finished = beginBuild(part, root);
    write(SOURCES[part], 'edited during the build');
    finished();
    assert.match(staleReason(part, root), /changed since the build$/);
  });
}
