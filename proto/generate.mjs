// Writes the code that both languages share from engine.fbs, plan.fbs, stages/, the .mjs files with
// rows of options and limits, and gRPC's status codes in wire/, the reader of tflite.fbs, and the
// table of stages in docs/reference/tabular-plan.md. Run by hand after a change to one
// (`npm run generate`); with --check it compares instead and exits 1 when a file is stale. Needs
// flatc 2.0.8 or newer (Debian: flatbuffers-compiler). Control plane, build time only.
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
import { writeAttachHeader, writeAttachModule } from './attach-options.mjs';
import { splitHeader, writeStructs } from './engine-cpp.mjs';
import { readSchema } from './engine-schema.mjs';
import { writeTypeScript } from './engine-typescript.mjs';
import { writeLimitsModule } from './limits.mjs';
import { writeGrpcHeader, writeGrpcModule } from './messages/grpc-codes.mjs';
import { writeOptionsHeader, writeOptionsModule } from './runtime-options.mjs';
import { writeFunctionsHeader, writeStagesHeader } from './stages-cpp.mjs';
import {
  writeFunctionsModule,
  writeStagesModule,
  writeVersionModule,
} from './stages-typescript.mjs';
import { readStages, writeStagesTable } from './stages.mjs';
import { writeLiteReader } from './tflite-typescript.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const out = mkdtempSync(join(tmpdir(), 'serval-generate-'));

const native = join(root, 'native', 'base', 'generated');
// For each schema: its namespace within serval's, and the files of TypeScript's types and tables.
const SCHEMAS = [
  ['engine', 'fb', 'ts/base/generated/engine.ts', 'ts/engine/generated/flat-tables.ts'],
  [
    'plan',
    'plan',
    'ts/importers/plan/generated/plan.ts',
    'ts/importers/plan/generated/flat-tables.ts',
  ],
];
const files = new Map();

function generate([name, space, typesPath, tablesPath]) {
  const path = join(root, 'proto', `${name}.fbs`);
  const schema = readSchema(readFileSync(path, 'utf8'));
  if (name === 'engine') {
    files.set(join(native, 'engine_structs.h'), writeStructs(schema.enums, schema.tables));
  }
  const [types, rows] = writeTypeScript(schema, name);
  files.set(join(root, typesPath), types);
  files.set(join(root, tablesPath), rows);
  execFileSync('flatc', ['--cpp', '--scoped-enums', '-o', out, path]);
  const header = readFileSync(join(out, `${name}_generated.h`), 'utf8');
  for (const [file, text] of splitHeader(header, name, space)) files.set(join(native, file), text);
}

try {
  SCHEMAS.forEach(generate);
} catch (error) {
  console.error(`generate: failed (apt-get install flatbuffers-compiler): ${error.message}`);
  process.exit(2);
} finally {
  rmSync(out, { recursive: true, force: true });
}

const lite = join(root, 'ts/importers/tensorflow/lite/generated/schema.ts');
files.set(lite, writeLiteReader(readFileSync(join(root, 'proto', 'tflite.fbs'), 'utf8')));
files.set(join(native, 'attach_options.h'), writeAttachHeader());
files.set(join(root, 'ts/base/generated/attach-options.ts'), writeAttachModule());
files.set(join(native, 'grpc_code.h'), writeGrpcHeader());
files.set(join(root, 'ts/base/generated/grpc-code.ts'), writeGrpcModule());
files.set(join(root, 'ts/base/generated/native-limits.ts'), writeLimitsModule(root));
files.set(join(native, 'runtime_options.h'), writeOptionsHeader());
files.set(join(root, 'ts/model/generated/runtime-options.ts'), writeOptionsModule());

const stages = readStages(join(root, 'proto'));
files.set(join(root, 'native/tabular/generated/stages.h'), writeStagesHeader(stages));
files.set(join(root, 'native/tabular/generated/functions.h'), writeFunctionsHeader(stages));
files.set(join(root, 'ts/importers/plan/generated/stages.ts'), writeStagesModule(stages));
files.set(join(root, 'ts/importers/plan/generated/functions.ts'), writeFunctionsModule(stages));
files.set(join(root, 'ts/base/generated/plan-version.ts'), writeVersionModule(stages));

// The document whose generated part is between two marks.
const DOCUMENT = join(root, 'docs/reference/tabular-plan.md');
const MARKS = /(<!-- stages: generated from proto\/stages -->\n\n)[^]*(<!-- stages end -->)/;
const written = readFileSync(DOCUMENT, 'utf8');
if (!MARKS.test(written)) throw new Error(`${DOCUMENT} has no marks for the table of stages`);
const table = writeStagesTable(stages);
const documents = new Map([
  [DOCUMENT, written.replace(MARKS, (_, start, end) => `${start}${table}\n${end}`)],
]);

let stale = 0;
function report(path) {
  stale += 1;
  if (check) console.error(`generate: stale: ${path.slice(root.length + 1)}`);
}

function keep(path, text) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  report(path);
  if (check) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

for (const [path, text] of files) {
  const folder = dirname(path);
  const others = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  for (const other of others.filter((name) => !files.has(name))) {
    report(other);
    if (!check) rmSync(other, { recursive: true });
  }
  keep(path, text);
}
for (const [path, text] of documents) keep(path, text);
if (check && stale > 0) process.exit(1);
