// Boosters saved by xgboost.spark, and their results (test/fixtures/tabular/xgboost/stages.json,
// written by make_stages.py beside it).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { EXPLANATIONS } from '../../../../ts/model/explanation-names.js';
import { lowerSpark } from '../../../../ts/importers/spark/index.js';
import { runPlan } from '../plan/run-plan.js';
import { openFiles } from './support/model.js';

const EXPLAINED: ReadonlySet<string> = new Set(EXPLANATIONS);

interface Saved {
  readonly files: Readonly<Record<string, string>>;
  readonly answers: Readonly<Record<string, readonly unknown[]>>;
}

const { rows, ...MODELS } = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'xgboost', 'stages.json'), 'utf8'),
) as Readonly<Record<'many' | 'two' | 'real', Saved>> & {
  readonly rows: readonly (readonly (number | null)[])[];
};
const { many, two, real } = MODELS;

const lowered = (files: Readonly<Record<string, string>>) =>
  lowerSpark(
    openFiles(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]))),
  );

/** Compares floats, whose last digits depend on the math library. */
function near(got: unknown, expected: unknown, where: string): void {
  if (Array.isArray(expected)) {
    expected.forEach((value, i) => near((got as unknown[])[i], value, `${where}, ${i}`));
    return;
  }
  const difference = Math.abs((got as number) - (expected as number));
  const isNear = difference <= 2 ** -21 * Math.abs(expected as number);
  assert.ok(isNear, `${where}: got ${String(got)}, expected ${String(expected)}`);
}

describe('models of xgboost.spark', () => {
  const features = rows.map((row) => row.map((value) => value ?? Number.NaN));
  for (const [name, { files, answers }] of Object.entries(MODELS)) {
    test(name, async () => {
      const { plan } = await lowered(files);
      const outputs = Object.keys(answers);
      const shown = plan.outputs.map(({ name }) => name).filter((name) => !EXPLAINED.has(name));
      assert.deepEqual(shown.sort(), [...outputs].sort());
      const { columns } = runPlan(plan, { features }, { outputs });
      for (const [column, expected] of Object.entries(answers)) {
        near(columns[column], expected, column);
      }
    });
  }

  test('explanations are those of the booster alone', async () => {
    for (const { files } of Object.values(MODELS)) {
      const { plan, features: names } = await lowered(files);
      assert.deepEqual(names, []);
      const booster = importBytes(Buffer.from(files['model/part-00000'] ?? ''), 'model').plan;
      const fields = booster.fields.map(
        ({ name }, i) => [name, { type: 'float', values: features.map((row) => row[i]) }] as const,
      );
      const outputs = ['shap_values', 'expected_value', 'tree_margins'];
      const { columns: own } = runPlan(booster, Object.fromEntries(fields), { outputs });
      assert.deepEqual(runPlan(plan, { features }, { outputs }).columns, own);
    }
  });

  test('classes are the same, and all are there', async () => {
    const { plan } = await lowered(many.files);
    const { columns } = runPlan(plan, { features });
    assert.deepEqual(columns['prediction'], many.answers['prediction']);
    assert.equal(new Set(columns['prediction']).size, 3);
  });
});

/** The same model with other parameters in the metadata. */
function changed(
  { files }: Saved,
  change: (text: string) => string,
  part = 'metadata/part-00000',
): Readonly<Record<string, string>> {
  const text = files[part] ?? '';
  const made = change(text);
  assert.notEqual(made, text);
  return { ...files, [part]: made };
}

const withParams = (saved: Saved, params: string) =>
  lowered(changed(saved, (text) => text.replace('"paramMap":{', `"paramMap":{${params},`)));

test('features as columns of numbers', async () => {
  const { plan } = await lowered(
    changed(real, (text) =>
      text.replace('"paramMap":{', '"paramMap":{"features_cols":["a","b","c"],'),
    ),
  );
  const at = (i: number) => rows.map((row) => row[i] ?? Number.NaN);
  const { columns } = runPlan(plan, { a: at(0), b: at(1), c: at(2) });
  near(columns['prediction'], real.answers['prediction'], 'prediction');
});

test('a booster that was stopped early answers with its best rounds', async () => {
  const best = (text: string) =>
    text.replace('"attributes":{}', '"attributes":{"best_iteration":"0"}');
  const model = 'model/part-00000';
  const { plan } = await lowered(changed(real, best, model));
  const all = runPlan((await lowered(real.files)).plan, { features: [[1, 1, 1]] });
  const { columns } = runPlan(plan, { features: [[1, 1, 1]] });
  assert.notDeepEqual(columns['prediction'], all.columns['prediction']);
  const worse = (text: string) =>
    text.replace('"attributes":{}', '"attributes":{"best_iteration":"77"}');
  await assert.rejects(lowered(changed(real, worse, model)), /model: round 77/);
});

test('reports unsupported parameters', async () => {
  await assert.rejects(withParams(two, '"base_margin_col":"m"'), /base_margin_col is not supp/);
  await assert.rejects(withParams(two, '"iteration_range":[0,1]'), /iteration_range is not supp/);
  await assert.rejects(withParams(two, '"missing":0.0'), /missing is 0: expected NaN/);
  await assert.rejects(
    lowered(
      changed(
        two,
        (text) => text.replaceAll('binary:logistic', 'binary:hinge'),
        'model/part-00000',
      ),
    ),
    /the objective 'binary:hinge' is not supported/,
  );
  await assert.rejects(
    lowered(
      changed(two, (text) =>
        text.replace(
          'xgboost.spark.estimator.SparkXGBClassifierModel',
          'ml.dmlc.xgboost4j.scala.spark.XGBoostClassificationModel',
        ),
      ),
    ),
    /differ between its versions; save it from Python/,
  );
  const { 'model/part-00000': _, ...none } = two.files;
  await assert.rejects(lowered(none), /model has no part-\* file/);
});
