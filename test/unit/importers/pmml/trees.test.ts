// Trees and their strategies for missing values, as tree and as forest; rule sets, scorecards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, dictionary, document, importText, schema } from './documents.js';

const node = (score: number, predicate: string, inner = '', more = '') =>
  `<Node score="${score}" ${more}>${predicate}${inner}</Node>`;
const simple = (field: string, operator: string, value?: string | number) =>
  `<SimplePredicate field="${field}" operator="${operator}"${value === undefined ? '' : ` value="${value}"`}/>`;
const TRUE = '<True/>';

const TREE = node(
  0,
  TRUE,
  node(
    1,
    simple('x', 'lessOrEqual', 2),
    node(11, simple('s', 'equal', 'a'), '', 'id="a"') + node(12, simple('s', 'notEqual', 'a')),
    'id="left" defaultChild="a"',
  ) + node(2, simple('x', 'greaterThan', 2), '', 'id="right"'),
  'defaultChild="right"',
);

function tree(attributes: string, root = TREE): string {
  return `<TreeModel functionName="regression" ${attributes}>${schema('x s')}${root}</TreeModel>`;
}

// The model alone, and twice in an average, which is a single stage `forest` if possible.
function documents(attributes: string, root = TREE): [single: string, forest: string] {
  const fields = dictionary('x:double s:string y:double');
  const segment = `<Segment><True/>${tree(attributes, root)}</Segment>`;
  const own = schema('x s > y');
  return [
    document(fields + tree(attributes, root).replace(schema('x s'), own)),
    document(`${fields}<MiningModel functionName="regression">${own}
      <Segmentation multipleModelMethod="average">${segment}${segment}</Segmentation></MiningModel>`),
  ];
}

const ROWS = { x: [1, 1, 3, null, 2, 1], s: ['a', 'b', 'a', 'a', null, 'zz'] };

async function check(attributes: string, expected: readonly unknown[], root = TREE) {
  const [single, forest] = documents(attributes, root);
  assert.deepEqual((await answers(single, ROWS)).columns['y'], expected, attributes);
  assert.deepEqual((await answers(forest, ROWS)).columns['y'], expected, `forest, ${attributes}`);
}

test('strategies for missing values, as tree and as forest', async () => {
  await check('', [11, 12, 2, null, null, 12]);
  await check('noTrueChildStrategy="returnLastPrediction"', [11, 12, 2, 0, 1, 12]);
  await check('missingValueStrategy="nullPrediction"', [11, 12, 2, null, null, 12]);
  await check('missingValueStrategy="lastPrediction"', [11, 12, 2, 0, 1, 12]);
  await check('missingValueStrategy="defaultChild"', [11, 12, 2, 2, 11, 12]);
});

test('such ensembles are one stage, and those on request that explain it', async () => {
  for (const strategy of ['none', 'nullPrediction', 'lastPrediction', 'defaultChild']) {
    const [, forest] = documents(`missingValueStrategy="${strategy}"`);
    const { plan } = await importText(forest);
    assert.deepEqual(
      plan.block.stages.map((each) => each.kind),
      ['forest', 'forest_shap', 'forest_trees', 'forest_trees'],
      strategy,
    );
  }
});

test('more than two children, missing ones, sets and a last child for all', async () => {
  const missing = node(
    0,
    TRUE,
    node(1, simple('x', 'lessThan', 2)) +
      node(2, simple('x', 'greaterOrEqual', 2)) +
      node(3, simple('x', 'isMissing')),
  );
  await check('', [1, 1, 2, 3, 2, 1], missing);
  const set =
    '<SimpleSetPredicate field="s" booleanOperator="isIn"><Array type="string" n="2">"a" zz</Array></SimpleSetPredicate>';
  await check('', [5, 6, 5, 5, 6, 5], node(0, TRUE, node(5, set) + node(6, TRUE)));
  const not = set.replace('isIn', 'isNotIn');
  await check('', [6, 5, 6, 6, 6, 6], node(0, TRUE, node(5, not) + node(6, TRUE)));
  const equal = node(
    0,
    TRUE,
    node(5, simple('x', 'equal', 1)) +
      node(6, simple('x', 'notMissing'.replace('notMissing', 'isNotMissing'))) +
      node(7, TRUE),
  );
  await check('', [5, 5, 6, 7, 6, 5], equal);
});

test('compound and surrogate predicates', async () => {
  const compound = (operator: string, ...inner: string[]) =>
    `<CompoundPredicate booleanOperator="${operator}">${inner.join('')}</CompoundPredicate>`;
  const small = simple('x', 'lessThan', 2);
  const isA = simple('s', 'equal', 'a');
  const by = async (predicate: string) => {
    const [single] = documents('', node(0, TRUE, node(5, predicate) + node(6, TRUE)));
    return (await answers(single, ROWS)).columns['y'];
  };
  assert.deepEqual(await by(compound('and', small, isA)), [5, 6, 6, 6, 6, 6]);
  assert.deepEqual(await by(compound('or', small, isA)), [5, 5, 5, 5, 6, 5]);
  assert.deepEqual(await by(compound('xor', small, isA)), [6, 5, 5, 6, 6, 5]);
  assert.deepEqual(await by(compound('surrogate', small, isA)), [5, 5, 6, 5, 6, 5]);
});

