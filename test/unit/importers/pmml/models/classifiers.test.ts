// NeuralNetwork, SupportVectorMachineModel and NaiveBayesModel: results of documents, and messages
// about invalid ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, dictionary, problems, schema } from './document.js';

const FIELDS = dictionary('x', 'w', 'c:string', 'y', 'z', 'k:string=a,b,c');

function near(got: unknown, want: readonly (number | null)[]): void {
  const values = got as readonly (number | null)[];
  assert.equal(values.length, want.length);
  for (const [i, each] of want.entries()) {
    const one = values[i];
    if (each === null || one === null || one === undefined) assert.equal(one, each, `row ${i}`);
    else assert.ok(Math.abs(one - each) <= 1e-13 * Math.max(1, Math.abs(each)), `row ${i}: ${one}`);
  }
}

const DOUBLE = 'optype="continuous" dataType="double"';

const neuralInput = (id: string, expression: string) =>
  `<NeuralInput id="${id}"><DerivedField ${DOUBLE}>${expression}</DerivedField></NeuralInput>`;

const neuron = (id: string, bias: number, from: Readonly<Record<string, number>>) => {
  const connections = Object.entries(from).map(([source, weight]) => {
    return `<Con from="${source}" weight="${weight}"/>`;
  });
  return `<Neuron id="${id}" bias="${bias}">${connections.join('')}</Neuron>`;
};

const neuralOutput = (id: string, expression: string) =>
  `<NeuralOutput outputNeuron="${id}"><DerivedField ${DOUBLE}>${expression}</DerivedField>
  </NeuralOutput>`;

function network(attributes: string, fields: string, inputs: string, layers: string, outs: string) {
  return `<NeuralNetwork ${attributes}>${schema(fields)}<NeuralInputs>${inputs}</NeuralInputs>
    ${layers}<NeuralOutputs>${outs}</NeuralOutputs></NeuralNetwork>`;
}

const INPUTS =
  neuralInput('1', '<FieldRef field="x"/>') +
  neuralInput('2', '<NormDiscrete field="c" value="red"/>') +
  neuralInput('3', '<FieldRef field="x"/>');

test('a network answers several targets, mapped back', async () => {
  const layers =
    `<NeuralLayer activationFunction="tanh">${neuron('h', 0.5, { 1: 1, 2: 2, 3: -3 })}</NeuralLayer>` +
    `<NeuralLayer>${neuron('o', 1, { h: 4 })}${neuron('p', 0, { h: 1, 1: 1 })}</NeuralLayer>`;
  const outs =
    neuralOutput('o', '<FieldRef field="y"/>') +
    neuralOutput(
      'p',
      `<NormContinuous field="z"><LinearNorm orig="10" norm="0"/><LinearNorm orig="20" norm="2"/>
       </NormContinuous>`,
    );
  const model = network(
    'functionName="regression" activationFunction="identity"',
    'x c | y z',
    INPUTS,
    layers,
    outs,
  );
  const columns = await answer(FIELDS, model, { x: [0.5, 0.5, null], c: ['red', 'blue', 'red'] });
  const red = Math.tanh(0.5 + 0.5 + 2 - 1.5);
  const blue = Math.tanh(0.5 + 0.5 - 1.5);
  near(columns['y'], [1 + 4 * red, 1 + 4 * blue, null]);
  near(columns['z'], [10 + 5 * (red + 0.5), 10 + 5 * (blue + 0.5), null]);
});

test('a classifying network has a label by output neuron', async () => {
  const layers = `<NeuralLayer normalizationMethod="softmax">
    ${neuron('n1', 0, { 1: 1 })}${neuron('n2', 0, { 1: -1 })}</NeuralLayer>`;
  const outs =
    neuralOutput('n2', '<NormDiscrete field="k" value="b"/>') +
    neuralOutput('n1', '<NormDiscrete field="k" value="a"/>');
  const model = network(
    'functionName="classification" activationFunction="identity"',
    'x c | k',
    INPUTS,
    layers,
    outs,
  );
  const columns = await answer(FIELDS, model, { x: [2, 0, null], c: ['red', 'red', 'red'] });
  assert.deepEqual(columns['k'], ['a', 'b', null]);
  near(columns['probability(b)'], [1 / (1 + Math.exp(4)), 0.5, null]);
});

test('radial bases have widths and altitudes of their neuron, layer or network', async () => {
  const layer = `<NeuralLayer width="2" altitude="3">
    <Neuron id="r"><Con from="1" weight="1"/></Neuron>
    <Neuron id="s" width="4" altitude="1"><Con from="1" weight="1"/></Neuron></NeuralLayer>
    <NeuralLayer activationFunction="identity">${neuron('o', 0, { r: 1, s: 1 })}</NeuralLayer>`;
  const model = network(
    'functionName="regression" activationFunction="radialBasis" width="9"',
    'x | y',
    neuralInput('1', '<FieldRef field="x"/>'),
    layer,
    neuralOutput('o', '<FieldRef field="y"/>'),
  );
  const { y } = await answer(FIELDS, model, { x: [3] });
  near(y, [3 * Math.exp(-4 / 8) + Math.exp(-4 / 32)]);
});

