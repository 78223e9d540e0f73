// Random damage to files of each form that the readers of boosters know: a mutant loads, or is
// refused with the importer's error; it never takes long or needs much memory. The seed is fixed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { documentOf, jsonOf, LIGHTGBM, LINEAR, planOf, surviveDamage, TREE } from './support.js';
import { ubjOf } from './ubj.js';

const ROUNDS = 1500;
const BUDGET_MS = 4000;
const TEXTS = ['-1', '1e999', 'nan', ' ', '\n', '=', '0', '999999999', '[', '{', '"', '2147483648'];
/** Lengths and markers of Universal Binary JSON, numbers of 32 and 64 bits. */
const BYTES = [
  ...[
    'L\u007f\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff',
    '[$D#L\0\0\0\0\u0001\0\0\0',
    '{',
    '[',
    'Z',
  ],
  ...['\u00ff\u00ff\u00ff\u007f', '\0\0\0\u0080', '\u00ff\u00ff\u00ff\u00ff', '\u0001\0\0\0'],
];

const saved = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'xgboost', 'boosters.json'), 'utf8'),
) as readonly { readonly objective: string; readonly model: object }[];
const SOFTMAX = documentOf({
  objective: 'multi:softprob',
  parameters: { num_class: '2' },
  trees: [TREE, TREE],
  groups: [0, 1],
});
const FRAME = LIGHTGBM.replace(
  'pandas_categorical:null',
  `pandas_categorical:${JSON.stringify([Array.from({ length: 34 }, (_, i) => `w${i}`)])}`,
);
const FILES: Readonly<Record<string, readonly [Buffer, readonly string[]]>> = {
  'JSON of XGBoost': [jsonOf(SOFTMAX), TEXTS],
  'UBJ of XGBoost': [ubjOf(SOFTMAX), BYTES],
  'LightGBM, linear trees': [Buffer.from(LINEAR), TEXTS],
  'LightGBM, categories of a frame': [Buffer.from(FRAME), TEXTS],
  ...Object.fromEntries(
    saved.map(
      ({ objective, model }, i) => [`UBJ ${i}, ${objective}`, [ubjOf(model), BYTES]] as const,
    ),
  ),
};

describe('mutants of boosters', () => {
  for (const [name, [file, words]] of Object.entries(FILES)) {
    test(name, () => {
      assert.ok(planOf(file).outputs.length > 0);
      surviveDamage(file, ROUNDS, words, BUDGET_MS / Math.max(1, saved.length / 4));
    });
  }
});
