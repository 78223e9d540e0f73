// Small documents about what JPMML-Evaluator 1.7.6 does where the standard is silent answer as it
// does (test/fixtures/tabular/jpmml): scores that are NaN, trees, rule sets, Apply's treatments,
// -0.0, derived fields that cannot be computed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { type GoldenCase, checkGolden } from './golden-check.js';

const LEAST = 450;
/** JPMML answers complete rows of trees with these strategies, and has no answer to others. */
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
