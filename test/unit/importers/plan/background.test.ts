// Background sets of explanations: CSV files, the plan's rows, and linear models relative to them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCsv } from '../../../../ts/base/csv.js';
import { BACKGROUND_ROWS_MAX } from '../../../../ts/base/limits.js';
import { withBackground } from '../../../../ts/importers/plan/background.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { documentOf, jsonOf, TREE } from '../boosters/support.js';
import { planOf } from '../spark/support/lowered.js';
import { pipeline } from '../spark/support/model.js';
import { assembler, linear, logistic } from '../spark/support/stages.js';
import { PlanError, runPlan } from './run-plan.js';

const OUTPUTS = ['shap_values', 'expected_value'];
const given = (plan: Plan, text: string): Plan => withBackground(plan, parseCsv(text), 'b.csv');

const line = (): Promise<Plan> =>
  planOf(
    pipeline(
      assembler(['a', 'b'], 'v'),
      linear([2, -1], 0.5, { featuresCol: 'v', predictionCol: 'p' }),
    ),
  );
const ROW = { a: { type: 'double', values: [3] }, b: { type: 'double', values: [4] } } as const;

describe('linear models', () => {
  test('need a background set', async () => {
    const plan = await line();
    assert.throws(
      () => runPlan(plan, ROW, { outputs: OUTPUTS }),
      (error) => {
        assert.ok(error instanceof PlanError);
        assert.match(error.message, /shap_values: .*the means of the features.*explain_background/);
        return true;
      },
    );
    assert.deepEqual(runPlan(plan, ROW, { outputs: ['p'] }).columns, { p: [2.5] });
  });

  test('are relative to the means of its rows', async () => {
    // Other columns and the order of columns do not matter; a is 1 and b 3 on average.
    const plan = given(await line(), 'label,b,a\n1,2,0\n0,4,2\n');
    const { columns } = runPlan(plan, ROW, { outputs: OUTPUTS });
    assert.deepEqual(columns, { shap_values: [[4, -1]], expected_value: [[-0.5]] });
  });

  test('of two classes have both scores', async () => {
    const model = pipeline(assembler(['a'], 'v'), logistic([2], 0.5, { featuresCol: 'v' }));
    const plan = given(await planOf(model), 'a\n1\n');
    const { columns } = runPlan(plan, { a: { type: 'double', values: [3] } }, { outputs: OUTPUTS });
    assert.deepEqual(columns, { shap_values: [[-4, 4]], expected_value: [[-2.5, 2.5]] });
  });
});

// Feature 0 below 0.5: feature 1 decides between -1.75 and 1.25 or so; else 1.5.
const tree = (): Plan =>
  importBytes(
    jsonOf(documentOf({ trees: [{ ...TREE, sum_hessian: [8, 6, 2, 3, 3] }] })),
    'model.json',
  ).plan;

test('a row has no values relative to itself', () => {
  const row = [0, 1.5];
  const plan = given(tree(), `f0,f1\n${row.join()}\n`);
  const names = plan.fields.map(({ name }) => name);
  const columns = Object.fromEntries(
    names.map((name, i) => [name, { type: 'float', values: [row[i]] }] as const),
  );
  const answer = runPlan(plan, columns, { outputs: [...OUTPUTS, 'margin'] }).columns;
  assert.deepEqual(answer['shap_values'], [[0, 0]]);
  assert.deepEqual((answer['expected_value'] as number[][])[0], answer['margin']);
});

test('missing cells are missing values', () => {
  const plan = given(tree(), 'f0,f1\n,""\nnan,"3"\n');
  assert.deepEqual(
    plan.background?.map(({ reals = [] }) => [...reals]),
    [
      [Number.NaN, Number.NaN],
      [Number.NaN, 3],
    ],
  );
});

test('errors name the file, the row and the column', async () => {
  const refused = (plan: Plan, text: string, message: RegExp): void => {
    assert.throws(() => given(plan, text), message);
  };
  refused(tree(), 'f0\n1\n', /b\.csv: background set: there is no column for 'f1'/);
  refused(tree(), 'f0,f1\n1,2\nx,2\n', /row 1, column 'f0': expected a number, got "x"/);
  refused(tree(), 'f0,f1\n', /expected 1 to 1000 rows, got 0/);
  const many = `f0,f1\n${'1,2\n'.repeat(BACKGROUND_ROWS_MAX + 1)}`;
  refused(tree(), many, /expected 1 to 1000 rows, got 1001/);
  const plan = await planOf(assembler(['a'], 'v'));
  refused(plan, 'a\n1\n', /the model has no output 'shap_values'/);
});

test('a category that requests may not have is refused, not taken as missing', () => {
  const categories = { ...TREE, split_type: [1, 0, 0, 0, 0], sum_hessian: [8, 6, 2, 3, 3] };
  const sets = { categories: [1], categories_nodes: [0], categories_segments: [0] };
  const words = { offsets: [0, 1, 2], values: [97, 98] };
  const file = documentOf({
    trees: [{ ...categories, ...sets, categories_sizes: [1] }],
    model: { cats: { enc: [words, { offsets: [], values: [] }] } },
  });
  const { plan } = importBytes(jsonOf(file), 'model.json');
  const row = {
    f0: { type: 'string', values: ['a'] },
    f1: { type: 'float', values: [0] },
  } as const;
  const run = (text: string): unknown => runPlan(given(plan, text), row, { outputs: OUTPUTS });
  assert.ok(run('f0,f1\na,1\n,1\n'));
  assert.throws(() => run('f0,f1\na,1\nx,1\n'), /background rows: .*row 1.*'x'/);
});

test('rows that the model refuses are refused at load', async () => {
  const plan = given(await line(), 'a,b\n1,2\n,2\n');
  assert.throws(() => runPlan(plan, ROW, { outputs: OUTPUTS }), /background rows: .*row 1/);
});
