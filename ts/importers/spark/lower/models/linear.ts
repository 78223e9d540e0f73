// Spark's linear models, and those that are linear up to a function. Importer's worker thread.
// Source: tabular.md 5.2, 5.3
import {
  aftSurvivalRegression,
  fmClassifier,
  fmRegression,
  generalizedLinearRegression,
  GLM_FAMILIES,
  GLM_LINKS,
  type GlmFamily,
  type GlmLink,
  isotonicRegression,
  linearRegression,
  linearSvc,
  logisticRegression,
} from '../../../plan/ops/index.js';
import { linearSums } from '../../../plan/explain.js';
import { flagCell, matrixCell, numberCell, numbersCell, vectorCell } from '../../read/cells.js';
import { StageProblem } from '../../read/problem.js';
import type { Table } from '../../read/table.js';
import { NUMBER, VECTOR } from '../frame.js';
import type { Lower, Stage } from '../stage.js';
import {
  classifierColumns,
  featuresOf,
  predictionOf,
  predictsAs,
  regressionColumns,
  thresholdsOf,
} from './classifier.js';

/** A vector in the table's only row. */
const vector = (table: Table, name: string): Float64Array =>
  vectorCell(table.column([name])[0], name);
const number = (table: Table, name: string): number => numberCell(table.column([name])[0], name);

/** Explains the sums of a linear model. `mirror`: a negative score before the only one. */
function explainSums(
  stage: Stage,
  coefficients: Float64Array,
  intercepts: Float64Array,
  mirror = false,
): void {
  const { column: vector, attributes } = stage.input('featuresCol', VECTOR, 'features');
  stage.explains(linearSums(vector, coefficients, intercepts, mirror), attributes);
}

const lowerLogisticRegression: Lower = async (stage) => {
  const { coefficients, intercepts, multinomial, size } = logistic(await stage.folder.table());
  const classes = multinomial ? intercepts.length : 2;
  const thresholds = thresholdsOf(stage, classes);
  logisticRegression(
    stage.plan,
    {
      ...classifierColumns(stage, size, classes),
      coefficients,
      intercepts,
      multinomial,
      threshold: stage.params.number('threshold', 0.5),
      thresholds,
    },
    stage.place,
  );
  explainSums(stage, coefficients, intercepts, !multinomial);
};

/** Since 2.1 a matrix; 2.0 had models of two classes only. */
function logistic(table: Table) {
  const cell = table.find('coefficientMatrix');
  if (cell === undefined) {
    const coefficients = vector(table, 'coefficients');
    const intercepts = Float64Array.of(number(table, 'intercept'));
    return { coefficients, intercepts, multinomial: false, size: coefficients.length };
  }
  const { rows, columns: size, values: coefficients } = matrixCell(cell[0], 'coefficientMatrix');
  const intercepts = vector(table, 'interceptVector');
  const multinomial = flagCell(table.column(['isMultinomial'])[0], 'isMultinomial');
  if (rows !== intercepts.length || (!multinomial && rows !== 1)) {
    throw new StageProblem(
      `expected equal counts, got ${rows} in coefficientMatrix and ${intercepts.length} in interceptVector`,
    );
  }
  return { coefficients, intercepts, multinomial, size };
}

const lowerLinearSvc: Lower = async (stage) => {
  const table = await stage.folder.table();
  const coefficients = vector(table, 'coefficients');
  const intercept = number(table, 'intercept');
  const { features, raw, prediction } = classifierColumns(stage, coefficients.length, 2, false);
  const threshold = stage.params.number('threshold', 0);
  linearSvc(
    stage.plan,
    { features, raw, prediction, coefficients, intercept, threshold },
    stage.place,
  );
  explainSums(stage, coefficients, Float64Array.of(intercept), true);
};

const lowerLinearRegression: Lower = async (stage) => {
  const table = await stage.folder.table();
  const coefficients = vector(table, 'coefficients');
  const intercept = number(table, 'intercept');
  const columns = regressionColumns(stage, coefficients.length);
  linearRegression(stage.plan, { ...columns, coefficients, intercept }, stage.place);
  explainSums(stage, coefficients, Float64Array.of(intercept));
};

const lowerGlm: Lower = async (stage) => {
  const { params } = stage;
  const table = await stage.folder.table();
  const coefficients = vector(table, 'coefficients');
  const intercept = number(table, 'intercept');
  const features = featuresOf(stage, coefficients.length);
  const offsetCol = params.text('offsetCol', '');
  const offset = offsetCol === '' ? undefined : stage.input('offsetCol', NUMBER).column;
  const prediction = predictionOf(stage, 'double');
  const linkPrediction = stage.optional('linkPredictionCol', '', { type: 'double' });
  predictsAs(stage, ['predictionCol', 'linkPredictionCol']);
  const function_ = familyAndLink(stage);
  generalizedLinearRegression(
    stage.plan,
    { features, offset, prediction, linkPrediction, coefficients, intercept, ...function_ },
    stage.place,
  );
  // An offset is no feature, and no part of the intercept.
  if (offset === undefined) explainSums(stage, coefficients, Float64Array.of(intercept));
};

