// Bundles the package's client, ts/client, into dist/bundle/: client.js and client.cjs for Node,
// client.browser.js for browsers, each with its declarations in one file. Build time only.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const FILES = {
  'client.js': { entry: 'client.js', format: 'esm', platform: 'node', target: 'node22' },
  'client.cjs': { entry: 'client.js', format: 'cjs', platform: 'node', target: 'node22' },
  // Small, because pages load it.
  'client.browser.js': {
    entry: 'browser.js',
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
  },
};
const TYPES = {
  'client.d.ts': 'client.d.ts',
  'client.d.cts': 'client.d.ts',
  'client.browser.d.ts': 'browser.d.ts',
};

/** Writes the programs. `folder`: dist/bundle. */
export async function bundleClient(folder) {
  for (const [file, { entry, ...options }] of Object.entries(FILES)) {
    await build({
      ...options,
      entryPoints: [join(root, 'dist', 'client', entry)],
      outfile: join(folder, file),
      bundle: true,
      legalComments: 'none',
      logLevel: 'warning',
    });
  }
}

/** Writes the declarations. */
export function writeClientTypes(folder) {
  const scratch = mkdtempSync(join(tmpdir(), 'serval-types-'));
  try {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [tsc, '-p', join(root, 'ts', 'client', 'tsconfig.json'), '--outDir', scratch];
    execFileSync(process.execPath, args, { stdio: 'inherit' });
    for (const [file, entry] of Object.entries(TYPES)) {
      writeFileSync(join(folder, file), joined(join(scratch, 'client', entry)));
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const FROM = /^(?:import|export) [^;]*? from '(\.[^']+)';\n/gm;
const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function) (\w+)/gm;
const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:interface|type|class|const|function) (\w+)/gm;

// Joins the declarations that an entry reaches into one module, which exports the entry's names.
function joined(entry) {
  const texts = new Map();
  const read = (path) => {
    if (texts.has(path)) return;
    const text = readFileSync(path, 'utf8');
    texts.set(path, text);
    for (const [, from] of text.matchAll(FROM)) {
      read(join(dirname(path), from.replace(/\.js$/, '.d.ts')));
    }
  };
  read(entry);
  const names = [...texts.values()].flatMap((text) =>
    [...text.matchAll(DECLARED)].map(([, name]) => name),
  );
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`client: two declarations are named ${twice}`);
  const bodies = [...texts.values()].map((text) =>
    text
      .replace(FROM, '')
      .replace(/^export (?=declare|interface|type \w|abstract)/gm, '')
      .replace(/^(?=class|const|function)/gm, 'declare '),
  );
  const head = '// Written by scripts/packaging/client.mjs from ts/client.\n';
  return `${head}${bodies.join('')}export { ${exportsOf(entry, texts).join(', ')} };\n`;
}

function exportsOf(entry, texts) {
  const text = texts.get(entry);
  const own = [...text.matchAll(EXPORTED)].map(([, name]) => name);
  const others = [...text.matchAll(/^export (type )?(\*|\{[^}]*\}) from '([^']+)';/gm)].flatMap(
    ([, , names, from]) => {
      if (names !== '*') return names.slice(1, -1).trim().split(/,\s*/);
      const path = join(dirname(entry), from.replace(/\.js$/, '.d.ts'));
      return [...texts.get(path).matchAll(EXPORTED)].map(([, name]) => name);
    },
  );
  return [...own, ...others].map((name) => name.replace(/^type /, '')).sort();
}
