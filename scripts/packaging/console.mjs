// Bundles the console's page, ts/server/console/page, into dist/bundle/console/: three files and a
// list of them with their types and tags, which the server reads. Build time only.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const page = join(root, 'ts', 'server', 'console', 'page');

// Replaces Node's Buffer, which code shared with the server uses for base64.
const SHIM = join(root, 'scripts', 'packaging', 'browser-buffer.mjs');

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

async function bundled(entry, options = {}) {
  const { outputFiles } = await build({
    entryPoints: [join(page, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['/console/*'],
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  });
  return Buffer.from(outputFiles[0].contents);
}

/** Writes the files of `folder`/console. */
export async function bundleConsole(folder) {
  const files = {
    'index.html': readFileSync(join(page, 'index.html')),
    'icon.svg': readFileSync(join(page, 'icon.svg')),
    'console.js': await bundled('main.ts', { inject: [SHIM] }),
    'style.css': await bundled('style.css'),
  };
  const into = join(folder, 'console');
  mkdirSync(into, { recursive: true });
  const listed = Object.entries(files).map(([file, bytes]) => {
    writeFileSync(join(into, file), bytes);
    const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    const path = file === 'index.html' ? '/' : `/console/${file}`;
    return [path, { file, type: TYPES[file], etag: `"${digest}"` }];
  });
  writeFileSync(join(into, 'files.json'), JSON.stringify(Object.fromEntries(listed)));
}
