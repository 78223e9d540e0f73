// Writes examples/models, a model repository in Triton's layout. Deterministic: run again, nothing
// changes. Needs `npm run build:ts` first. Build time only.
//   node scripts/make-examples.mjs [folder]
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exampleModels } from './example-models.mjs';
import * as onnx from '../dist/onnx/builder.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2] ?? join(root, 'examples', 'models');

for (const [folder, model] of exampleModels(onnx)) {
  const path = join(out, folder, 'model.onnx');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, onnx.encodeModel(model));
  process.stdout.write(`${path}\n`);
}
