// Explanations of trees of PMML: by recordCount, and relative to a background set. Values are by
// hand, from the definition of Shapley values.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCsv } from '../../../../ts/base/csv.js';
import { withBackground } from '../../../../ts/importers/plan/background.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { PlanError, runPlan } from '../plan/run-plan.js';
import { dictionary, document, importText, schema } from './documents.js';

const OUTPUTS = ['shap_values', 'expected_value'];

/** x < 0.5 ? (z < 2 ? -0.25 : 0.75) : 1.5; half of the records below 0.5 have z < 2. */
function nodes(isCounted: boolean, inner: (score: number) => string = () => ''): string {
  const node = (test: string, count: number, score: number, children = ''): string =>
    `<Node score="${score}"${isCounted ? ` recordCount="${count}"` : ''}>${test}` +
    `${inner(score)}${children}</Node>`;
  const by = (field: string, operator: string, value: number): string =>
    `<SimplePredicate field="${field}" operator="${operator}" value="${value}"/>`;
  const low = node(by('z', 'lessThan', 2), 3, -0.25) + node(by('z', 'greaterOrEqual', 2), 3, 0.75);
  return node(
    '<True/>',
    8,
    9,
    node(by('x', 'lessThan', 0.5), 6, 9, low) + node(by('x', 'greaterOrEqual', 0.5), 2, 1.5),
  );
}

const FIELDS = dictionary('z:double x:double y:double');
const tree = (isCounted: boolean): string =>
  document(`${FIELDS}<TreeModel functionName="regression" splitCharacteristic="multiSplit">
    ${schema('z x > y')}${nodes(isCounted)}</TreeModel>`);
const mean = (isCounted: boolean): string => {
  const segment = `<Segment><True/><TreeModel functionName="regression">${schema('x z')}
    ${nodes(isCounted)}</TreeModel></Segment>`;
  return document(`${FIELDS}<MiningModel functionName="regression">${schema('z x > y')}
    <Segmentation multipleModelMethod="average">${segment}${segment}</Segmentation></MiningModel>`);
};

const ROWS = { z: [1, 3, 1], x: [1, 0, 0] };

function explained(plan: Plan): Readonly<Record<string, readonly unknown[]>> {
  const columns = Object.entries(ROWS).map(
    ([name, values]) => [name, { type: 'double', values }] as const,
  );
  return runPlan(plan, Object.fromEntries(columns), { outputs: [...OUTPUTS, 'y'] }).columns;
}

function near(got: unknown, wanted: readonly (readonly number[])[]): void {
  const lists = got as readonly (readonly number[])[];
  wanted.forEach((row, i) =>
    row.forEach((value, j) => {
      const own = lists[i]?.[j] ?? Number.NaN;
      assert.ok(Math.abs(own - value) < 1e-12, `row ${i}, number ${j}: ${own}, not ${value}`);
    }),
  );
}

const BASE = 0.75 * 0.25 + 0.25 * 1.5;

/** By the values of the coalitions of z alone, x alone, and both. */
function values(onlyZ: number, onlyX: number, both: number, none = BASE): readonly number[] {
  const half = (one: number, other: number): number => (one - none + both - other) / 2;
  return [half(onlyZ, onlyX), half(onlyX, onlyZ)];
}

const WANTED = [
  values(0.75 * -0.25 + 0.25 * 1.5, 1.5, 1.5),
  values(0.75 * 0.75 + 0.25 * 1.5, 0.25, 0.75),
  values(0.75 * -0.25 + 0.25 * 1.5, 0.25, -0.25),
];

describe('by recordCount', () => {
  for (const [name, text] of [
    ['a tree', tree(true)],
    ['a mean of trees', mean(true)],
  ] as const) {
    test(name, async () => {
      const { plan, features } = await importText(text);
      assert.deepEqual(features, ['z', 'x']);
      const columns = explained(plan);
      near(columns['shap_values'], WANTED);
      near(columns['expected_value'], [[BASE], [BASE], [BASE]]);
      assert.deepEqual(columns['y'], [1.5, 0.75, -0.25]);
    });
  }

  test('probabilities', async () => {
    const inner = (score: number): string =>
      `<ScoreDistribution value="a" recordCount="${score + 1}"/>` +
      `<ScoreDistribution value="b" recordCount="${3 - score < 0 ? 0 : 3 - score}"/>`;
    const classes = dictionary('z:double x:double y:string(a|b)');
    const text = nodes(true, inner).replaceAll(/score="[^"]*"/g, 'score="a"');
    const { plan } = await importText(
      document(`${classes}<TreeModel functionName="classification">${schema('z x > y')}
        ${text}</TreeModel>`),
    );
    const columns = Object.entries(ROWS).map(
      ([name, given]) => [name, { type: 'double', values: given }] as const,
    );
    const outputs = [...OUTPUTS, 'probability(a)', 'probability(b)'];
    const answer = runPlan(plan, Object.fromEntries(columns), { outputs }).columns;
    for (const [score, label] of ['a', 'b'].entries()) {
      answer[`probability(${label})`]?.forEach((wanted, row) => {
        const own = answer['shap_values']?.[row] as readonly number[];
        const base = (answer['expected_value']?.[row] as readonly number[])[score] ?? 0;
        const sum = (own[score] ?? 0) + (own[2 + score] ?? 0) + base;
        assert.ok(Math.abs(sum - Number(wanted)) < 1e-12, `${label}, row ${row}: ${sum}`);
      });
    }
    // One of two classes gains what the other loses.
    const [first = []] = (answer['shap_values'] ?? []) as readonly (readonly number[])[];
    near([first], [[(first[1] ?? 0) * -1, (first[0] ?? 0) * -1]]);
  });
});

test('without recordCount a background set is needed', async () => {
  for (const text of [tree(false), mean(false)]) {
    const { plan } = await importText(text);
    assert.throws(
      () => explained(plan),
      (error) => {
        assert.ok(error instanceof PlanError);
        assert.match(error.message, /\(recordCount\).*explain_background/);
        return true;
      },
    );
    const relative = withBackground(plan, parseCsv('z,x\n1,0\n'), 'b.csv');
    const columns = explained(relative);
    const base = -0.25;
    near(columns['expected_value'], [[base]]);
    near(columns['shap_values'], [
      values(-0.25, 1.5, 1.5, base),
      values(0.75, -0.25, 0.75, base),
      [0, 0],
    ]);
  }
});

test('other requests do not run the trees of explanations', async () => {
  const { plan } = await importText(tree(true));
  const forests = plan.block.stages.filter(({ kind }) => kind === 'forest');
  assert.equal(forests.length, 1);
  assert.ok(forests[0]?.attributes.some(({ name }) => name === 'explained'));
});
