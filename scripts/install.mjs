// npm's install step: makes a plain `npm install` of a checkout end with a server that runs. A
// package without sources has nothing to build; nor has a built checkout without devDependencies.
// `make` installs with --ignore-scripts and builds by itself, so nothing is built twice.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './build-native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const has = (...path) => existsSync(join(root, ...path));

function main() {
  if (!has('CMakeLists.txt')) return 0;
  if (!has('node_modules', '@nozbe', 'simdjson') || !has('node_modules', 'typescript')) {
    if (has('build', 'Release', 'serval.node') && has('dist', 'main.js')) return 0;
    process.stderr.write('serval: building from source needs the devDependencies: ' +
      '`npm install` without --omit=dev, or take the packaged tarball\n');
    return 1;
  }
  if (!run(join(root, 'scripts', 'ensure-tools.sh'), ['build'])) return 1;
  if (!run(process.execPath, [join('scripts', 'build-native.mjs')])) return 1;
  return run(process.execPath, [join('scripts', 'build-ts.mjs')]) ? 0 : 1;
}

process.exit(main());
