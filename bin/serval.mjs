#!/usr/bin/env node
// Starts the command line of dist/main.js. Control plane; does nothing else.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const entry = new URL('../dist/main.js', import.meta.url);
if (existsSync(fileURLToPath(entry))) {
  const { main } = await import(entry.href);
  await main(process.argv.slice(2));
} else {
  process.stderr.write('serval: not built yet: run `make build` (npm ci && npm run build)\n');
  process.exitCode = 1;
}
