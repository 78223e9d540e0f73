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

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const out = mkdtempSync(join(tmpdir(), 'serval-generate-'));
const schema = join(root, 'proto', 'engine.fbs');
const cppDir = join(root, 'native', 'base', 'generated');
const tsDir = join(root, 'ts', 'native', 'generated', 'serval', 'fb');

// flatc 2.0.8 imports by paths that Node's modules refuse, and strict settings refuse its style.
function mendTypeScript(text, name) {
  const flat = (path) => `from '${path.replace(/^.*serval\/fb\//, './')}.js'`;
  const mended = text.replace(/from '(\.[^']*)'/g, (_, path) => flat(path));
  const origin = `generated from proto/engine.fbs by proto/generate.mjs (${name})`;
  return `// @ts-nocheck: ${origin}.\n${mended}`;
}

const files = new Map();
try {
  execFileSync('flatc', ['--cpp', '--scoped-enums', '-o', out, schema]);
  const header = readFileSync(join(out, 'engine_generated.h'), 'utf8');
  files.set(join(cppDir, 'engine_generated.h'), header);
  const tsOut = join(out, 'ts');
  mkdirSync(tsOut);
  execFileSync('flatc', ['--ts', '-o', tsOut, schema]);
  const generated = join(tsOut, 'serval', 'fb');
  for (const name of readdirSync(generated)) {
    const text = readFileSync(join(generated, name), 'utf8');
    files.set(join(tsDir, name), mendTypeScript(text, name));
  }
} catch (error) {
  console.error(`generate: flatc failed (apt-get install flatbuffers-compiler): ${error.message}`);
  process.exit(2);
} finally {
  rmSync(out, { recursive: true, force: true });
}

let stale = 0;
for (const [path, text] of files) {
  const current = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (current === text) continue;
  stale += 1;
  if (check) {
    console.error(`generate: stale: ${path.slice(root.length + 1)}`);
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
if (check && stale > 0) process.exit(1);