const CANONICAL: Readonly<Record<Exclude<GlmFamily, 'tweedie'>, GlmLink>> = {
  gaussian: 'identity',
  binomial: 'logit',
  poisson: 'log',
  gamma: 'inverse',
};
/** Tweedie distributions with their own names, by the power of their variance. */
const NAMED: Readonly<Record<string, Exclude<GlmFamily, 'tweedie'>>> = {
  0: 'gaussian',
  1: 'poisson',
  2: 'gamma',
};
const POWERS: Readonly<Record<string, GlmLink>> = {
  0: 'log',
  1: 'identity',
  [-1]: 'inverse',
  0.5: 'sqrt',
};

function familyAndLink(stage: Stage) {
  const { params } = stage;
  const family: GlmFamily = params.choice('family', GLM_FAMILIES, 'gaussian');
  if (family !== 'tweedie') {
    const link = params.choice('link', GLM_LINKS, CANONICAL[family]);
    return { family, link };
  }
  const power = params.number('variancePower', 0);
  const named = NAMED[power];
  if (!params.has('linkPower') && named !== undefined) {
    return { family: named, link: CANONICAL[named] };
  }
  const linkPower = params.has('linkPower') ? params.number('linkPower') : 1 - power;
  const link = params.has('linkPower') ? (POWERS[linkPower] ?? 'power') : 'power';
  return { family: named ?? family, link, ...(link === 'power' ? { linkPower } : {}) };
}

const lowerAft: Lower = async (stage) => {
  const { params } = stage;
  const table = await stage.folder.table();
  const coefficients = vector(table, 'coefficients');
  const probabilities = Float64Array.from(
    params.numbers('quantileProbabilities', [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]),
  );
  const { features, prediction } = regressionColumns(stage, coefficients.length);
  const quantiles = stage.optional('quantilesCol', '', {
    type: 'vector',
    attributes: { size: probabilities.length },
  });
  predictsAs(stage, ['predictionCol', 'quantilesCol']);
  aftSurvivalRegression(
    stage.plan,
    {
      features,
      prediction,
      quantiles,
      coefficients,
      intercept: number(table, 'intercept'),
      scale: number(table, 'scale'),
      quantileProbabilities: probabilities,
    },
    stage.place,
  );
};

const lowerIsotonic: Lower = async (stage) => {
  const table = await stage.folder.table();
  const features = stage.input('featuresCol', VECTOR, 'features').column;
  isotonicRegression(
    stage.plan,
    {
      features,
      prediction: predictionOf(stage, 'double'),
      boundaries: numbersCell(table.column(['boundaries'], 0)[0], 'boundaries'),
      predictions: numbersCell(table.column(['predictions'], 1)[0], 'predictions'),
      featureIndex: stage.params.integer('featureIndex', 0),
    },
    stage.place,
  );
};

function factorization(table: Table) {
  const {
    rows,
    columns: size,
    values: factors,
  } = matrixCell(table.column(['factors'])[0], 'factors');
  const linear = vector(table, 'linear');
  if (linear.length !== rows && linear.length !== 0) {
    throw new StageProblem(
      `expected equal counts, got ${rows} rows in factors and ${linear.length} values in linear`,
    );
  }
  return { intercept: number(table, 'intercept'), linear, factors, size, rows };
}

const lowerFmRegression: Lower = async (stage) => {
  const { rows, ...model } = factorization(await stage.folder.table());
  fmRegression(stage.plan, { ...regressionColumns(stage, rows), ...model }, stage.place);
};

const lowerFmClassification: Lower = async (stage) => {
  const { rows, ...model } = factorization(await stage.folder.table());
  const columns = classifierColumns(stage, rows, 2);
  const thresholds = thresholdsOf(stage, 2);
  fmClassifier(
    stage.plan,
    { ...columns, ...model, ...(thresholds === undefined ? {} : { thresholds }) },
    stage.place,
  );
};

export const LINEAR_STAGES: Readonly<Record<string, Lower>> = {
  LogisticRegressionModel: lowerLogisticRegression,
  LinearSVCModel: lowerLinearSvc,
  LinearRegressionModel: lowerLinearRegression,
  GeneralizedLinearRegressionModel: lowerGlm,
  AFTSurvivalRegressionModel: lowerAft,
  IsotonicRegressionModel: lowerIsotonic,
  FMRegressionModel: lowerFmRegression,
  FMClassificationModel: lowerFmClassification,
};
