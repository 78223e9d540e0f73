// npm's `dependencies` step, which builds the server after a plain `npm install` of a checkout, and
// the first half of `prepack`. Nothing is built if what is built is current. npm runs neither when
// the package itself is installed: its contents
// are built already (docs/decisions/0009). `make` installs with --ignore-scripts and builds
// separately, so nothing is built twice. Build time only.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './build-native.mjs';
import { staleReason } from './packaging/record/built.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const has = (...path) => existsSync(join(root, ...path));

/** The build of each part. */
const SCRIPTS = { native: 'build-native.mjs', ts: 'build-ts.mjs' };

function main() {
  const stale = Object.keys(SCRIPTS).flatMap((part) => {
    const reason = staleReason(part);
    return reason === undefined ? [] : [{ part, reason }];
  });
  if (stale.length === 0) return 0;
  if (!has('node_modules', '@nozbe', 'simdjson') || !has('node_modules', 'typescript')) {
    process.stderr.write(
      'serval: building a checkout needs its devDependencies: run `npm install` ' +
        'without --omit=dev, or use the package that `npm pack` or `make package` writes\n',
    );
    return 1;
  }
  if (!run(join(root, 'scripts', 'ensure-tools.sh'), ['build'])) return 1;
  for (const { part, reason } of stale) {
    process.stderr.write(`serval: building ${part}: ${reason}\n`);
    if (!run(process.execPath, [join('scripts', SCRIPTS[part])])) return 1;
  }
  return 0;
}

process.exit(main());
