// Shapley values of scikit-learn's models, XGBoost's and LightGBM's, and of the PMML documents that
// JPMML makes of them (test/fixtures/shapley): the same as those of `shap` and of the libraries,
// along the paths of trees and relative to a background set. With the expected value they add up to
// the prediction.
// SERVAL_SHAPLEY_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBooster } from '../../../ts/importers/boosters/index.js';
import { readBackground, withBackground } from '../../../ts/importers/plan/background.js';
import type { Plan } from '../../../ts/importers/plan/generated/plan.js';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import { importSklearn } from '../../../ts/importers/sklearn/index.js';
import { startServer } from '../../e2e/support/serval-process.js';
import { PlanError, runPlan } from '../../unit/importers/plan/run-plan.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { columnsOf, flat } from './boosters/golden-case.js';

interface Explained {
  /** By row, score and feature. */
  readonly values: readonly (readonly (readonly number[])[])[];
  readonly expected: readonly number[];
}

interface Golden {
  readonly columns: Readonly<Record<string, readonly (number | string | null)[]>>;
  readonly features: readonly string[];
  /** By row and score. */
  readonly predicted: readonly (readonly number[])[];
  /** By row and tree. */
  readonly leaves?: readonly (readonly number[])[];
  readonly path?: Explained;
  readonly interventional?: Explained;
}

const NO_GOLDENS = 'no goldens: nothing to make them with, no folder is given';
/** The tolerance by the kind of a file: sums of XGBoost, also in documents, are floats. */
const NEAR = { skops: 1e-9, ubj: 1e-6, lgb: 1e-9, pmml: 1e-6 } as const;
/** Relative to a background set, shap's own weights are floats. */
const RELATIVE_NEAR = 1e-6;
const OUTPUTS = ['shap_values', 'expected_value', 'leaf_indices', 'tree_margins'];
/** Linear models have no trees. */
const SUMS = OUTPUTS.slice(0, 2);
const BACKGROUND = 'background.csv';

const folder = goldenFolder('shapley');

describe('Shapley values', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = goldenCases(folder);
  test('all are there', () => assert.ok(names.length >= 60, `${names.length} cases`));
  for (const name of names) test(name, async () => check(join(folder, name), name));
});

test('explain on a server', { skip: folder === undefined && NO_GOLDENS }, async () => {
  const models = mkdtempSync(join(tmpdir(), 'serval-shapley-'));
  const from = join(folder ?? '', 'pipeline_people');
  const name = 'people';
  cpSync(join(from, 'model.skops'), join(models, name, '1', 'model.skops'), { recursive: true });
  cpSync(join(from, BACKGROUND), join(models, name, BACKGROUND));
  const parameter = `key: "explain_background" value { string_value: "${BACKGROUND}" }`;
  const config = `platform: "sklearn_skops" parameters { ${parameter} }`;
  writeFileSync(join(models, name, 'config.pbtxt'), config);
  const golden = JSON.parse(readFileSync(join(from, 'case.json'), 'utf8')) as Golden;
  const server = await startServer([models]);
  try {
    const fields = Object.entries(golden.columns);
    const instances = golden.predicted.map((_, row) =>
      Object.fromEntries(fields.map(([field, values]) => [field, values[row]])),
    );
    const url = `http://127.0.0.1:${server.httpPort}/v1/models/${name}:explain`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ instances }) });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const answer = JSON.parse(text) as {
      readonly explanations: readonly { readonly shap_values: readonly (readonly number[])[] }[];
      readonly feature_names: readonly string[];
    };
    assert.deepEqual(answer.feature_names, golden.features);
    answer.explanations.forEach(({ shap_values: own }, row) => {
      const wanted = golden.interventional?.values[row] ?? [];
      wanted.forEach((values, score) => {
        const mine = own.map((scores) => scores[score] ?? Number.NaN);
        assertNear(mine, values, RELATIVE_NEAR, `row ${row}, score ${score}`);
      });
    });
  } finally {
    await server.stop();
    rmSync(models, { recursive: true, force: true });
  }
});

async function check(path: string, name: string): Promise<void> {
  const golden = JSON.parse(readFileSync(join(path, 'case.json'), 'utf8')) as Golden;
  const file = readdirSync(path).find((one) => one.startsWith('model.')) ?? '';
  const kind = file.slice('model.'.length) as keyof typeof NEAR;
  const model = join(path, file);
  const { plan, features } = await imported(model, kind);
  assert.deepEqual(features, golden.features);
  const near = NEAR[kind];
  if (golden.path !== undefined) compare(run(plan, golden), golden.path, golden, near, name);
  else if (kind === 'skops') {
    assert.throws(
      () => run(plan, golden),
      (error) => {
        assert.ok(error instanceof PlanError);
        assert.match(error.message, /means of the features.*explain_background/);
        return true;
      },
    );
  }
  if (golden.interventional === undefined) return;
  const background = join(path, BACKGROUND);
  assert.ok(existsSync(background));
  const relative = withBackground(plan, await readBackground(background), background);
  const nearest = Math.max(near, RELATIVE_NEAR);
  compare(run(relative, golden), golden.interventional, golden, nearest, `${name}, relative`);
}

async function imported(
  path: string,
  kind: string,
): Promise<{ readonly plan: Plan; readonly features: readonly string[] }> {
  if (kind === 'skops') {
    const { plan, features = [] } = await importSklearn(path);
    return { plan, features };
  }
  if (kind === 'pmml') {
    const { plan, features = [] } = await importPmml(path);
    return { plan, features };
  }
  const { plan } = await importBooster(path);
  return { plan, features: plan.fields.map(({ name }) => name) };
}

type Columns = Readonly<Record<string, readonly unknown[]>>;

function run(plan: Plan, golden: Golden): Columns {
  const hasTrees = plan.outputs.some(({ name }) => name === 'leaf_indices');
  const rows = golden.predicted.length;
  const outputs = hasTrees ? OUTPUTS : SUMS;
  return runPlan(plan, columnsOf(plan, golden), { rows, outputs }).columns;
}

function compare(
  columns: Columns,
  { values, expected }: Explained,
  { predicted, features, leaves }: Golden,
  near: number,
  place: string,
): void {
  for (const [row, scores] of predicted.entries()) {
    const at = `${place}, row ${row}`;
    const own = flat([columns['shap_values']?.[row]]);
    const base = flat([columns['expected_value']?.[row]]);
    assert.equal(own.length, features.length * base.length, at);
    if (leaves !== undefined) assert.deepEqual(columns['leaf_indices']?.[row], leaves[row], at);
    assertNear(base, expected, near, `${at}, expected value`);
    for (const [score, wanted] of (values[row] ?? []).entries()) {
      const mine = own.filter((_, i) => i % base.length === score);
      assertNear(mine, wanted, near, `${at}, score ${score}`);
      const sum = mine.reduce((total, value) => total + value, base[score] ?? 0);
      if (!place.startsWith('isolation')) assertNear([sum], [scores[score] ?? 0], near, at);
    }
  }
}

function assertNear(
  got: readonly number[],
  wanted: readonly number[],
  near: number,
  place: string,
): void {
  assert.equal(got.length, wanted.length, place);
  for (const [i, one] of wanted.entries()) {
    const apart = Math.abs((got[i] ?? Number.NaN) - one);
    assert.ok(apart <= near, `${place}, number ${i}: expected ${one}, got ${got[i]}`);
  }
}
