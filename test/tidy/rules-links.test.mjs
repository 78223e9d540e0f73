// The tidy rule for links, on small pages. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorsOf, linksOf, relativeLinks } from './rules/links.mjs';
import { sourceFile } from './source-files.mjs';

const tree = (pairs) => ({
  files: Object.entries(pairs).map(([path, text]) => sourceFile(path, text)),
  sizes: Object.keys(pairs).map((path) => ({ path, bytes: 1 })),
});

test('anchors are those that GitHub makes', () => {
  const page =
    '# `serval` gpu: model.plan (CUDA)\n## A\n## A\n```\n# not a heading\n```\n## [B](c.md)';
  assert.deepEqual([...anchorsOf(page)], ['serval-gpu-modelplan-cuda', 'a', 'a-1', 'b']);
  assert.deepEqual([...anchorsOf('## Über_x-y')], ['über_x-y']);
});

test('links in code are left out', () => {
  const page = '[a](x.md) `[b](y.md)`\n```\n[c](z.md)\n```\n![d](p.png "title")';
  assert.deepEqual(linksOf(page), [
    { line: 1, target: 'x.md' },
    { line: 5, target: 'p.png' },
  ]);
});

test('a link leads to a file, a folder or a heading', () => {
  const good = {
    'README.md': '[a](docs/a.md#one) [b](docs) [c](https://x.example/#y) [d](#top)\n# Top',
    'docs/a.md': '# One\n[up](../README.md)',
    'scripts/packaging/package-readme.md': '[a](docs/a.md) [b](node/LICENSE)',
  };
  assert.deepEqual(relativeLinks(tree(good)), []);
  const broken = (text) => relativeLinks(tree({ ...good, 'docs/b.md': text }));
  assert.deepEqual(broken('\n[x](c.md)'), [
    { path: 'docs/b.md', line: 2, message: 'c.md: no file docs/c.md' },
  ]);
  assert.match(broken('[x](a.md#two)')[0].message, /no heading #two in docs\/a\.md/);
  const manifest = { 'package.json': '{"files":["docs"]}', 'ts/README.md': '[a](../docs/a.md)' };
  assert.deepEqual(relativeLinks(tree({ ...good, ...manifest })), []);
  const unshipped = { ...manifest, 'docs/b.md': '[a](../ts/README.md)' };
  assert.match(relativeLinks(tree({ ...good, ...unshipped }))[0].message, /no package has it/);
  assert.match(broken('[x](../node/LICENSE)')[0].message, /no file node\/LICENSE/);
});