test('reports all errors of a network at once', async () => {
  const layers =
    `<NeuralLayer>${neuron('h', 0, { 1: 1, o: 1 })}${neuron('1', 0, { h: 1 })}</NeuralLayer>` +
    `<NeuralLayer activationFunction="swish">${neuron('o', 0, { h: 1 })}</NeuralLayer>`;
  const outs =
    neuralOutput('o', '<NormDiscrete field="k" value="a"/>') +
    neuralOutput('q', '<FieldRef field="y"/>');
  const attributes = 'functionName="regression" activationFunction="identity"';
  const told = await problems(FIELDS, network(attributes, 'x c | y', INPUTS, layers, outs));
  for (const part of [
    "neuron 'o' does not exist or is in the same or a later layer",
    "neuron 'h' does not exist or is in the same or a later layer",
    "id '1' occurs twice",
    'activationFunction="swish" is not supported',
    "neuron 'q'",
    '<NormDiscrete> does not fit functionName="regression"',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});

const VECTORS = `<VectorDictionary><VectorFields><FieldRef field="x"/><FieldRef field="w"/>
  <CategoricalPredictor name="c" value="red" coefficient="1"/></VectorFields>
  <VectorInstance id="u"><Array n="3" type="real">1 2 1</Array></VectorInstance>
  <VectorInstance id="v"><REAL-SparseArray n="3"><Indices>2</Indices>
  <REAL-Entries>-1</REAL-Entries></REAL-SparseArray></VectorInstance></VectorDictionary>`;

const machine = (attributes: string, coefficients: readonly number[], intercept: number) =>
  `<SupportVectorMachine ${attributes}><SupportVectors><SupportVector vectorId="u"/>
  <SupportVector vectorId="v"/></SupportVectors><Coefficients absoluteValue="${intercept}">
  ${coefficients.map((value) => `<Coefficient value="${value}"/>`).join('')}
  </Coefficients></SupportVectorMachine>`;

function vectors(attributes: string, fields: string, parts: string): string {
  return `<SupportVectorMachineModel ${attributes}>${schema(fields)}${parts}
    </SupportVectorMachineModel>`;
}

test('a support vector regression takes sparse vectors and categories', async () => {
  const model = vectors(
    'functionName="regression"',
    'x w c | y',
    `<RadialBasisKernelType gamma="0.25"/>${VECTORS}${machine('', [2, -1], 0.5)}`,
  );
  const columns = { x: [1, 0], w: [0, 0], c: ['red', 'blue'] };
  const { y } = await answer(FIELDS, model, columns);
  const kernel = (distance: number) => Math.exp(-0.25 * distance);
  near(y, [2 * kernel(4) - kernel(1 + 1 + 1) + 0.5, 2 * kernel(1 + 4 + 1) - kernel(1) + 0.5]);
  const missing = answer(FIELDS, model, { ...columns, w: [0, null] });
  await assert.rejects(missing, /row 1: 'w' is missing/);
});

test('coefficients alone are a linear machine', async () => {
  const only = `<SupportVectorMachine><Coefficients absoluteValue="3"><Coefficient value="2"/>
    <Coefficient value="-1"/><Coefficient value="10"/></Coefficients></SupportVectorMachine>`;
  const model = vectors(
    'functionName="regression" svmRepresentation="Coefficients"',
    'x w c | y',
    `<LinearKernelType/>${VECTORS}${only}`,
  );
  const { y } = await answer(FIELDS, model, { x: [5, 5], w: [4, 4], c: ['red', 'blue'] });
  near(y, [10 - 4 + 10 + 3, 10 - 4 + 3]);
});

test('machines vote, or the smallest number wins', async () => {
  const linear = '<LinearKernelType/>';
  const pair = (target: string, alternate: string, intercept: number) =>
    machine(`targetCategory="${target}" alternateTargetCategory="${alternate}"`, [0, 0], intercept);
  const votes = pair('a', 'b', -1) + pair('a', 'c', 1) + pair('b', 'c', 0.5);
  const one = vectors('functionName="classification"', 'x w c | k', linear + VECTORS + votes);
  const row = { x: [0], w: [0], c: ['red'] };
  assert.deepEqual((await answer(FIELDS, one, row))['k'], ['c']);
  // A separate threshold, or that of the model, determines which values are small.
  const high = vectors(
    'functionName="classification" threshold="2"',
    'x w c | k',
    linear + VECTORS + votes,
  );
  assert.deepEqual((await answer(FIELDS, high, row))['k'], ['a']);
  const each = (attributes: string) =>
    vectors(
      `functionName="classification" ${attributes}`,
      'x w c | k',
      linear +
        VECTORS +
        machine('targetCategory="a"', [0, 0], 3) +
        machine('targetCategory="b"', [0, 0], -1),
    );
  assert.deepEqual((await answer(FIELDS, each(''), row))['k'], ['b']);
  assert.deepEqual((await answer(FIELDS, each('maxWins="true"'), row))['k'], ['a']);
});

test('a machine of two categories rounds', async () => {
  const model = vectors(
    'functionName="classification" alternateBinaryTargetCategory="b"',
    'x w c | k',
    `<LinearKernelType/>${VECTORS}${machine('targetCategory="a"', [0, -1], 0)}`,
  );
  const rows = { x: [0, 0], w: [0.9, 0.2], c: ['x', 'x'] };
  assert.deepEqual((await answer(FIELDS, model, rows))['k'], ['a', 'b']);
  const beyond = answer(FIELDS, model, { x: [0], w: [7], c: ['x'] });
  await assert.rejects(beyond, /rounds to neither 0 nor 1/);
});

test('reports all errors of support vectors at once', async () => {
  const broken = VECTORS.replace('1 2 1', '1 2').replace('id="v"', 'name="v"');
  const parts = `${broken}${machine('targetCategory="a"', [1], 0)}
    ${machine('targetCategory="a"', [1, 2], 0)}`;
  const told = await problems(FIELDS, vectors('functionName="classification"', 'x w c | k', parts));
  for (const part of [
    'an Array: expected n="3" values, got 2',
    'attribute id is missing',
    'expected a coefficient for each of 2 support vectors, got 1',
    "vector 'u'",
    'has no kernel',
    'two machines have the same target category',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});

const counts = (values: Readonly<Record<string, number>>) => {
  const all = Object.entries(values).map(([value, count]) => {
    return `<TargetValueCount value="${value}" count="${count}"/>`;
  });
  return `<TargetValueCounts>${all.join('')}</TargetValueCounts>`;
};

const pairs = (values: Readonly<Record<string, Readonly<Record<string, number>>>>) =>
  Object.entries(values)
    .map(([value, all]) => `<PairCounts value="${value}">${counts(all)}</PairCounts>`)
    .join('');

const BINNED = `<DerivedField optype="categorical" dataType="string"><Discretize field="w">
  <DiscretizeBin binValue="low"><Interval closure="openOpen" rightMargin="5"/></DiscretizeBin>
  <DiscretizeBin binValue="high"><Interval closure="closedOpen" leftMargin="5"/></DiscretizeBin>
  </Discretize></DerivedField>`;

const GAUSSIAN = `<BayesInput fieldName="x"><TargetValueStats>
  <TargetValueStat value="a"><GaussianDistribution mean="0" variance="1"/></TargetValueStat>
  <TargetValueStat value="b"><GaussianDistribution mean="3" variance="4"/></TargetValueStat>
  </TargetValueStats></BayesInput>`;

function bayes(inputs: string): string {
  return `<NaiveBayesModel functionName="classification" threshold="0.01">${schema('x w c | k')}
    <BayesInputs>${inputs}</BayesInputs><BayesOutput fieldName="k">${counts({ a: 3, b: 1 })}
    </BayesOutput></NaiveBayesModel>`;
}

test('a naive Bayes model multiplies counts, bins and distributions', async () => {
  const model = bayes(
    `<BayesInput fieldName="c">${pairs({ red: { a: 1, b: 3 }, blue: { a: 3, b: 0 } })}</BayesInput>
     <BayesInput fieldName="w">${BINNED}${pairs({ low: { a: 2, b: 1 }, high: { b: 1 } })}
     </BayesInput><Extension>${GAUSSIAN}</Extension>`,
  );
  const columns = await answer(FIELDS, model, {
    c: ['red', 'blue', null, null],
    w: [null, 3, 5, null],
    x: [null, null, null, 1],
  });
  const share = (a: number, b: number) => a / (a + b);
  const density = (z: number, deviation: number) =>
    Math.exp((-z * z) / 2) / (deviation * Math.sqrt(2 * Math.PI));
  near(columns['probability(a)'], [
    share(3 * 0.25, 1),
    share(3 * 0.75, 0.01 * 0.5),
    share(3, 0.5), // nothing is stated about a
    share(3 * density(1, 1), density(-1, 2)),
  ]);
  assert.deepEqual(columns['k'], ['b', 'a', 'a', 'a']);
});

test('reports all errors of a naive Bayes model at once', async () => {
  const model = bayes(
    `<BayesInput fieldName="c">${pairs({ red: { q: 1 } })}</BayesInput>
     <BayesInput fieldName="w"/>${GAUSSIAN.replace('fieldName="x"', 'fieldName="c"')}
     ${GAUSSIAN.replace('GaussianDistribution', 'UniformDistribution')}`,
  );
  const told = await problems(FIELDS, model.replace('threshold="0.01"', ''));
  for (const part of [
    "'q' is not a value of the BayesOutput",
    'has no PairCounts',
    "field 'c' is not a number",
    '<UniformDistribution> is not supported here',
    'attribute threshold is missing',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});
