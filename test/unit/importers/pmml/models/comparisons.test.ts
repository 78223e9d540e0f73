// ClusteringModel, NearestNeighborModel, AssociationModel, AnomalyDetectionModel and
// GaussianProcessModel: results of documents, and messages about invalid ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, dictionary, problems, schema } from './document.js';

const FIELDS = dictionary('x', 'w', 'c:string', 'y', 'k:string=a,b,c');

function near(got: unknown, want: readonly (number | null)[]): void {
  const values = got as readonly (number | null)[];
  assert.equal(values.length, want.length);
  for (const [i, each] of want.entries()) {
    const one = values[i];
    if (each === null || one === null || one === undefined) assert.equal(one, each, `row ${i}`);
    else assert.ok(Math.abs(one - each) <= 1e-13 * Math.max(1, Math.abs(each)), `row ${i}: ${one}`);
  }
}

function outputs(...fields: readonly (readonly [string, string])[]): string {
  const made = fields.map(([name, rest]) => `<OutputField name="${name}" ${rest}/>`);
  return `<Output>${made.join('')}</Output>`;
}

const EUCLID = '<ComparisonMeasure kind="distance"><euclidean/></ComparisonMeasure>';
const CLUSTERING_FIELDS = '<ClusteringField field="x"/><ClusteringField field="w"/>';

const cluster = (attributes: string, numbers: string) =>
  `<Cluster ${attributes}><Array type="real">${numbers}</Array></Cluster>`;

function clustering(parts: string, attributes = 'modelClass="centerBased"', fields = 'x w') {
  return `<ClusteringModel functionName="clustering" ${attributes}>${schema(fields)}${parts}
    </ClusteringModel>`;
}

test('the nearest cluster is known by its id or its place, and by its name', async () => {
  const out = outputs(
    ['id', 'feature="predictedValue" dataType="string" optype="categorical"'],
    ['name', 'feature="predictedDisplayValue" dataType="string" optype="categorical"'],
    ['best', 'feature="affinity" dataType="double" optype="continuous"'],
    ['second', 'feature="affinity" value="2" dataType="double" optype="continuous"'],
  );
  const model = clustering(
    `${out}${EUCLID}${CLUSTERING_FIELDS}<MissingValueWeights><Array type="real">1 3</Array>
     </MissingValueWeights>${cluster('name="home"', '0 0')}${cluster('', '3 4')}`,
  );
  // A row without any value is refused.
  const given = { x: [0, 3, 3, null], w: [1, 4, null, null] };
  const columns = await answer(FIELDS, model, given, { nullForInvalid: true });
  assert.deepEqual(columns['id'], ['1', '2', '2', null]);
  assert.deepEqual(columns['name'], ['home', '2', '2', null]);
  near(columns['best'], [1, 0, 0, null]);
  near(columns['second'], [Math.sqrt(9 + 9), 0, 0, null]);
});

test('fields may be compared in ways of their own, and left out', async () => {
  const out = outputs(['best', 'feature="affinity" dataType="double" optype="continuous"']);
  const model = clustering(
    `${out}<ComparisonMeasure kind="distance" compareFunction="delta"><cityBlock/>
     </ComparisonMeasure><ClusteringField field="x" fieldWeight="5"/>
     <ClusteringField field="w" compareFunction="gaussSim" similarityScale="2"/>
     <ClusteringField field="c" isCenterField="false"/>${cluster('', '1 0')}`,
  );
  near((await answer(FIELDS, model, { x: [2], w: [2] }))['best'], [5.5]);
});

