// MiningModel: every method, with JPMML-Evaluator 1.7.6's results for these segments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, dictionary, document, importText, schema, outputsOf } from './documents.js';

const PREDICATES = {
  T: '<True/>',
  F: '<SimplePredicate field="x" operator="lessThan" value="-5"/>',
  U: '<SimplePredicate field="u" operator="lessThan" value="-5"/>',
};
type When = keyof typeof PREDICATES;
// No child is true and the node's own score does not count: no prediction.
const NOTHING = '<Node score="9"><True/><Node score="1"><False/></Node></Node>';

function segments(
  functionName: string,
  nodes: readonly (readonly [When, string])[],
  weight = (i: number) => i + 1,
): string {
  return nodes
    .map(
      ([when, node], i) => `<Segment id="s${i}" weight="${weight(i)}">${PREDICATES[when]}
        <TreeModel functionName="${functionName}">${schema('x')}${node}</TreeModel></Segment>`,
    )
    .join('');
}

function model(functionName: string, y: string, inner: string, attributes: string): string {
  return document(`${dictionary(`x:double u:double ${y}`)}
    <MiningModel functionName="${functionName}">${schema('x u > y')}
    <Segmentation ${attributes}>${inner}</Segmentation></MiningModel>`);
}

const score = (value: number) => `<Node score="${value}"><True/></Node>`;

async function number(nodes: readonly (readonly [When, string])[], attributes: string) {
  const text = model('regression', 'y:double', segments('regression', nodes), attributes);
  const answer = await answers(text, { x: [1], u: [null] });
  return answer.columns['y']?.[0];
}

const all = (...values: number[]) => values.map((each) => ['T', score(each)] as const);

test('numbers', async () => {
  const by = (method: string) => number(all(1, 2, 7, 5), `multipleModelMethod="${method}"`);
  assert.equal(await by('sum'), 15);
  assert.equal(await by('average'), 3.75);
  assert.equal(await by('weightedAverage'), 4.6);
  assert.equal(await by('median'), 3.5);
  assert.equal(await by('weightedSum'), 46);
  assert.equal(await by('weightedMedian'), 5);
});

test('missing predictions', async () => {
  const nodes = [...all(1, 2, 4), ['T', NOTHING] as const];
  const expected: Readonly<Record<string, number>> = {
    sum: 7,
    average: 7 / 3,
    weightedAverage: 17 / 6,
    median: 2,
    weightedSum: 17,
    weightedMedian: 2,
  };
  for (const [method, skipped] of Object.entries(expected)) {
    const by = (rest: string) => number(nodes, `multipleModelMethod="${method}" ${rest}`);
    assert.equal(await by(''), null, method);
    const skip = 'missingPredictionTreatment="skipSegment"';
    assert.equal(await by(`${skip} missingThreshold="0.3"`), null, method);
    const got = (await by(`${skip} missingThreshold="0.5"`)) as number;
    assert.ok(Math.abs(got - skipped) < 1e-12, `${method}: ${got}`);
    const missing = 'missingPredictionTreatment="returnMissing" missingThreshold="0.5"';
    assert.equal(await by(missing), null, method);
  }
});

test('segments whose predicate is false or unknown do not count', async () => {
  const nodes = [...all(1, 2), ['F', score(5)] as const, ['U', score(7)] as const];
  assert.equal(await number(nodes, 'multipleModelMethod="sum"'), 3);
  assert.equal(await number(nodes, 'multipleModelMethod="average"'), 1.5);
  assert.equal(await number([['F', score(5)]], 'multipleModelMethod="sum"'), null);
});

function distribution(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts);
  const best = entries.reduce((a, b) => (b[1] > a[1] ? b : a))[0];
  const inner = entries.map(([v, n]) => `<ScoreDistribution value="${v}" recordCount="${n}"/>`);
  return `<Node score="${best}"><True/>${inner.join('')}</Node>`;
}

async function classes(nodes: readonly string[], attributes: string) {
  const inner = segments(
    'classification',
    nodes.map((node) => ['T', node] as const),
  );
  const text = model('classification', 'y:string(a|b|c)', inner, attributes);
  const { columns } = await answers(text, { x: [1], u: [null] });
  const of = (label: string) => columns[`probability(${label})`]?.[0] as number | null;
  return { y: columns['y']?.[0], p: [of('a'), of('b'), of('c')] };
}

function near(got: readonly (number | null)[], expected: readonly number[], where: string): void {
  for (const [i, each] of expected.entries()) {
    assert.ok(Math.abs((got[i] ?? Number.NaN) - each) < 1e-12, `${where}: ${got}`);
  }
}

test('classes: votes and averages', async () => {
  const nodes = [{ a: 3, b: 1 }, { b: 3, c: 1 }, { c: 4 }, { a: 1, b: 1, c: 2 }].map((each) =>
    distribution(each as Record<string, number>),
  );
  const expected: readonly (readonly [string, string, readonly number[]])[] = [
    ['majorityVote', 'c', [0.25, 0.25, 0.5]],
    ['weightedMajorityVote', 'c', [0.1, 0.2, 0.7]],
    ['average', 'c', [0.25, 0.3125, 0.4375]],
    ['weightedAverage', 'c', [0.175, 0.275, 0.55]],
  ];
  for (const [method, y, p] of expected) {
    // Tested as a forest in one stage, and tree by tree.
    for (const rest of ['', 'missingPredictionTreatment="skipSegment"']) {
      const got = await classes(nodes, `multipleModelMethod="${method}" ${rest}`);
      assert.equal(got.y, y, method);
      near(got.p, p, method);
    }
  }
});

