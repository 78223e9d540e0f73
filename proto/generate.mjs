// Writes the code that both languages share from engine.fbs. Run by hand after a change to the
// schema (`npm run generate`); with --check it compares instead and exits 1 when a file is stale.
// Needs flatc 2.0.8 or newer (Debian: flatbuffers-compiler). Control plane, build time only.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { splitHeader, writeStructs } from './engine-cpp.mjs';
import { readSchema } from './engine-schema.mjs';
import { writeTypeScript } from './engine-typescript.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const schema = join(root, 'proto', 'engine.fbs');
const out = mkdtempSync(join(tmpdir(), 'serval-generate-'));

const native = join(root, 'native', 'base', 'generated');
const files = new Map();
const { enums, tables } = readSchema(readFileSync(schema, 'utf8'));
files.set(join(native, 'engine_structs.h'), writeStructs(enums, tables));
const [types, rows] = writeTypeScript(enums, tables);
files.set(join(root, 'ts', 'model', 'generated', 'engine.ts'), types);
files.set(join(root, 'ts', 'native', 'generated', 'tables.ts'), rows);
try {
  execFileSync('flatc', ['--cpp', '--scoped-enums', '-o', out, schema]);
  const header = readFileSync(join(out, 'engine_generated.h'), 'utf8');
  for (const [name, text] of splitHeader(header)) files.set(join(native, name), text);
} catch (error) {
  console.error(`generate: flatc failed (apt-get install flatbuffers-compiler): ${error.message}`);
  process.exit(2);
} finally {
  rmSync(out, { recursive: true, force: true });
}

let stale = 0;
function report(path) {
  stale += 1;
  if (check) console.error(`generate: stale: ${path.slice(root.length + 1)}`);
}

for (const [path, text] of files) {
  const folder = dirname(path);
  const others = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  for (const other of others.filter((name) => !files.has(name))) {
    report(other);
    if (!check) rmSync(other, { recursive: true });
  }
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  report(path);
  if (check) continue;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, text);
}
if (check && stale > 0) process.exit(1);
