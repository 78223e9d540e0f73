// RegressionModel and GeneralRegressionModel: results of documents, and messages about invalid
// ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, dictionary, problems, schema } from './document.js';

const LINE = dictionary('x', 'n:integer', 'c:string', 'y');

function regression(tables: string, attributes = '', fields = 'x n c | y'): string {
  const head = `<RegressionModel functionName="regression" ${attributes}>`;
  return `${head}${schema(fields)}${tables}</RegressionModel>`;
}

function close(got: unknown, want: readonly (number | null)[]): void {
  const values = got as readonly (number | null)[];
  assert.equal(values.length, want.length);
  for (const [i, each] of want.entries()) {
    const one = values[i];
    if (each === null || one === null || one === undefined) assert.equal(one, each, `row ${i}`);
    else assert.ok(Math.abs(one - each) <= 1e-14 * Math.max(1, Math.abs(each)), `row ${i}: ${one}`);
  }
}

test('a regression adds its predictors, their powers, categories and products', async () => {
  const model = regression(`<RegressionTable intercept="1.5">
    <NumericPredictor name="x" coefficient="2"/>
    <NumericPredictor name="n" exponent="3" coefficient="-1"/>
    <CategoricalPredictor name="c" value="red" coefficient="10"/>
    <CategoricalPredictor name="c" value="blue" coefficient="20"/>
    <PredictorTerm coefficient="0.5"><FieldRef field="x"/><FieldRef field="n"/></PredictorTerm>
  </RegressionTable>`);
  const { y } = await answer(LINE, model, {
    x: [1, 1, 1, null, 1],
    n: [2, 2, 2, 2, null],
    c: ['red', 'green', null, 'red', 'red'],
  });
  close(y, [1.5 + 2 - 8 + 10 + 1, 1.5 + 2 - 8 + 1, 1.5 + 2 - 8 + 1, null, null]);
});

test('uses the replacement of a missing value in a term', async () => {
  const model = regression(`<RegressionTable intercept="0">
    <PredictorTerm coefficient="3"><FieldRef field="x" mapMissingTo="7"/></PredictorTerm>
  </RegressionTable>`);
  const { y } = await answer(LINE, model, { x: [2, null], n: [1, 1], c: ['a', 'a'] });
  close(y, [6, 21]);
});

const CLASSES = dictionary('x', 'y:string=a,b,c');

test('a classification answers its labels and their probabilities', async () => {
  const table = (label: string, slope: number) =>
    `<RegressionTable targetCategory="${label}" intercept="0">
      <NumericPredictor name="x" coefficient="${slope}"/></RegressionTable>`;
  const model = `<RegressionModel functionName="classification" normalizationMethod="softmax">
    ${schema('x | y')}${table('c', 0)}${table('a', 1)}${table('b', -1)}</RegressionModel>`;
  const columns = await answer(CLASSES, model, { x: [2, -2, 0, null] });
  assert.deepEqual(columns['y'], ['a', 'b', 'c', null]); // the first table's among equals
  const sum = 1 + Math.exp(2) + Math.exp(-2);
  close(columns['probability(a)'], [Math.exp(2) / sum, Math.exp(-2) / sum, 1 / 3, null]);
});

test('an ordinal target has tables that cumulate', async () => {
  const ordinal = CLASSES.replace('name="y" optype="categorical"', 'name="y" optype="ordinal"');
  const table = (label: string, intercept: number) =>
    `<RegressionTable targetCategory="${label}" intercept="${intercept}"/>`;
  const model = `<RegressionModel functionName="classification" normalizationMethod="logit">
    ${schema('x | y')}${table('a', -1)}${table('b', 1)}${table('c', 0)}</RegressionModel>`;
  const columns = await answer(ordinal, model, { x: [0] });
  const low = 1 / (1 + Math.exp(1));
  close(columns['probability(a)'], [low]);
  close(columns['probability(b)'], [1 - 2 * low]);
  close(columns['probability(c)'], [low]);
  assert.deepEqual(columns['y'], ['b']);
});