test('a float field is compared in float', async () => {
  const text = document(`${dictionary('x:float y:double')}<TreeModel functionName="regression">
    ${schema('x > y')}${node(0, TRUE, node(1, simple('x', 'lessThan', 0.1)) + node(2, TRUE))}</TreeModel>`);
  // The float nearest to 0.1 is above 0.1, so it is not less than 0.1.
  assert.deepEqual((await answers(text, { x: [Math.fround(0.1), 0.09] })).columns['y'], [2, 1]);
});

test('rule sets by their methods', async () => {
  const rules = (method: string) =>
    document(`${dictionary('x:double y:string(a|b|c)')}
    <RuleSetModel functionName="classification">${schema('x > y')}
    <RuleSet defaultScore="c" defaultConfidence="0.25"><RuleSelectionMethod criterion="${method}"/>
    <CompoundRule>${simple('x', 'greaterThan', 0)}
    <SimpleRule id="r1" score="b" weight="0.9" confidence="0.8">${simple('x', 'greaterThan', 1)}</SimpleRule>
    <SimpleRule id="r2" score="a" weight="0.6" confidence="0.7">${TRUE}</SimpleRule></CompoundRule>
    <SimpleRule id="r3" score="a" weight="0.36" confidence="0.5">${simple('x', 'lessThan', 9)}</SimpleRule>
    </RuleSet></RuleSetModel>`);
  const by = async (method: string) => {
    const { columns } = await answers(rules(method), { x: [2, 0.5, -1, null, 10] });
    return [columns['y'], columns['confidence(a)'], columns['confidence(b)']];
  };
  assert.deepEqual(await by('firstHit'), [
    ['b', 'a', 'a', 'c', 'b'],
    [0.7, 0.7, 0.5, 0, 0.7],
    [0.8, 0, 0, 0, 0.8],
  ]);
  const [labels, sums] = await by('weightedSum');
  assert.deepEqual(labels, ['a', 'a', 'a', 'c', 'b']);
  assert.ok(Math.abs((sums?.[0] as number) - 0.32) < 1e-12);
  assert.deepEqual((await by('weightedMax'))[0], ['b', 'a', 'a', 'c', 'b']);
});

test('a scorecard with reasons', async () => {
  const card = document(`${dictionary('x:double s:string y:double')}
    <Scorecard functionName="regression" initialScore="10" reasonCodeAlgorithm="pointsBelow" baselineScore="5">
    ${schema('x s > y')}<Output><OutputField name="why" feature="reasonCode"/>
    <OutputField name="second" feature="reasonCode" rank="2"/></Output><Characteristics>
    <Characteristic name="one" reasonCode="X"><Attribute partialScore="1">${simple('x', 'lessThan', 2)}</Attribute>
    <Attribute><SimplePredicate field="x" operator="greaterOrEqual" value="2"/><ComplexPartialScore>
    <Apply function="*"><FieldRef field="x"/><Constant>2</Constant></Apply></ComplexPartialScore></Attribute></Characteristic>
    <Characteristic name="two" reasonCode="S" baselineScore="3"><Attribute partialScore="2">${simple('s', 'equal', 'a')}</Attribute>
    <Attribute partialScore="0" reasonCode="S2">${TRUE}</Attribute></Characteristic></Characteristics></Scorecard>`);
  const { columns, refused } = await answers(
    card,
    { x: [1, 3, null], s: ['a', 'b', 'a'] },
    { nullForInvalid: true },
  );
  assert.deepEqual(columns['y']?.slice(0, 2), [13, 16]);
  assert.deepEqual(columns['why']?.slice(0, 2), ['X', 'S2']);
  assert.deepEqual(columns['second']?.slice(0, 2), ['S', null]);
  assert.deepEqual(refused, [2], 'no attribute applies');
});

test('targets', async () => {
  const by = async (target: string, type = 'double') => {
    const text = document(`${dictionary(`x:double y:${type}`)}<TreeModel functionName="regression">
      ${schema('x > y')}<Targets><Target field="y" ${target}</Targets>
      ${node(7.5, simple('x', 'greaterThan', 0))}</TreeModel>`);
    return (await answers(text, { x: [1, -1] })).columns['y'];
  };
  assert.deepEqual(await by('rescaleFactor="2" rescaleConstant="1"/>'), [16, null]);
  assert.deepEqual(await by('min="8" max="9"/>'), [8, null]);
  assert.deepEqual(await by('castInteger="round"/>', 'integer'), [8, null]);
  assert.deepEqual(await by('castInteger="floor"/>', 'integer'), [7, null]);
  assert.deepEqual(await by('><TargetValue defaultValue="4"/></Target>'), [7.5, 4]);
});
