// Writes examples/models, a model repository in Triton's layout. Deterministic: a second run
// changes nothing. Needs `npm run build:ts` first. Build time only.
// node scripts/make-examples.mjs [folder]
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exampleModels } from './example-models.mjs';
import { tabularExamples } from './tabular/examples.mjs';
import * as onnx from '../dist/importers/onnx/builder.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2] ?? join(root, 'examples', 'models');

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  process.stdout.write(`${path}\n`);
}

for (const [folder, model] of exampleModels(onnx)) {
  write(join(out, folder, 'model.onnx'), onnx.encodeModel(model));
}
for (const [path, content] of tabularExamples()) write(join(out, path), content);
