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

const X_BACKGROUND = 'x,z\n0,1\n2,3\n';
const CLASSES = dictionary('z:double x:double k:string(u|v|w) y:double');

/** The plan's answer to rows, relative to a background set. */
async function relative(
  text: string,
  rows: Readonly<Record<string, readonly unknown[]>>,
  background: string,
): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const { plan } = await importText(text);
  const fit = withBackground(plan, parseCsv(background), 'b.csv');
  const given = Object.entries(rows).map(([name, values]) => {
    const type = typeof values[0] === 'string' ? 'string' : 'double';
    return [name, { type, values }] as const;
  });
  return runPlan(fit, Object.fromEntries(given), { outputs: OUTPUTS }).columns;
}

describe('regressions', () => {
  const table = (inner: string, attributes = ''): string =>
    `<RegressionTable intercept="1" ${attributes}>${inner}</RegressionTable>`;
  const numbers =
    '<NumericPredictor name="x" coefficient="2"/><NumericPredictor name="z" exponent="2" coefficient="3"/>';
  const regression = (tables: string, attributes = ''): string =>
    document(`${CLASSES}<RegressionModel functionName="regression" ${attributes}>
      ${schema('z x k > y')}${tables}</RegressionModel>`);

  test('powers and links', async () => {
    const text = regression(table(numbers), 'normalizationMethod="exp"');
    const columns = await relative(text, { x: [3], z: [2] }, X_BACKGROUND);
    // Means: x 1, z² 5.
    near(columns['expected_value'], [[1 + 2 + 15]]);
    near(columns['shap_values'], [[3 * (4 - 5), 2 * (3 - 1)]]);
  });

  test('the categories of a field together', async () => {
    const category = (value: string, coefficient: number): string =>
      `<CategoricalPredictor name="k" value="${value}" coefficient="${coefficient}"/>`;
    const text = regression(table(numbers + category('u', 4) + category('v', -2)));
    const background = 'x,z,k\n0,1,u\n2,3,w\n';
    const columns = await relative(text, { x: [3], z: [2], k: ['v'] }, background);
    near(columns['expected_value'], [[1 + 2 + 15 + 2]]);
    near(columns['shap_values'], [[3 * (4 - 5), 2 * (3 - 1), -2 - 2]]);
  });

  test('a row without a number is refused', async () => {
    const text = regression(table(numbers));
    await assert.rejects(
      relative(text, { x: [Number.NaN], z: [2] }, X_BACKGROUND),
      /'x' is missing/,
    );
  });

  test('products of fields are not explained', async () => {
    const product =
      '<PredictorTerm coefficient="2"><FieldRef field="x"/><FieldRef field="z"/></PredictorTerm>';
    const { plan, features } = await importText(regression(table(numbers + product)));
    assert.equal(features, undefined);
    assert.ok(!plan.outputs.some(({ name }) => name === 'shap_values'));
  });
});

describe('ensembles', () => {
  const leaf = (label: string, test: string): string =>
    `<Node score="${label}" recordCount="4">${test}</Node>`;
  const by = (operator: string): string =>
    `<SimplePredicate field="x" operator="${operator}" value="1"/>`;
  const vote = (low: string, high: string, weight: number): string =>
    `<Segment weight="${weight}"><True/><TreeModel functionName="classification">${schema('x z')}
      <Node recordCount="8"><True/>${leaf(low, by('lessThan'))}${leaf(high, by('greaterOrEqual'))}
      </Node></TreeModel></Segment>`;
  const votes = (method: string): string =>
    document(`${CLASSES}<MiningModel functionName="classification">${schema('z x > k')}
      <Segmentation multipleModelMethod="${method}">${vote('u', 'v', 1)}${vote('w', 'v', 3)}
      </Segmentation></MiningModel>`);

  test('votes: the share of each label', async () => {
    for (const [method, share] of [
      ['majorityVote', 0.5],
      ['weightedMajorityVote', 0.25],
    ] as const) {
      const { plan, features } = await importText(votes(method));
      assert.deepEqual(features, ['x']);
      const columns = runPlan(
        plan,
        { x: { type: 'double', values: [0, 2] }, z: { type: 'double', values: [0, 0] } },
        { outputs: OUTPUTS },
      ).columns;
      const rest = 1 - share;
      // Labels as they are found: u, v, w.
      near(columns['expected_value'], [[share / 2, 0.5, rest / 2]]);
      near(columns['shap_values'], [
        [share / 2, -0.5, rest / 2],
        [-share / 2, 0.5, -rest / 2],
      ]);
    }
  });

  const chain = (targets: string, last: string): string =>
    document(`${CLASSES}<MiningModel functionName="regression">${schema('z x > y')}
      <Segmentation multipleModelMethod="modelChain"><Segment id="1"><True/>
      <MiningModel functionName="regression">${schema('x z')}
      <Output><OutputField name="margin" optype="continuous" dataType="double"/></Output>${targets}
      <Segmentation multipleModelMethod="sum"><Segment><True/>
      <TreeModel functionName="regression">${schema('x z')}${nodes(true)}</TreeModel></Segment>
      </Segmentation></MiningModel></Segment><Segment id="2"><True/>
      <RegressionModel functionName="regression" normalizationMethod="logit">${schema('margin x')}
      <RegressionTable intercept="1">${last}</RegressionTable></RegressionModel></Segment>
      </Segmentation></MiningModel>`);
  const margin = '<NumericPredictor name="margin" coefficient="2"/>';

  test('a chain: trees, Targets, a link', async () => {
    const targets = '<Targets><Target rescaleFactor="3" rescaleConstant="5"/></Targets>';
    const { plan, features } = await importText(chain(targets, margin));
    assert.deepEqual(features, ['z', 'x']);
    const columns = explained(plan);
    near(
      columns['shap_values'],
      WANTED.map((row) => row.map((value) => 6 * value)),
    );
    near(columns['expected_value'], [[6 * BASE + 11]]);
    assert.ok(plan.outputs.some(({ name }) => name === 'leaf_indices'));
  });

  test('a chain: fields beside the trees', async () => {
    const both = `${margin}<NumericPredictor name="x" coefficient="10"/>`;
    const { plan } = await importText(chain('', both));
    const fit = withBackground(plan, parseCsv('z,x\n1,0\n'), 'b.csv');
    const columns = explained(fit);
    const one = values(-0.25, 1.5, 1.5, -0.25).map((value) => 2 * value);
    near(columns['expected_value'], [[1 - 0.5]]);
    near(columns['shap_values'], [[one[0] ?? 0, (one[1] ?? 0) + 10]]);
  });

  test('results of a segment that has no explanation are not explained', async () => {
    const tested = nodes(true).replace(
      'field="x" operator="lessThan"',
      'field="x" operator="equal"',
    );
    const { features } = await importText(chain('', margin).replace(nodes(true), tested));
    assert.equal(features, undefined);
  });

  test('rounded results in a chain are not explained', async () => {
    const targets = '<Targets><Target castInteger="round"/></Targets>';
    const { features } = await importText(chain(targets, margin));
    assert.equal(features, undefined);
  });
});
