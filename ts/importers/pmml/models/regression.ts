// Lowers RegressionModel to the stage pmml.regression. Importer's worker thread.
// Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import type { RegressionNormalization } from '../../plan/generated/stages.js';
import type { Value } from '../../plan/generated/plan.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { isFloat } from '../vendor.js';
import { type XmlElement, children } from '../xml/reader.js';
import { InputList, Rows, needed, oneOf, real } from './reading.js';
import {
  explainedRegression,
  type RegressionTerm,
  type RegressionTerms,
} from '../answers/regression-explained.js';

const REGRESSION: readonly RegressionNormalization[] = [
  'none',
  'softmax',
  'logit',
  'exp',
  'probit',
  'cloglog',
  'loglog',
  'cauchit',
];
const CLASSIFICATION: readonly RegressionNormalization[] = [
  'none',
  'simplemax',
  'softmax',
  'logit',
  'probit',
  'cloglog',
  'loglog',
  'cauchit',
];

interface Tables {
  readonly intercepts: number[];
  readonly numericRows: Rows;
  readonly numericInputs: number[];
  readonly numericExponents: number[];
  readonly numericCoefficients: number[];
  readonly categoryRows: Rows;
  readonly categoryInputs: number[];
  readonly categoryValues: Value[];
  readonly categoryCoefficients: number[];
  readonly productRows: Rows;
  readonly productCoefficients: number[];
  readonly productParts: Rows;
  readonly productInputs: number[];
}

function noTables(): Tables {
  return {
    intercepts: [],
    numericRows: new Rows(),
    numericInputs: [],
    numericExponents: [],
    numericCoefficients: [],
    categoryRows: new Rows(),
    categoryInputs: [],
    categoryValues: [],
    categoryCoefficients: [],
    productRows: new Rows(),
    productCoefficients: [],
    productParts: new Rows(),
    productInputs: [],
  };
}

function fieldOf(context: ModelContext, element: XmlElement): string {
  return (
    element.attributes['name'] ?? element.attributes['field'] ?? needed(context, element, 'name')
  );
}

function addTable(
  table: XmlElement,
  context: ModelContext,
  inputs: InputList,
  into: Tables,
): RegressionTerms {
  const terms: RegressionTerm[] = [];
  const columnOf = (input: number): Column => inputs.columns[input] as Column;
  const intercept = real(context, table, 'intercept', 0);
  into.intercepts.push(intercept);
  const numeric = children(table, 'NumericPredictor');
  for (const predictor of numeric) {
    const field = fieldOf(context, predictor);
    const input = inputs.number(field, predictor);
    const exponent = real(context, predictor, 'exponent', 1);
    const coefficient = real(context, predictor, 'coefficient');
    into.numericInputs.push(input);
    into.numericExponents.push(exponent);
    into.numericCoefficients.push(coefficient);
    terms.push({ field, column: columnOf(input), coefficient, exponent });
  }
  into.numericRows.add(numeric.length);
  const categorical = children(table, 'CategoricalPredictor');
  for (const predictor of categorical) {
    const text = needed(context, predictor, 'value');
    const field = fieldOf(context, predictor);
    const { input, value } = inputs.category(field, text, predictor);
    const coefficient = real(context, predictor, 'coefficient');
    into.categoryInputs.push(input);
    into.categoryValues.push(value);
    into.categoryCoefficients.push(coefficient);
    terms.push({ field, column: columnOf(input), coefficient, category: { value } });
  }
  into.categoryRows.add(categorical.length);
  const products = children(table, 'PredictorTerm');
  for (const product of products) {
    into.productCoefficients.push(real(context, product, 'coefficient'));
    const parts = children(product, 'FieldRef');
    for (const part of parts) into.productInputs.push(productInput(context, inputs, part));
    into.productParts.add(parts.length);
  }
  into.productRows.add(products.length);
  return { intercept, terms, hasProducts: products.length > 0 };
}

function productInput(context: ModelContext, inputs: InputList, part: XmlElement): number {
  const name = needed(context, part, 'field');
  if (part.attributes['mapMissingTo'] === undefined) return inputs.number(name, part);
  return inputs.column(context.input(name, context.expression(part), 'double', part));
}

export const lowerRegression: LowerModel = (model, context): ModelResult => {
  const classification = context.functionName === 'classification';
  const known = classification ? CLASSIFICATION : REGRESSION;
  const normalization = oneOf(context, model, 'normalizationMethod', known, 'none');
  if (isFloat(model) && normalization === 'probit') {
    const reason = 'x-mathContext="float" with normalizationMethod="probit" is not supported';
    context.problems.add(context.place(model), reason);
  }
  const tables = children(model, 'RegressionTable');
  if (classification ? tables.length < 2 : tables.length !== 1) {
    const count =
      tables.length === 1 ? 'is 1 RegressionTable' : `are ${tables.length} RegressionTables`;
    context.problems.add(context.place(model), `there ${count} for ${context.functionName}`);
    return {};
  }
  const inputs = new InputList(context);
  const made = noTables();
  const terms = tables.map((table) => addTable(table, context, inputs, made));
  const isMargin = classification || normalization !== 'none';
  const explanation = () => {
    const found = explainedRegression(terms, context, model);
    return found === undefined ? undefined : { ...found, isMargin };
  };
  const column = context.plan.column(
    classification ? 'probability' : 'predicted',
    classification ? 'vector' : 'double',
  );
  const attributes = {
    classification,
    ordinal: classification && context.target?.optype === 'ordinal',
    normalization,
    single: isFloat(model),
    intercepts: Float64Array.from(made.intercepts),
    numeric_rows: made.numericRows.starts,
    numeric_inputs: Int32Array.from(made.numericInputs),
    numeric_exponents: Float64Array.from(made.numericExponents),
    numeric_coefficients: Float64Array.from(made.numericCoefficients),
    category_rows: made.categoryRows.starts,
    category_inputs: Int32Array.from(made.categoryInputs),
    category_values: { values: made.categoryValues },
    category_coefficients: Float64Array.from(made.categoryCoefficients),
    product_rows: made.productRows.starts,
    product_coefficients: Float64Array.from(made.productCoefficients),
    product_parts: made.productParts.starts,
    product_inputs: Int32Array.from(made.productInputs),
  };
  context.plan.stage('pmml.regression', inputs.columns, [column], attributes, context.place(model));
  if (!classification) return { predicted: column, explanation };
  const labels = tables.map((table) => needed(context, table, 'targetCategory'));
  const twice = labels.find((label, i) => labels.indexOf(label) !== i);
  if (twice !== undefined) {
    context.problems.add(context.place(model), `expected one table for '${twice}', got two`);
  }
  const probabilities = { column, labels };
  return { predicted: context.classify(probabilities, model), probabilities, explanation };
};
