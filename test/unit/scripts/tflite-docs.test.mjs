// The table of TensorFlow Lite's operators in the documents is that of the importer. Needs dist/.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { liteTable, wantedLiteDocument, withLiteTable } from '../../../scripts/tflite-ops.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('docs/reference/tflite.md lists every operator (node scripts/tflite-ops.mjs writes it)', async () => {
  const written = readFileSync(join(root, 'docs', 'reference', 'tflite.md'), 'utf8');
  assert.equal(await wantedLiteDocument(join(root, 'dist')), written);
});

test('operators with one note share a row', () => {
  const table = liteTable({ B: {}, A: {}, C: { note: 'large' } });
  assert.match(table, /3 operators[^]*\| `A`, `B` \|  \|\n\| `C` \| large \|/);
  assert.throws(() => withLiteTable('no marks', table), /no marks/);
});
