// Builds the documentation as a site into build/site: the pages of docs/ with search, and the HTTP
// API. MkDocs Material runs in its strict mode, so a broken link or anchor is an error.
//   node scripts/site/build.mjs      needs `make build models`
// Build time only.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOpenApi, writeHttpApi } from './http-api.mjs';
import { navigation, placeOf, stageSite } from './stage.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const SOURCES = join(root, 'build', 'site-sources');
const SITE = join(root, 'build', 'site');
// Pages outside docs/ that the navigation has.
const PROJECT = {
  Architecture: 'ARCHITECTURE.md',
  Changes: 'CHANGELOG.md',
  'How to contribute': 'CONTRIBUTING.md',
  'Code of conduct': 'CODE_OF_CONDUCT.md',
  'Report a vulnerability': 'SECURITY.md',
};

function sections() {
  const list = navigation(readFileSync(join(root, 'docs', 'README.md'), 'utf8'));
  const reference = list.find(({ title }) => title === 'Reference');
  reference?.pages.push({ title: 'HTTP API', place: 'reference/http-api.md' });
  const project = Object.entries(PROJECT).map(([title, path]) => ({ title, place: placeOf(path) }));
  const decisions = { title: 'Decisions', place: placeOf('docs/decisions', true) };
  return [...list, { title: 'Project', pages: [...project, decisions] }];
}

// MkDocs' configuration. JSON is YAML, but for the one tag that names a function of Python.
function configuration() {
  const nav = [
    { Documentation: 'index.md' },
    ...sections().map(({ title, pages }) => ({
      [title]: pages.map((page) => ({ [page.title]: page.place })),
    })),
  ];
  const settings = {
    site_name: 'Serval',
    docs_dir: SOURCES,
    site_dir: SITE,
    use_directory_urls: false,
    theme: {
      name: 'material',
      font: false,
      features: ['navigation.sections', 'navigation.top', 'search.highlight', 'content.code.copy'],
      palette: { scheme: 'default', primary: 'blue grey' },
    },
    plugins: ['search'],
    nav,
    validation: {
      nav: { omitted_files: 'info', not_found: 'warn', absolute_links: 'warn' },
      links: {
        not_found: 'warn',
        anchors: 'warn',
        absolute_links: 'warn',
        unrecognized_links: 'warn',
      },
    },
  };
  const extensions = `markdown_extensions:
  - tables
  - attr_list
  - md_in_html
  - sane_lists
  - pymdownx.superfences
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}
`;
  const lines = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `${lines.join('\n')}\n${extensions}`;
}

// Returns the interpreter that has MkDocs; ends with 77 where it cannot be installed.
function interpreter() {
  const script = join(root, 'scripts', 'site', 'python-env.sh');
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout } = spawnSync(script, options);
  if (status !== 0) {
    process.stderr.write('site: MkDocs Material cannot be installed (see above)\n');
    process.exit(77);
  }
  return join(stdout.trim(), 'bin', 'python');
}

async function main() {
  const python = interpreter();
  stageSite(root, SOURCES, Object.values(PROJECT));
  writeHttpApi(await readOpenApi(root), SOURCES);
  const file = join(root, 'build', 'mkdocs.yml');
  writeFileSync(file, configuration());
  const args = ['-m', 'mkdocs', 'build', '--strict', '--quiet', '--clean', '--config-file', file];
  // Material prints an advertisement for its successor to every build.
  const env = { ...process.env, NO_MKDOCS_2_WARNING: '1' };
  const { status } = spawnSync(python, args, { cwd: root, stdio: 'inherit', env });
  if (status === 0) process.stdout.write(`${SITE}/index.html\n`);
  return status ?? 1;
}

process.exit(await main());
