#!/usr/bin/env node
// Starts the command line: the bundle of dist/, or dist/ itself where it was only compiled. Control
// plane; does nothing else.
import { createRequire } from 'node:module';

// Modules of Node by require() too: import() makes all that they can do, 3 ms for node:fs.
const require = createRequire(import.meta.url);
const { existsSync } = require('node:fs');
const { fileURLToPath } = require('node:url');
const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const bundled = fileOf('../dist/bundle/main.cjs');
const compiled = new URL('../dist/main.js', import.meta.url);
if (existsSync(bundled)) {
  await require(bundled).main(process.argv.slice(2));
} else if (existsSync(fileURLToPath(compiled))) {
  const { main } = await import(compiled.href);
  await main(process.argv.slice(2));
} else {
  process.stderr.write('serval: not built yet: run `make build` (npm ci && npm run build)\n');
  process.exitCode = 1;
}
