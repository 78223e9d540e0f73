// The documentation as a site: built in the generator's strict mode, with navigation, search and
// the HTTP API; and how pages are rewritten for the generator. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { root } from '../../scripts/packaging/artefacts/names.mjs';
import { navigation, placeOf, rewritten } from '../../scripts/site/stage.mjs';

const SITE = join(root, 'build', 'site');

describe('the site', () => {
  const script = join(root, 'scripts', 'site', 'build.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  const here = { skip: status === 77 && stderr.trim().split('\n').at(-1) };

  it('is built without a warning', here, () => assert.equal(status, 0, `${stdout}${stderr}`));

  it('has every page of docs/, in the order of docs/README.md', here, () => {
    const pages = readdirSync(join(root, 'docs'), { recursive: true }).filter((path) =>
      path.endsWith('.md'),
    );
    for (const page of pages) {
      const place = placeOf(`docs/${page}`).replace(/\.md$/, '.html');
      assert.ok(existsSync(join(SITE, place)), place);
    }
    const home = readFileSync(join(SITE, 'index.html'), 'utf8');
    const sections = navigation(readFileSync(join(root, 'docs', 'README.md'), 'utf8'));
    let at = 0;
    for (const { place } of sections.flatMap((section) => section.pages)) {
      const next = home.indexOf(`href="${place.replace(/\.md$/, '.html')}" class="md-nav`, at);
      assert.ok(next > at, place);
      at = next;
    }
  });

  it('finds words of every page', here, () => {
    const { docs } = JSON.parse(readFileSync(join(SITE, 'search', 'search_index.json'), 'utf8'));
    const found = docs.filter(({ text, title }) => /--settle-ms/.test(`${title}${text}`));
    assert.ok(found.some(({ location }) => location.startsWith('reference/flags.html')));
    assert.ok(docs.length > 300, `${docs.length} sections`);
  });

  it('has the HTTP API of a running server', here, () => {
    const page = readFileSync(join(SITE, 'reference', 'http-api.html'), 'utf8');
    for (const path of ['/v2/models/half_plus_three/infer', '/v2/health/ready']) {
      assert.ok(page.includes(path), path);
    }
    const file = JSON.parse(readFileSync(join(SITE, 'reference', 'openapi.json'), 'utf8'));
    assert.match(file.openapi, /^3\.1/);
  });

  it('has no fence that was read as text', here, () => {
    const pages = readdirSync(SITE, { recursive: true }).filter((path) => path.endsWith('.html'));
    for (const page of pages) {
      const text = readFileSync(join(SITE, page), 'utf8');
      assert.ok(!text.includes('<p>```') && !/^```/m.test(text), page);
    }
  });

  it('needs nothing from another host', here, () => {
    const home = readFileSync(join(SITE, 'index.html'), 'utf8');
    assert.doesNotMatch(home, /<(?:script|link|img)[^>]+(?:src|href)="https?:/);
  });

  it('has only links that lead to files', here, () => {
    const page = readFileSync(join(SITE, 'guides', 'deployment.html'), 'utf8');
    const links = [...page.matchAll(/href="([^"#?]+)[^"]*"/g)].map(([, target]) => target);
    const local = links.filter((target) => !/^(?:[a-z]+:|\/)/.test(target));
    assert.ok(local.length > 20);
    for (const target of local) {
      assert.ok(existsSync(join(SITE, dirname('guides/x'), target)), target);
    }
  });
});

describe('pages for the generator', () => {
  const link = (target) => `<${target}>`;

  it('have places: docs/ at the top, the rest of the repository below it', () => {
    assert.equal(placeOf('docs/README.md'), 'index.md');
    assert.equal(placeOf('docs/guides/a.md'), 'guides/a.md');
    assert.equal(placeOf('native/codec/README.md'), 'repository/native/codec/index.md');
    assert.equal(placeOf('deploy/helm', true), 'repository/deploy/helm/index.md');
  });

  it('have rewritten links, except in code and to other hosts', () => {
    assert.equal(rewritten('[a](b.md#c) `[a](b.md)`', link), '[a](<b.md#c>) `[a](b.md)`');
    assert.equal(rewritten('[a](https://b)', link), '[a](https://b)');
    assert.equal(rewritten('```\n[a](b.md)\n```', link), '```\n[a](b.md)\n```');
    assert.equal(rewritten('```json answer\n- a\n```\n', link), '```json\n- a\n```\n');
  });

  it('have a blank line before a list, and four columns for a level', () => {
    assert.equal(rewritten('a:\n- b\n  c\n  - d\n\ne', link), 'a:\n\n- b\n    c\n    - d\n\ne');
  });

  it('are listed as docs/README.md lists them', () => {
    const readme =
      '# D\n\n## A\n\n| page | b |\n| --- | --- |\n| [x](g/x.md), [y](y.md) | [z](z.md) |\n';
    const pages = [
      { title: 'x', place: 'g/x.md' },
      { title: 'y', place: 'y.md' },
    ];
    assert.deepEqual(navigation(`${readme}\n## B\n\ntext\n`), [{ title: 'A', pages }]);
  });
});
