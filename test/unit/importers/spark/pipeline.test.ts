// A whole Spark model: fields, outputs, omitted stages, wrappers, and all errors at once.
import { deepEqual, equal, throws } from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lowerSpark } from '../../../../ts/importers/spark/index.js';
import { describePlan } from '../../../../ts/importers/plan/imported.js';
import { runPlan } from '../plan/run-plan.js';
import { modelFiles, openFiles, pipeline, type StageSketch } from './support/model.js';
import { fieldsOf, outputsOf, planOf, refuses, stagesOf } from './support/lowered.js';
import { assembler, linear, logistic, oneHot, stringIndexer } from './support/stages.js';

const LABEL = stringIndexer('label', 'labelIndex', ['no', 'yes']);
const ANSWERS = ['prediction: double', 'probability: vector', 'rawPrediction: vector'];

describe('fields and outputs', () => {
  test('a classifier: its columns by default, what leads to them on request', async () => {
    const plan = await planOf(
      pipeline(
        stringIndexer('colour', 'colourIndex', ['red', 'blue']),
        oneHot('colourIndex', 'colourVector', 2),
        assembler(['size', 'colourVector']),
        logistic([1, 2], 0.5),
      ),
    );
    deepEqual(fieldsOf(plan), ['colour: string', 'size: double']);
    deepEqual(
      plan.fields?.map(({ any }) => any),
      [true, true],
    );
    deepEqual(outputsOf(plan), [
      ...ANSWERS,
      '(colourIndex: double)',
      '(colourVector: vector)',
      '(features: vector)',
    ]);
    deepEqual(
      plan.outputs?.map(({ size }) => size),
      // The last two are those that explain.
      [undefined, 2, 2, undefined, 1, 2, 4, 2],
    );
    equal(plan.format, 'spark');
    equal(plan.producer, 'Spark 3.5.5');
  });

  test('makes fields optional that no output needs: a label and its indexer', async () => {
    const plan = await planOf(pipeline(LABEL, assembler(['a', 'b']), logistic([1, 2], 0)));
    deepEqual(fieldsOf(plan), ['label: string', 'a: double', 'b: double']);
    deepEqual(
      describePlan(plan).fields.map(({ optional }) => optional),
      [true, false, false],
    );
    deepEqual(outputsOf(plan), [...ANSWERS, '(labelIndex: double)', '(features: vector)']);
    const { columns } = runPlan(plan, { a: [1], b: [0] }, { outputs: ['prediction'] });
    deepEqual(columns, { prediction: [1] });
    const label = { type: 'string', values: ['no'] } as const;
    const asked = { outputs: ['labelIndex'] };
    deepEqual(runPlan(plan, { a: [1], b: [0], label }, asked).columns, { labelIndex: [0] });
  });

  test('a side branch is answered where it is asked for, and not computed else', async () => {
    const plan = await planOf(
      pipeline(
        stringIndexer('colour', 'n', ['red']),
        assembler(['a'], 'first'),
        linear([2], 0, { featuresCol: 'first', predictionCol: 'p1' }),
        assembler(['b'], 'second'),
        linear([3], 1, { featuresCol: 'second', predictionCol: 'p2' }),
      ),
    );
    deepEqual(outputsOf(plan), [
      'p2: double',
      '(n: double)',
      '(first: vector)',
      '(p1: double)',
      '(second: vector)',
    ]);
    const colour = { type: 'string', values: ['green'] } as const;
    const run = (...outputs: readonly string[]) =>
      runPlan(plan, { a: [5], b: [7], colour }, { outputs }).columns;
    deepEqual(run('p2'), { p2: [22] });
    deepEqual(run('p1'), { p1: [10] });
    deepEqual(run('first', 'p2'), { p2: [22], first: [[5]] });
    // The indexer refuses the row: it did not run above.
    throws(() => run('n'), /unseen|green/);
  });

  test('includes stages after the last predictor in the outputs', async () => {
    const inverse: StageSketch = {
      class: 'feature.IndexToString',
      uid: 'IndexToString_1',
      params: { inputCol: 'prediction', outputCol: 'answer', labels: ['no', 'yes'] },
    };
    const plan = await planOf(pipeline(assembler(['a']), logistic([1], 0), inverse));
    deepEqual(outputsOf(plan), [...ANSWERS, 'answer: string', '(features: vector)']);
  });

  test('returns the second of two predictors', async () => {
    const plan = await planOf(
      pipeline(
        assembler(['a'], 'first'),
        linear([2], 0, { featuresCol: 'first', predictionCol: 'p1' }),
        assembler(['p1', 'b'], 'second'),
        linear([2, 3], 1, { featuresCol: 'second', predictionCol: 'p2' }),
      ),
    );
    deepEqual(outputsOf(plan), [
      'p2: double',
      '(first: vector)',
      '(p1: double)',
      '(second: vector)',
    ]);
  });

  test('without a predictor, what no stage takes', async () => {
    const plan = await planOf(
      pipeline(
        stringIndexer('c', 'ci', ['x']),
        oneHot('ci', 'cv', 1),
        stringIndexer('d', 'di', ['y']),
      ),
    );
    deepEqual(outputsOf(plan), ['cv: vector', 'di: double', '(ci: double)']);
  });

  test('one stage alone, and columns that its maker did without', async () => {
    const plan = await planOf(logistic([1, 2, 3], 0, { probabilityCol: '', rawPredictionCol: '' }));
    deepEqual(fieldsOf(plan), ['features: vector']);
    equal(plan.fields?.[0]?.size, 3);
    deepEqual(outputsOf(plan), ['prediction: double']);
    equal(stagesOf(plan)[0]?.place, "model 'LogisticRegression_1'");
  });
});

