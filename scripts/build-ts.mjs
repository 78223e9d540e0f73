// Compiles ts/ to dist/, bundles it into dist/bundle/ with the package's types, and removes from
// dist what no longer has a source. Build time only.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './build-native.mjs';
import { bundle } from './bundle.mjs';
import { beginBuild } from './packaging/record/built.mjs';
import { writeTypes } from './packaging/write-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const bundled = join(dist, 'bundle');

function removeOrphans() {
  if (!existsSync(dist)) return;
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (!entry.isFile() || !path.endsWith('.js') || path.startsWith(bundled)) continue;
    const source = join(root, 'ts', relative(dist, path)).replace(/\.js$/, '.ts');
    if (!existsSync(source)) rmSync(path);
  }
}

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
if (!existsSync(tsc)) {
  process.stderr.write('build-ts: typescript is missing: run `npm ci` with devDependencies\n');
  process.exit(1);
}
const finished = beginBuild('ts');
if (!run(process.execPath, [tsc, '-p', 'tsconfig.json'])) process.exit(1);
if (!run(process.execPath, [tsc, '-p', 'ts/server/console/page/tsconfig.json'])) process.exit(1);
removeOrphans();
await bundle();
await writeTypes();
finished();