test('classes: the segments nearest to the median, or with the largest probability', async () => {
  const of = (...rows: (readonly number[])[]) =>
    rows.map(([a = 0, b = 0, c = 0]) => distribution({ a, b, c }));
  const median = 'multipleModelMethod="median"';
  const even = await classes(of([0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]), median);
  assert.equal(even.y, 'b');
  near(even.p, [0.3, 0.6, 0.1], 'median');
  const two = await classes(of([0.1, 0.7, 0.2], [0.7, 0.2, 0.1], [0.3, 0.7, 0]), median);
  near(two.p, [0.2, 0.7, 0.1], 'median of two equal ones');
  const max = 'multipleModelMethod="max"';
  const most = await classes(of([0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.75, 0.125, 0.125]), max);
  assert.equal(most.y, 'a');
  near(most.p, [0.75, 0.125, 0.125], 'max');
});

test('of equal votes the label that was voted for first', async () => {
  const vote = 'multipleModelMethod="majorityVote"';
  const label = (each: string) => `<Node score="${each}"><True/></Node>`;
  for (const rest of ['', ' missingPredictionTreatment="skipSegment"']) {
    assert.equal((await classes(['c', 'b', 'a'].map(label), vote + rest)).y, 'c');
    assert.equal((await classes(['b', 'a'].map(label), vote + rest)).y, 'b');
    const missing = [...['a', 'b', 'b'].map(label), NOTHING];
    assert.equal((await classes(missing, vote + rest)).y, 'b');
  }
});

test('the first one, the last of a chain, all of them', async () => {
  const nodes = [
    ['U', score(1)],
    ['F', score(2)],
    ['T', score(3)],
    ['T', score(4)],
  ] as const;
  assert.equal(await number(nodes, 'multipleModelMethod="selectFirst"'), 3);
  assert.equal(await number(nodes, 'multipleModelMethod="modelChain"'), 4);
  const text = model(
    'regression',
    'y:double',
    segments('regression', nodes),
    'multipleModelMethod="selectAll"',
  );
  const answer = await answers(text, { x: [1, -6], u: [null, -6] });
  assert.deepEqual(answer.columns['y'], [
    [3, 4],
    [1, 2, 3, 4],
  ]);
});

test('selectFirst by row, with results by segment', async () => {
  const nodes = [
    ['F', score(1)],
    ['U', score(2)],
  ] as const;
  const text = model(
    'regression',
    'y:double',
    segments('regression', nodes),
    'multipleModelMethod="selectFirst"',
  ).replace(
    '<Segmentation',
    `<Output><OutputField name="second" feature="predictedValue" segmentId="s1"/></Output><Segmentation`,
  );
  const answer = await answers(text, { x: [-6, 1, 1, -6], u: [-6, -6, 1, 1] });
  assert.deepEqual(answer.columns['y'], [1, 2, null, 1]);
  assert.deepEqual(answer.columns['second'], [null, 2, null, null]);
});

test('a chain hands its outputs on', async () => {
  const text = document(`${dictionary('x:double y:double')}
    <MiningModel functionName="regression">${schema('x > y')}
    <Segmentation multipleModelMethod="modelChain">
    <Segment><True/><TreeModel functionName="regression">${schema('x')}
      <Output><OutputField name="first" feature="predictedValue"/></Output>${score(3)}</TreeModel>
    </Segment>
    <Segment><SimplePredicate field="first" operator="greaterThan" value="2"/>
      <TreeModel functionName="regression"><MiningSchema><MiningField name="first"/></MiningSchema>
      <Node score="0"><True/><Node score="10"><SimplePredicate field="first" operator="equal"
      value="3"/></Node></Node></TreeModel></Segment>
    </Segmentation></MiningModel>`);
  const { plan } = await importText(text);
  assert.deepEqual(
    outputsOf(plan).map(({ name, extra }) => [name, extra ?? false]),
    [
      ['y', false],
      ['first', false],
    ],
  );
  assert.deepEqual((await answers(text, { x: [1] })).columns['y'], [10]);
});

test('reports segments that do not fit at load', async () => {
  const of = (attributes: string, functionName = 'regression') =>
    importText(model(functionName, 'y:double', segments('regression', all(1, 2)), attributes));
  await assert.rejects(of('multipleModelMethod="majorityVote"'), /does not fit/);
  await assert.rejects(of('multipleModelMethod="best"'), /unknown/);
  await assert.rejects(of('multipleModelMethod="sum"', 'classification'), /functionName/);
  const treatment = 'multipleModelMethod="sum" missingPredictionTreatment="guess"';
  await assert.rejects(of(treatment), /guess/);
});