test('rows that Spark leaves out are refused: a warning says so', async () => {
  const files = modelFiles(
    pipeline(
      stringIndexer('c', 'i', ['x'], { handleInvalid: 'skip' }),
      assembler(['i', 'a'], 'features', { handleInvalid: 'keep' }),
      linear([1, 2], 0),
    ),
  );
  const { warnings } = await lowerSpark(openFiles(files));
  deepEqual(warnings, [
    "stage 0 'StringIndexer_i': Spark drops rows with invalid values; Serval refuses them",
  ]);
});

describe('wrappers', () => {
  const inner = pipeline(assembler(['a']), linear([2], 0));

  for (const kind of ['CrossValidatorModel', 'TrainValidationSplitModel']) {
    test(`${kind}: the best model`, async () => {
      const estimator = pipeline({ class: 'regression.LinearRegression', uid: 'estimator' });
      const plan = await planOf(
        pipeline({
          class: `tuning.${kind}`,
          uid: 'cv',
          children: { bestModel: inner, estimator },
        }),
      );
      deepEqual(outputsOf(plan), ['prediction: double', '(features: vector)']);
      equal(stagesOf(plan)[0]?.place, "stage 0.0 'VectorAssembler_features'");
    });
  }

  test('pipelines in pipelines, by Python too', async () => {
    const outer: StageSketch = {
      ...pipeline({ ...inner, uid: 'PipelineModel_1' }, stringIndexer('c', 'ci', ['x'])),
      class: 'pyspark.ml.pipeline.PipelineModel',
    };
    const plan = await planOf(outer);
    deepEqual(outputsOf(plan), ['prediction: double', 'ci: double', '(features: vector)']);
    equal(stagesOf(plan)[1]?.place, "stage 0.1 'LinearRegression_1'");
  });

  test('a formula: its own stages, without the columns between', async () => {
    const formula: StageSketch = {
      class: 'feature.RFormulaModel',
      uid: 'RFormula_1',
      params: { formula: 'y ~ c + a' },
      children: {
        pipelineModel: pipeline(
          stringIndexer('c', 'c_index', ['x', 'y']),
          oneHot('c_index', 'c_vector', 2),
          assembler(['c_vector', 'a']),
          {
            class: 'feature.VectorAttributeRewriter',
            uid: 'rewriter',
            tables: {
              data: {
                columns: { vectorCol: 'string', prefixesToRewrite: { map: ['string', 'string'] } },
                rows: [{ vectorCol: 'features', prefixesToRewrite: [['c_vector_', 'c_']] }],
              },
            },
          },
          {
            class: 'feature.ColumnPruner',
            uid: 'pruner',
            tables: {
              data: {
                columns: { columnsToPrune: { list: 'string' } },
                rows: [{ columnsToPrune: ['c_index', 'c_vector'] }],
              },
            },
          },
        ),
      },
    };
    const slicer: StageSketch = {
      class: 'feature.VectorSlicer',
      uid: 'slicer',
      params: { inputCol: 'features', outputCol: 'few', names: ['a', 'c_x'] },
    };
    const plan = await planOf(pipeline(formula, slicer, linear([1, 2], 0, { featuresCol: 'few' })));
    deepEqual(outputsOf(plan), ['prediction: double', '(features: vector)', '(few: vector)']);
    const slice = stagesOf(plan).find(({ kind }) => kind === 'vector_slicer');
    deepEqual(slice?.attributes?.[0]?.integers, Int32Array.of(1, 0));
    const gone = stringIndexer('c_index', 'again', ['0']);
    await refuses(pipeline(formula, gone), /stage 1 .*column 'c_index' has been dropped/);
  });
});

