// Writes the server's code for the messages in proto/wire: the descriptors that server reflection
// returns, and the schemas for reading and writing messages. Run by hand after a change there (`npm
// run generate`); with --check it compares instead and exits 1 when a file is stale. Control plane,
// build time only.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descriptorFiles } from './messages/descriptors.mjs';
import { SCHEMAS_FOLDER, schemaFiles } from './messages/schemas.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const stale = [];

const files = new Map([...descriptorFiles(), ...schemaFiles()]);
for (const [path, text] of files) {
  const at = join(root, path);
  if (existsSync(at) && readFileSync(at, 'utf8') === text) continue;
  stale.push(path);
  if (check) continue;
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
}
for (const name of readdirSync(join(root, SCHEMAS_FOLDER))) {
  const path = `${SCHEMAS_FOLDER}/${name}`;
  if (files.has(path)) continue;
  stale.push(path);
  if (!check) rmSync(join(root, path));
}
if (check && stale.length > 0) {
  process.stderr.write(stale.map((path) => `generate-wire: stale: ${path}\n`).join(''));
  process.exit(1);
}