test('reports all errors of clusters at once', async () => {
  const told = await problems(
    FIELDS,
    clustering(
      `<ComparisonMeasure kind="distance"><minkowski p-parameter="-1"/></ComparisonMeasure>
       <ClusteringField field="c"/><ClusteringField field="w" compareFunction="table"/>
       ${cluster('id="q"', '1 2 3')}${cluster('id="q"', '1 two')}<Cluster/>`,
      'modelClass="distributionBased"',
      'x w c',
    ),
  );
  for (const part of [
    'modelClass="distributionBased" is not supported',
    "field 'c' is not a number",
    'compareFunction="table" is not supported',
    'p-parameter: expected a number above 0',
    'expected a number for each of 2 clustering fields, got 3',
    '"two" is not a number',
    'has no array',
    'two clusters have the same id',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});

const INSTANCES = `<TrainingInstances><InstanceFields><InstanceField field="x" column="data:a"/>
  <InstanceField field="c" column="b"/><InstanceField field="y" column="y"/>
  <InstanceField field="k" column="k"/><InstanceField field="key" column="key"/></InstanceFields>
  <InlineTable>
  <row><a>0</a><b>red</b><y>1</y><k>a</k><key>i1</key></row>
  <row><a>1</a><b>blue</b><y>2</y><k>b</k><key>i2</key></row>
  <row><a>4</a><b>red</b><y>6</y><k>a</k><key>i3</key></row></InlineTable></TrainingInstances>`;
const KNN =
  '<KNNInputs><KNNInput field="x"/><KNNInput field="c" compareFunction="delta"/></KNNInputs>';

function neighbors(attributes: string, fields: string, parts: string): string {
  return `<NearestNeighborModel ${attributes}>${schema(fields)}${parts}</NearestNeighborModel>`;
}

test('neighbours answer each target, and are named by rank', async () => {
  const out = outputs(
    ['number', 'feature="predictedValue" targetField="y" dataType="double" optype="continuous"'],
    ['class', 'feature="predictedValue" targetField="k" dataType="string" optype="categorical"'],
    ['first', 'feature="entityId" rank="1" dataType="string" optype="categorical"'],
    ['second', 'feature="entityId" rank="2" dataType="string" optype="categorical"'],
    ['far', 'feature="affinity" rank="2" dataType="double" optype="continuous"'],
  );
  const model = neighbors(
    'functionName="mixed" numberOfNeighbors="2" instanceIdVariable="key"',
    'x c | y k',
    out + INSTANCES + EUCLID + KNN,
  );
  const columns = await answer(FIELDS, model, { x: [0.5, 3], c: ['red', 'green'] });
  near(columns['number'], [1.5, 4]);
  assert.deepEqual(columns['class'], ['a', 'a']);
  assert.deepEqual(columns['first'], ['i1', 'i3']);
  assert.deepEqual(columns['second'], ['i2', 'i2']);
  near(columns['far'], [Math.sqrt(1.25), Math.sqrt(5)]);
});

test('inputs that the table does not have are derived from what it has', async () => {
  const derived = (name: string, inner: string) =>
    `<DerivedField name="${name}" optype="continuous" dataType="double">${inner}</DerivedField>`;
  const half = derived(
    'half',
    '<Apply function="/"><FieldRef field="x"/><Constant>2</Constant></Apply>',
  );
  const local = (fields: string) => `<LocalTransformations>${fields}</LocalTransformations>`;
  const inputs = '<KNNInputs><KNNInput field="half"/></KNNInputs>';
  const attributes = 'functionName="regression" numberOfNeighbors="1"';
  const made = (fields: string) =>
    neighbors(attributes, 'x | y', local(fields) + INSTANCES + EUCLID + inputs);
  const columns = await answer(FIELDS, made(half), { x: [0.4, 3.4] });
  near(columns['y'], [1, 6]);
  const late = neighbors(attributes, 'x w | y', local(half) + INSTANCES + EUCLID + inputs);
  near((await answer(FIELDS, late, { x: [3.4] }))['y'], [6]);
  const missing = derived(
    'half',
    '<Apply function="/"><FieldRef field="w"/><Constant>2</Constant></Apply>',
  );
  const absent = neighbors(attributes, 'x w | y', local(missing) + INSTANCES + EUCLID + inputs);
  await assert.rejects(answer(FIELDS, absent, { x: [3.4] }), /instance 1: 'half' is missing/);
});

test('reports all errors of neighbours at once', async () => {
  const broken = INSTANCES.replace('<y>2</y>', '').replace('<a>4</a>', '<a>four</a>');
  const inputs = KNN.replace('compareFunction="delta"', '').replace(
    '</KNNInputs>',
    '<KNNInput field="w"/></KNNInputs>',
  );
  const told = await problems(
    FIELDS,
    neighbors(
      'functionName="regression" numberOfNeighbors="9" continuousScoringMethod="mode"',
      'x c w | y',
      broken + EUCLID + inputs,
    ),
  );
  for (const part of [
    "has no value of 'y'",
    '"four" is not a number',
    "'c' is not a number",
    "'w' is not among the InstanceFields",
    'continuousScoringMethod="mode" is not supported',
    'numberOfNeighbors: expected 1 to 3, the number of instances, got 9',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
  const remote = INSTANCES.replace(/<InlineTable>.*<\/InlineTable>/s, '<TableLocator/>');
  const away = neighbors(
    'functionName="regression" numberOfNeighbors="1"',
    'x c | y',
    remote + EUCLID + KNN,
  );
  assert.match(await problems(FIELDS, away), /expected an InlineTable/);
});

const RULES = `<Itemset id="s1"><ItemRef itemRef="1"/></Itemset>
  <Itemset id="s2"><ItemRef itemRef="2"/></Itemset>
  <Itemset id="s3"><ItemRef itemRef="1"/><ItemRef itemRef="2"/></Itemset>
  <Itemset id="s4"><ItemRef itemRef="3"/></Itemset>
  <AssociationRule antecedent="s1" consequent="s2" confidence="0.5" support="0.4" lift="1.5"/>
  <AssociationRule id="r" antecedent="s3" consequent="s4" confidence="0.75" support="0.2" lift="2"/>
  <AssociationRule antecedent="s1" consequent="s4" confidence="0.25" support="0.9" lift="1"/>`;
const SHOP = dictionary('basket:string', 'customer:string', 'beer:boolean', 'size:string');

function items(...values: readonly string[]): string {
  return values.map((value, i) => `<Item id="${i + 1}" value="${value}"/>`).join('');
}

const rule = (rest: string) => `feature="ruleValue" ${rest}`;
const SHOP_OUTPUTS = outputs(
  ['best', rule('ruleFeature="ruleId" algorithm="recommendation"')],
  ['next', rule('ruleFeature="rule" algorithm="recommendation" rank="2"')],
  ['then', rule('ruleFeature="consequent" algorithm="exclusiveRecommendation"')],
  ['lift', rule('ruleFeature="lift" algorithm="ruleAssociation" rankBasis="support"')],
  ['all', rule('ruleFeature="ruleId" algorithm="recommendation" isMultiValued="1" rank="0"')],
);

function association(usage: string, parts: string): string {
  return `<AssociationModel functionName="associationRules"><MiningSchema>${usage}</MiningSchema>
    ${parts}</AssociationModel>`;
}

test('rules of a list of items are ranked as each output asks', async () => {
  const model = association(
    '<MiningField name="customer" usageType="group"/><MiningField name="basket"/>',
    SHOP_OUTPUTS + items('beer', 'chips', 'dip') + RULES,
  );
  const columns = await answer(SHOP, model, {
    basket: [['beer', 'bread'], ['chips', 'beer'], ['beer', 'chips', 'dip'], []],
  });
  assert.deepEqual(columns['best'], ['1', 'r', 'r', null]);
  assert.deepEqual(columns['next'], ['{beer}->{dip}', '{beer}->{chips}', '{beer}->{chips}', null]);
  assert.deepEqual(columns['then'], [['chips'], ['dip'], null, null]);
  near(columns['lift'], [null, 1.5, 1, null]);
  assert.deepEqual(columns['all'], [['1', '3'], ['r', '1', '3'], ['r', '1', '3'], []]);
});

// Source: JPMML-Evaluator 1.7.6, which refuses 'bread' too; a missing item is omitted.
test('items of a list have to be among the values of their field', async () => {
  const fields = '<MiningField name="customer" usageType="group"/><MiningField name="basket"/>';
  const parts = SHOP_OUTPUTS + items('beer', 'chips', 'dip') + RULES;
  const strict = dictionary('basket:string=beer,chips,dip', 'customer:string');
  const ask = (usage: string, basket: readonly string[]) =>
    answer(strict, association(usage, parts), { basket: [basket] });
  assert.deepEqual((await ask(fields, ['chips', 'beer']))['best'], ['r']);
  const told = /field 'basket': value "bread" is not valid/;
  await assert.rejects(ask(fields, ['beer', 'bread']), told);
  const lenient = fields.replace('"basket"', '"basket" invalidValueTreatment="asMissing"');
  assert.deepEqual((await ask(lenient, ['beer', 'bread']))['best'], ['1']);
});

test('items may be fields that are flags, or have a value', async () => {
  const model = association(
    '<MiningField name="beer"/><MiningField name="size"/>',
    `${outputs(['best', rule('ruleFeature="ruleId" algorithm="recommendation"')])}
     ${items('beer', 'size=large')}<Item id="3" value="s" field="size" category="small"/>${RULES}`,
  );
  const columns = await answer(SHOP, model, {
    beer: [1, 1, 0, null],
    size: ['small', 'large', 'large', 'large'],
  });
  assert.deepEqual(columns['best'], ['1', 'r', null, null]);
});

test('reports all errors of rules at once', async () => {
  const model = association(
    '<MiningField name="beer"/>',
    `${outputs(
      ['bad', rule('ruleFeature="leverage" algorithm="guess" rank="0" rankBasis="luck"')],
      ['many', rule('ruleFeature="antecedent" isMultiValued="1"')],
    )}${items('beer', 'wine')}${RULES}`,
  );
  const told = await problems(SHOP, model);
  for (const part of [
    "item 'wine' refers to no field",
    "Item '3'",
    'algorithm="guess" is not supported',
    'rankBasis="luck" is not supported',
    'rank="0" is not supported',
    'attribute leverage is missing',
    'isMultiValued with antecedent is not supported',
  ]) {
    assert.ok(told.includes(part), `${part}: ${told}`);
  }
});

test('an isolation forest scores its mean path', async () => {
  const tree = (score: number) => `<Segment><True/><TreeModel functionName="regression">
    ${schema('x')}<Node score="${score}"><True/></Node></TreeModel></Segment>`;
  const model = `<AnomalyDetectionModel functionName="regression" algorithmType="iforest"
    sampleDataSize="256">${schema('x')}
    ${outputs(['score', 'feature="predictedValue" dataType="double" optype="continuous"'])}
    <MiningModel functionName="regression">${schema('x')}
    <Segmentation multipleModelMethod="average">${tree(4)}${tree(7)}</Segmentation></MiningModel>
    </AnomalyDetectionModel>`;
  const mean = 2 * (Math.log(255) + 0.57721566) - (2 * 255) / 256;
  near((await answer(FIELDS, model, { x: [1] }))['score'], [2 ** (-5.5 / mean)]);
  const small = model.replace('sampleDataSize="256"', 'sampleDataSize="1"');
  assert.match(await problems(FIELDS, small), /sampleDataSize: expected 2 or more/);
});

test('distances from clusters are scored by their means', async () => {
  const inner = clustering(EUCLID + CLUSTERING_FIELDS + cluster('', '0 0') + cluster('', '3 4'));
  const model = (means: string) => `<AnomalyDetectionModel functionName="regression"
    algorithmType="clusterMeanDist">${schema('x w')}
    ${outputs(['score', 'feature="predictedValue" dataType="double" optype="continuous"'])}
    ${inner}<MeanClusterDistances><Array type="real">${means}</Array></MeanClusterDistances>
    </AnomalyDetectionModel>`;
  const given = { x: [0, 3, null], w: [1, 6, null] };
  const { score } = await answer(FIELDS, model('0.5 4'), given, { nullForInvalid: true });
  near(score, [2, 0.5, null]);
  const few = await problems(FIELDS, model('0.5'));
  assert.match(few, /expected a mean distance for each of 2 clusters, got 1/);
  const none = `<AnomalyDetectionModel functionName="regression" algorithmType="lof">
    ${schema('x')}</AnomalyDetectionModel>`;
  assert.match(await problems(FIELDS, none), /algorithmType="lof" is not supported/);
  assert.match(await problems(FIELDS, none), /contains no model/);
});

const PROCESS_INSTANCES = `<TrainingInstances><InstanceFields><InstanceField field="x"/>
  <InstanceField field="y"/></InstanceFields><InlineTable><row><x>0</x><y>1</y></row>
  <row><x>2</x><y>-3</y></row></InlineTable></TrainingInstances>`;

function process(kernel: string, instances = PROCESS_INSTANCES): string {
  return `<GaussianProcessModel functionName="regression">${schema('x | y')}
    ${outputs(
      ['mean', 'feature="predictedValue" dataType="double" optype="continuous"'],
      ['error', 'feature="standardError" dataType="double" optype="continuous"'],
    )}${kernel}${instances}</GaussianProcessModel>`;
}

test('a Gaussian process answers its mean and its standard error', async () => {
  const kernels: readonly (readonly [string, (distance: number) => number])[] = [
    [
      '<RadialBasisKernel gamma="2" noiseVariance="0.5" lambda="3"/>',
      (d) => Math.exp(-(d * d) / 18),
    ],
    [
      `<GeneralizedExponentialKernel gamma="2" noiseVariance="0.5" degree="1.5"><Lambda>
       <Array type="real">3</Array></Lambda></GeneralizedExponentialKernel>`,
      (d) => Math.exp(-((d / 3) ** 1.5)),
    ],
  ];
  for (const [kernel, shape] of kernels) {
    const columns = await answer(FIELDS, process(kernel), { x: [0.5, null] });
    const [k0, k1, o, d] = [2 * shape(0.5), 2 * shape(1.5), 2 * shape(2), 2.5];
    const det = d * d - o * o;
    near(columns['mean'], [(k0 * (d + 3 * o) + k1 * (-o - 3 * d)) / det, null]);
    const known = (k0 * (d * k0 - o * k1) + k1 * (d * k1 - o * k0)) / det;
    near(columns['error'], [Math.sqrt(2.5 - known), null]);
  }
});

test('reports all errors of a Gaussian process', async () => {
  const short = `<ARDSquaredExponentialKernel gamma="one"><Lambda><Array type="real">1 2</Array>
    </Lambda></ARDSquaredExponentialKernel>`;
  const told = await problems(FIELDS, process(short));
  assert.match(told, /gamma: "one" is not a number/);
  assert.match(told, /2 numbers, and 1 fields/);
  assert.match(await problems(FIELDS, process('')), /has no kernel/);
  const untargeted = PROCESS_INSTANCES.replace('field="y"', 'field="w"');
  const kernel = '<RadialBasisKernel/>';
  assert.match(await problems(FIELDS, process(kernel, untargeted)), /no target among/);
});

test('refuses models without a stage by name', async () => {
  const model = `<TimeSeriesModel functionName="timeSeries" bestFit="ARIMA">${schema('x')}
    </TimeSeriesModel>`;
  assert.match(await problems(FIELDS, model), /time series models are not supported: the standard/);
});