describe('errors of a pipeline', () => {
  test('are reported all at once, each with its place', async () => {
    await refuses(
      pipeline(
        { class: 'com.example.Custom', uid: 'Custom_1' },
        { ...stringIndexer('c', 'ci', ['x']), tables: {} },
        pipeline({ class: 'feature.NewThing', uid: 'NewThing_1' }),
        { class: 'clustering.DistributedLDAModel', uid: 'lda' },
        logistic([1, 2], 0, { threshold: 'high' }),
      ),
      /^Spark model is not supported \(5 problems\): /,
      /stage 0 'Custom_1': stages of class com\.example\.Custom are not supported/,
      /stage 1 'StringIndexer_ci': stages\/1_StringIndexer_ci\/data is missing/,
      /stage 2\.0 'NewThing_1': stages of class org\.apache\.spark\.ml\.feature\.NewThing are not/,
      /stage 3 'lda': .*DistributedLDAModel: it is saved as a graph/,
      /stage 4 'LogisticRegression_1': parameter threshold is "high": expected a number/,
    );
  });

  test('say that it was not fitted, and what to save', async () => {
    const unfitted = (...stages: readonly StageSketch[]): StageSketch => ({
      ...pipeline(...stages),
      class: 'Pipeline',
    });
    const indexer = { class: 'feature.StringIndexer', uid: 'indexer' };
    const regression = { class: 'classification.LogisticRegression', uid: 'regression' };
    const advice = 'save the model that fit\\(\\) returns';
    await refuses(
      unfitted(assembler(['a']), indexer, regression),
      new RegExp(
        `this is an unfitted Pipeline \\(stage 1 is the estimator \\S+\\.StringIndexer\\): ${advice}$`,
      ),
    );
    await refuses(
      unfitted({ class: 'classification.RandomForestClassifier', uid: 'forest' }),
      /stage 0 is the estimator \S+\.RandomForestClassifier\)/,
    );
    await refuses(
      regression,
      new RegExp(`LogisticRegression is an estimator, not a model: ${advice}`),
    );
    const cross = { class: 'tuning.CrossValidator', uid: 'cross' };
    await refuses(unfitted(cross), /stage 0 is the estimator \S+\.CrossValidator\)/);
    // Stages without anything to learn are the same before and after fit().
    const plan = await planOf(unfitted(assembler(['a', 'b']), logistic([1, 2], 0)));
    deepEqual(outputsOf(plan).slice(0, 1), ANSWERS.slice(0, 1));
  });

  test('a stage that cannot be read', async () => {
    const broken: StageSketch = { ...LABEL, version: '1.6.0' };
    await refuses(pipeline(broken, LABEL), /stage 0: stages\/0_.*Spark '1\.6\.0': expected 2\.0/);
  });

  test('nothing to answer', async () => {
    await refuses(pipeline(), /model: the model adds no column/);
  });

  test('two columns of one name, and one without a name', async () => {
    await refuses(
      pipeline(stringIndexer('a', '', ['x'])),
      /stage 0 .*: an output column has no name/,
    );
  });

  test('pipelines inside one another without end', async () => {
    let deep: StageSketch = LABEL;
    for (let i = 0; i < 40; i++) deep = pipeline(deep);
    await refuses(deep, /expected at most 32 nested pipelines, got more/);
  });
});
