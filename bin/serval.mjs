#!/usr/bin/env node
// Starts the command line: the bundle of dist/, or dist/ itself where it was only compiled. Control
// plane; does nothing else.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const entry = ['../dist/bundle/main.js', '../dist/main.js']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(fileURLToPath(url)));
if (entry !== undefined) {
  const { main } = await import(entry.href);
  await main(process.argv.slice(2));
} else {
  process.stderr.write('serval: not built yet: run `make build` (npm ci && npm run build)\n');
  process.exitCode = 1;
}
