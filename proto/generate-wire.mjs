// Writes the server's code for the messages in proto/wire: the descriptors that server reflection
// returns, the schemas for reading and writing whole messages, and the numbers of fields for code
// that reads and writes them one by one. Run by hand after a change there (`npm
// run generate`); with --check it compares instead and exits 1 when a file is stale. Control plane,
// build time only.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { descriptorFiles } from './messages/descriptors.mjs';
import { CPP_FOLDER, TYPESCRIPT_FOLDER, fieldFiles } from './messages/fields.mjs';
import { SCHEMAS_FOLDER, schemaFiles } from './messages/schemas.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const stale = [];

const files = new Map([...descriptorFiles(), ...schemaFiles(), ...fieldFiles()]);
for (const [path, text] of files) {
  const at = join(root, path);
  if (existsSync(at) && readFileSync(at, 'utf8') === text) continue;
  stale.push(path);
  if (check) continue;
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
}
for (const folder of new Set([CPP_FOLDER, SCHEMAS_FOLDER, TYPESCRIPT_FOLDER])) {
  if (!existsSync(join(root, folder))) continue;
  for (const name of readdirSync(join(root, folder))) {
    const path = `${folder}/${name}`;
    if (files.has(path)) continue;
    stale.push(path);
    if (!check) rmSync(join(root, path));
  }
}
if (check && stale.length > 0) {
  process.stderr.write(stale.map((path) => `generate-wire: stale: ${path}\n`).join(''));
  process.exit(1);
}
