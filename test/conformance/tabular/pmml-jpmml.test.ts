// Small documents for cases that the standard leaves open give the results of JPMML-Evaluator 1.7.6
// (test/fixtures/tabular/jpmml): scores that are NaN, trees, rule sets, Apply's treatments, -0.0,
// derived fields that cannot be computed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { type GoldenCase, checkGolden } from './golden-check.js';

const LEAST = 450;
/** With these strategies JPMML evaluates complete rows of trees and refuses all others. */
const UNSUPPORTED =
  /^UnsupportedAttributeException: Attribute with value TreeModel@missingValueStrategy/;

const folder = goldenFolder('jpmml');
const skip =
  folder === undefined && 'no goldens: nothing to make them with, no SERVAL_JPMML_GOLDENS';

describe('documents as JPMML-Evaluator answers them', { skip }, () => {
  if (folder === undefined) return;
  const names = goldenCases(folder);
  test('all are there', () => assert.ok(names.length >= LEAST, `${names.length} documents`));
  for (const name of names) {
    test(name, async () => {
      const { plan } = await importPmml(join(folder, name, 'model.pmml'));
      const golden = readFileSync(join(folder, name, 'case.json'), 'utf8');
      checkGolden(plan, JSON.parse(golden) as GoldenCase, { unsupported: UNSUPPORTED });
    });
  }
});
