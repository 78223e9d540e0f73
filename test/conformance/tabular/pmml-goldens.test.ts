// Documents that sklearn2pmml and JPMML-SparkML write (test/fixtures/tabular/pmml, sparkml) give
// JPMML-Evaluator's results for rows with missing, invalid and extreme values, and refuse the rows
// that it refuses.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { type GoldenCase, checkGolden } from './golden-check.js';

const WRITERS = [
  { kind: 'pmml', writer: 'sklearn2pmml', least: 46, variable: 'SERVAL_PMML_GOLDENS' },
  { kind: 'sparkml', writer: 'JPMML-SparkML', least: 27, variable: 'SERVAL_SPARKML_GOLDENS' },
] as const;
/**
 * Rows with a number next to which all others vanish: instances are equally far away, and their
 * order in JPMML is that of a hash table.
 */
const TIES: Readonly<Record<string, RegExp>> = { classify_knn: /^neighbor/ };

type Row = GoldenCase['rows'][number];
const isFar = (cell: string | null): boolean => Math.abs(Number(cell ?? 0)) >= 1e9;

for (const { kind, writer, least, variable } of WRITERS) {
  const folder = goldenFolder(kind);
  const skip = folder === undefined && `no goldens: nothing to make them with, no ${variable}`;
  describe(`documents of ${writer} against JPMML`, { skip }, () => {
    if (folder === undefined) return;
    const names = goldenCases(folder);
    test('all are there', () => assert.ok(names.length >= least, `${names.length} documents`));
    for (const name of names) {
      test(name, async () => {
        const { plan } = await importPmml(join(folder, name, 'model.pmml'));
        const golden = readFileSync(join(folder, name, 'case.json'), 'utf8');
        const ties = TIES[name];
        const isTie = (row: Row, output: string) => ties?.test(output) === true && row.some(isFar);
        checkGolden(plan, JSON.parse(golden) as GoldenCase, { isTie });
      });
    }
  });
}