test('reports all errors of a regression at once', async () => {
  const model = regression(
    `<RegressionTable intercept="one">
      <NumericPredictor name="c" coefficient="2"/>
      <NumericPredictor name="x"/>
      <NumericPredictor name="z" coefficient="1"/>
      <CategoricalPredictor name="n" value="red" coefficient="1"/>
    </RegressionTable>`,
    'normalizationMethod="simplemax"',
  );
  const told = await problems(LINE, model);
  for (const part of [
    'normalizationMethod="simplemax" is not supported',
    'intercept: "one" is not a number',
    "field 'c' is not a number",
    'attribute coefficient is missing',
    "field 'z' is not declared",
    '"red" is not a number',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});

test('tables that do not fit the function are refused', async () => {
  const table = '<RegressionTable intercept="0" targetCategory="a"/>';
  const none = regression('');
  assert.match(await problems(LINE, none), /there are 0 RegressionTables for regression/);
  assert.match(await problems(LINE, regression(table + table)), /2 RegressionTables/);
  const classes = (tables: string) =>
    `<RegressionModel functionName="classification">${schema('x | y')}${tables}</RegressionModel>`;
  assert.match(await problems(CLASSES, classes(table)), /there is 1 RegressionTable/);
  assert.match(
    await problems(CLASSES, classes(table + table)),
    /expected one table for 'a', got two/,
  );
  const bare = classes('<RegressionTable intercept="0"/><RegressionTable intercept="1"/>');
  assert.match(await problems(CLASSES, bare), /attribute targetCategory is missing/);
});

const FACTORS = dictionary('x', 'w', 'c:string', 'y', 'k:string=a,b,c');
const LISTS = `<ParameterList><Parameter name="p0"/><Parameter name="p1"/><Parameter name="p2"/>
  </ParameterList><FactorList><Predictor name="c"/></FactorList>
  <CovariateList><Predictor name="x"/></CovariateList>`;
const CELLS = `<PPMatrix><PPCell value="red" predictorName="c" parameterName="p1"/>
  <PPCell value="2" predictorName="x" parameterName="p2"/>
  <PPCell value="red" predictorName="c" parameterName="p2"/></PPMatrix>`;

function general(attributes: string, parts: string, fields: string): string {
  return `<GeneralRegressionModel ${attributes}>${schema(fields)}${parts}</GeneralRegressionModel>`;
}

function parameters(cells: readonly (readonly [string, number, string?])[]): string {
  const made = cells.map(([name, beta, category]) => {
    const target = category === undefined ? '' : `targetCategory="${category}"`;
    return `<PCell parameterName="${name}" beta="${beta}" ${target}/>`;
  });
  return `<ParamMatrix>${made.join('')}</ParamMatrix>`;
}

const BETAS = parameters([
  ['p0', 0.5],
  ['p1', 2],
  ['p2', -1],
]);

test('a general linear model multiplies factors and powers of covariates', async () => {
  const model = general(
    'modelType="generalLinear" functionName="regression"',
    LISTS + CELLS + BETAS,
    'x c | y',
  );
  const { y } = await answer(FACTORS, model, {
    x: [3, 3, null, null, 3],
    c: ['red', 'blue', 'blue', 'red', null],
  });
  // If the factor does not match, its covariate is not read.
  close(y, [0.5 + 2 - 9, 0.5, 0.5, null, null]);
});

test('a generalized linear model has an offset, trials and a link', async () => {
  const model = general(
    `modelType="generalizedLinear" functionName="regression" linkFunction="log"
     offsetVariable="w" trialsValue="10"`,
    LISTS + CELLS + BETAS,
    'x c w | y',
  );
  const columns = { x: [3], c: ['blue'], w: [0.25] };
  close((await answer(FACTORS, model, columns))['y'], [10 * Math.exp(0.75)]);
  await assert.rejects(answer(FACTORS, model, { ...columns, w: [null] }), /row 0: 'w' is missing/);
});

test('a multinomial model compares with the category that has no parameters', async () => {
  const cells = parameters([
    ['p0', 1, 'a'],
    ['p1', 1, 'a'],
    ['p0', -1, 'c'],
  ]);
  const model = general(
    'modelType="multinomialLogistic" functionName="classification"',
    LISTS + CELLS + cells,
    'x c | k',
  );
  const columns = await answer(FACTORS, model, { x: [0, 0], c: ['red', 'blue'] });
  const sum = Math.exp(2) + Math.exp(-1) + 1;
  const other = Math.exp(1) + Math.exp(-1) + 1;
  close(columns['probability(a)'], [Math.exp(2) / sum, Math.exp(1) / other]);
  close(columns['probability(b)'], [1 / sum, 1 / other]);
  assert.deepEqual(columns['k'], ['a', 'a']);
});

test('a factor may have a contrast matrix', async () => {
  const lists = `<ParameterList><Parameter name="p1"/></ParameterList><FactorList>
    <Predictor name="c"><Categories><Category value="red"/><Category value="blue"/></Categories>
    <Matrix nbRows="2" nbCols="2"><Array type="real">0.5 -0.25</Array>
    <Array type="real">2 4</Array></Matrix></Predictor></FactorList><CovariateList/>`;
  const cells = `<PPMatrix><PPCell value="blue" predictorName="c" parameterName="p1"/></PPMatrix>`;
  const model = general(
    'modelType="regression" functionName="regression"',
    lists + cells + parameters([['p1', 8]]),
    'c | y',
  );
  close((await answer(FACTORS, model, { c: ['red', 'blue'] }))['y'], [-2, 32]);
  const outside = answer(FACTORS, model, { c: ['green'] });
  await assert.rejects(outside, /row 0: a factor's value is not in its contrast matrix/);
});

test('Cox regressions look up the baseline of their stratum', async () => {
  const lists = `<ParameterList><Parameter name="p" referencePoint="2"/></ParameterList>
    <FactorList/><CovariateList><Predictor name="x"/></CovariateList>
    <PPMatrix><PPCell value="1" predictorName="x" parameterName="p"/></PPMatrix>`;
  const tables = `<BaseCumHazardTables>
    <BaselineStratum value="red" maxTime="30"><BaselineCell time="20" cumHazard="0.5"/>
    <BaselineCell time="10" cumHazard="0.25"/></BaselineStratum>
    <BaselineStratum value="blue" maxTime="5"><BaselineCell time="1" cumHazard="3"/>
    </BaselineStratum></BaseCumHazardTables>`;
  const model = general(
    `modelType="CoxRegression" functionName="regression" endTimeVariable="w"
     baselineStrataVariable="c"`,
    lists + parameters([['p', 0.5]]) + tables,
    'x w c | y',
  );
  const { y } = await answer(FACTORS, model, {
    x: [4, 4, 4, 4, 4, null],
    w: [15, 20, 9, 6, 1, 15],
    c: ['red', 'red', 'red', 'blue', 'green', 'red'],
  });
  close(y, [0.25 * Math.E, 0.5 * Math.E, 0, null, null, null]);
});

test('reports all errors of a general regression at once', async () => {
  const cells = CELLS.replace('predictorName="x"', 'predictorName="w"');
  const broken = parameters([['p0', 1, 'a']]);
  const model = general(
    'modelType="generalizedLinear" functionName="regression" linkFunction="sqrt"',
    LISTS + cells + broken,
    'x c w | y',
  );
  const told = await problems(FACTORS, model);
  assert.match(told, /linkFunction="sqrt" is not supported/);
  assert.match(told, /the ParamMatrix: expected cells without targetCategory/);
  const used = general(
    'modelType="regression" functionName="regression" offsetValue="3"',
    LISTS + cells + BETAS,
    'x c w | y',
  );
  const also = await problems(FACTORS, used);
  assert.match(also, /'w' is neither a factor nor a covariate/);
  assert.match(also, /offsetValue of this modelType is not supported/);
});

test('a general regression must fit its function and its target', async () => {
  const wrong = general(
    'modelType="multinomialLogistic" functionName="regression"',
    LISTS + CELLS + BETAS,
    'x c | y',
  );
  assert.match(await problems(FACTORS, wrong), /does not fit functionName="regression"/);
  const three = general(
    `modelType="generalizedLinear" linkFunction="logit" functionName="classification"
     targetReferenceCategory="a"`,
    LISTS + CELLS + BETAS,
    'x c | k',
  );
  assert.match(await problems(FACTORS, three), /expected 2 target categories, got 3/);
  const unsaid = general(
    'modelType="multinomialLogistic" functionName="classification"',
    LISTS + CELLS + parameters([['p0', 1, 'a']]),
    'x c | k',
  );
  assert.match(await problems(FACTORS, unsaid), /the reference category is missing/);
});
