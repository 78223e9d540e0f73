// Explanations of Spark's trees against `shap` (test/fixtures/explained): Shapley values of single
// trees, forests and boosted trees, the expected value, and sums that equal what Spark predicts.
// SERVAL_EXPLAINED_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { withBackground } from '../../../../ts/importers/plan/background.js';
import { importSpark } from '../../../../ts/importers/spark/index.js';
import { startServer } from '../../../e2e/support/serval-process.js';
import { runPlan } from '../../../unit/importers/plan/run-plan.js';
import { goldenCases, goldenFolder } from '../../golden-folder.js';
import { flat } from '../boosters/golden-case.js';

interface Golden {
  readonly columns: Readonly<Record<string, readonly (number | string)[]>>;
  readonly prediction: readonly number[];
  readonly probability?: readonly (readonly number[])[];
  readonly raw?: readonly (readonly number[])[];
  /** By row, score and feature. */
  readonly shap: readonly (readonly (readonly number[])[])[];
  readonly expected: readonly number[];
}

const NO_GOLDENS = 'no goldens: nothing to make them with, no folder is given';
const NEAR = 1e-9;
const NAMES = ['a', 'b', 'c', 'd'];
/** The names of the features that a pipeline assembles with one for each category. */
const WITH_KINDS = ['a', 'hot_blue', 'hot_green', 'hot_grey', 'hot_red', 'b', 'c', 'd'];

const folder = goldenFolder('explained');

describe('explanations of Spark models', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = goldenCases(folder);
  test('all are there', () => assert.ok(names.length >= 16, `${names.length} cases`));
  for (const name of names) {
    test(name, async () => {
      const text = readFileSync(join(folder, name, 'case.json'), 'utf8');
      await check(join(folder, name, 'model'), JSON.parse(text) as Golden, /kinds/.test(name));
    });
  }
});

const spark = goldenFolder('spark');

test('one-vs-rest over linear models', { skip: spark === undefined && NO_GOLDENS }, async () => {
  const made = join(spark ?? '', 'one_vs_rest');
  const golden = JSON.parse(readFileSync(join(made, 'case.json'), 'utf8')) as {
    readonly fields: readonly { readonly name: string }[];
    readonly rows: readonly (readonly unknown[])[];
    readonly expected: { readonly rawPrediction: readonly (readonly number[])[] };
  };
  const at = golden.fields.findIndex(({ name }) => name === 'features');
  const vectors = golden.rows.map((row) => row[at]);
  const { plan } = await importSpark(join(made, 'model'));
  const header = ['features'];
  const background = { header, rows: vectors.map((vector) => [JSON.stringify(vector)]) };
  const fit = withBackground(plan, background, 'background.csv');
  const features = { type: 'vector', values: vectors } as const;
  const outputs = ['shap_values', 'expected_value'];
  const { columns } = runPlan(fit, { features }, { outputs });
  const raws = golden.expected.rawPrediction;
  const means = [0, 1, 2].map(
    (k) => raws.reduce((sum, raw) => sum + (raw[k] ?? 0), 0) / raws.length,
  );
  for (const [row, raw] of raws.entries()) {
    near(flat([columns['expected_value']?.[row]]), means);
    const values = flat([columns['shap_values']?.[row]]);
    const sums = means.map((mean, k) =>
      values.filter((_, i) => i % 3 === k).reduce((sum, value) => sum + value, mean),
    );
    near(sums, raw);
  }
});

test('explain names the features', { skip: folder === undefined && NO_GOLDENS }, async () => {
  const models = mkdtempSync(join(tmpdir(), 'serval-explained-'));
  const name = 'forest_three_kinds';
  const made = join(folder ?? '', name);
  cpSync(join(made, 'model'), join(models, name, '1'), { recursive: true });
  const { columns, shap } = JSON.parse(readFileSync(join(made, 'case.json'), 'utf8')) as Golden;
  const server = await startServer([models]);
  try {
    const fields = Object.entries(columns).map(([field, values]) => [field, values[0]]);
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/v1/models/${name}:explain`, {
      method: 'POST',
      body: JSON.stringify({ instances: [Object.fromEntries(fields)] }),
    });
    assert.equal(response.status, 200);
    const answer = (await response.json()) as {
      readonly explanations: readonly { readonly shap_values: readonly (readonly number[])[] }[];
      readonly feature_names: readonly string[];
    };
    assert.deepEqual(answer.feature_names, WITH_KINDS);
    const scores = shap[0] ?? [];
    const wanted = WITH_KINDS.flatMap((_, at) => scores.map((values) => values[at] ?? 0));
    near(flat(answer.explanations[0]?.shap_values), wanted);
  } finally {
    await server.stop();
    rmSync(models, { recursive: true, force: true });
  }
});

async function check(path: string, golden: Golden, hasKinds: boolean): Promise<void> {
  const { plan, features = [] } = await importSpark(path);
  assert.deepEqual(features, hasKinds ? WITH_KINDS : NAMES);
  const rows = golden.prediction.length;
  const fields = Object.entries(golden.columns).map(([name, values]) => {
    const type = typeof values[0] === 'string' ? 'string' : 'double';
    return [name, { type, values }] as const;
  });
  const asked = ['shap_values', 'expected_value', 'leaf_indices', 'tree_margins'];
  const outputs = [...asked, 'prediction', ...(golden.raw === undefined ? [] : ['probability'])];
  const answer = runPlan(plan, Object.fromEntries(fields), { rows, outputs }).columns;
  for (let row = 0; row < rows; row += 1) {
    const values = flat([answer['shap_values']?.[row]]);
    const base = flat([answer['expected_value']?.[row]]);
    const scores = base.length;
    const wanted = scoresOf(golden, row, scores);
    near(base.length === golden.expected.length ? base : base.slice(-1), golden.expected);
    const theirs = golden.shap[row] ?? [];
    // shap has the second score of boosted trees for two classes, which is the first's negative.
    const skipped = scores - theirs.length;
    for (let score = 0; score < scores; score += 1) {
      const own = values.filter((_, at) => at % scores === score);
      assert.equal(own.length, features.length);
      near([own.reduce((sum, value) => sum + value, base[score] ?? 0)], [wanted[score] ?? 0]);
      if (score >= skipped) near(own, theirs[score - skipped] ?? []);
      else
        near(
          own.map((value) => -value),
          theirs[0] ?? [],
        );
    }
    const margins = flat([answer['tree_margins']?.[row]]);
    const leaves = flat([answer['leaf_indices']?.[row]]);
    assert.equal(margins.length, leaves.length * scores);
    assert.ok(leaves.every(Number.isInteger));
  }
}

/** The sums of a row's values and the expected value, by score. */
function scoresOf({ prediction, probability, raw }: Golden, row: number, scores: number) {
  const isBoosted = raw !== undefined && isOpposite(raw);
  if (isBoosted) return raw[row] ?? [];
  if (probability !== undefined) return probability[row] ?? [];
  assert.equal(scores, 1);
  return [prediction[row] ?? Number.NaN];
}

/** Boosted trees have a margin for one class, and its negative for the other. */
const isOpposite = (raw: readonly (readonly number[])[]): boolean =>
  raw.every(([first = 0, second = 1]) => first === -second);

function near(got: readonly number[], wanted: readonly number[]): void {
  assert.equal(got.length, wanted.length);
  wanted.forEach((one, at) => {
    const own = got[at] ?? Number.NaN;
    assert.ok(Math.abs(own - one) <= NEAR, `number ${at}: expected ${one}, got ${own}`);
  });
}
