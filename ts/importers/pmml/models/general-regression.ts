// Lowers GeneralRegressionModel to the stage pmml.general_regression. Importer's worker thread.
// Source: tabular.md 3.2
import type { PmmlLink, RegressionModel } from '../../plan/generated/stages.js';
import type { Value } from '../../plan/generated/plan.js';
import { matrixRows } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { type Baselines, baselines } from './cox.js';
import { InputList, Rows, attempt, needed, neededChild, oneOf, real, valueOf } from './reading.js';

const LINKS: readonly PmmlLink[] = [
  'cloglog',
  'identity',
  'log',
  'logc',
  'logit',
  'loglog',
  'negbin',
  'oddspower',
  'power',
  'probit',
];
const CUMULATIVE: readonly PmmlLink[] = ['logit', 'probit', 'cloglog', 'loglog', 'cauchit'];
const KINDS: Readonly<Record<string, RegressionModel>> = {
  regression: 'linear',
  generalLinear: 'linear',
  generalizedLinear: 'generalized',
  multinomialLogistic: 'multinomial',
  ordinalMultinomial: 'ordinal',
  CoxRegression: 'cox',
};

/** Cells by target category ('' where they have none) and then by parameter. */
type Cells = Map<string, Map<string, XmlElement[]>>;

function grouped(context: ModelContext, cells: readonly XmlElement[]): Cells {
  const groups: Cells = new Map();
  for (const cell of cells) {
    const category = cell.attributes['targetCategory'] ?? '';
    const parameter = needed(context, cell, 'parameterName');
    const group = groups.get(category) ?? new Map<string, XmlElement[]>();
    groups.set(category, group);
    group.set(parameter, [...(group.get(parameter) ?? []), cell]);
  }
  return groups;
}

/** The designs and equations of one model, as the stage has them. */
class Designs {
  readonly factorRows = new Rows();
  readonly factorInputs: number[] = [];
  readonly factorValues: Value[] = [];
  readonly factorContrasts: number[] = [];
  readonly contrastRows = new Rows();
  readonly contrastValues: Value[] = [];
  readonly contrastNumbers: number[] = [];
  readonly covariateRows = new Rows();
  readonly covariateInputs: number[] = [];
  readonly covariateExponents: number[] = [];
  readonly equationRows = new Rows();
  readonly equationDesigns: number[] = [];
  readonly equationBetas: number[] = [];
  readonly #context: ModelContext;
  readonly #inputs: InputList;
  readonly #factors: ReadonlyMap<string, XmlElement>;
  readonly #covariates: ReadonlyMap<string, XmlElement>;
  readonly #cells: Cells;
  readonly #made = new Map<string, number>();
  #contrasts = 0;

  constructor(context: ModelContext, model: XmlElement, inputs: InputList) {
    this.#context = context;
    this.#inputs = inputs;
    this.#factors = predictors(context, child(model, 'FactorList'));
    this.#covariates = predictors(context, child(model, 'CovariateList'));
    const matrix = neededChild(context, model, 'PPMatrix');
    this.#cells = grouped(context, matrix === undefined ? [] : children(matrix, 'PPCell'));
  }

  /** An equation: the cells' parameters by their designs for the category. */
  equation(category: string, cells: readonly XmlElement[]): void {
    const context = this.#context;
    for (const cell of cells) {
      const parameter = needed(context, cell, 'parameterName');
      this.equationDesigns.push(this.#design(category, parameter));
      this.equationBetas.push(real(context, cell, 'beta'));
    }
    this.equationRows.add(cells.length);
  }

  /** The number of the parameter's design; -1 if it has no cells. */
  #design(category: string, parameter: string): number {
    const of = this.#cells.has(category) ? category : '';
    const cells = this.#cells.get(of)?.get(parameter);
    if (cells === undefined) return -1;
    const key = JSON.stringify([of, parameter]);
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const [factors, covariates] = [this.factorInputs.length, this.covariateInputs.length];
    for (const cell of cells) this.#cell(cell);
    this.factorRows.add(this.factorInputs.length - factors);
    this.covariateRows.add(this.covariateInputs.length - covariates);
    this.#made.set(key, this.#made.size);
    return this.#made.size - 1;
  }

  #cell(cell: XmlElement): void {
    const context = this.#context;
    const name = needed(context, cell, 'predictorName');
    const factor = this.#factors.get(name);
    if (factor !== undefined) {
      const text = needed(context, cell, 'value');
      const { input, value } = this.#inputs.category(name, text, cell);
      this.factorInputs.push(input);
      this.factorValues.push(value);
      this.factorContrasts.push(this.#contrast(factor, name, text, cell));
    } else if (this.#covariates.has(name)) {
      this.covariateInputs.push(this.#inputs.number(name, cell));
      this.covariateExponents.push(real(context, cell, 'value'));
    } else {
      context.problems.add(context.place(cell), `'${name}' is neither a factor nor a covariate`);
    }
  }

  /** A factor's column of its contrast matrix; -1: it has none. */
  #contrast(factor: XmlElement, name: string, text: string, cell: XmlElement): number {
    const context = this.#context;
    const matrix = child(factor, 'Matrix');
    if (matrix === undefined) return -1;
    const list = neededChild(context, factor, 'Categories');
    const categories = children(list ?? factor, 'Category').map((each) =>
      needed(context, each, 'value'),
    );
    const rows = attempt(context, matrix, [], () => matrixRows(matrix));
    const at = categories.indexOf(text);
    if (at < 0) {
      context.problems.add(context.place(cell), `'${text}' is not a category of '${name}'`);
      return -1;
    }
    const { dataType } = context.fieldInfo(name);
    for (const [i, category] of categories.entries()) {
      const number = rows[i]?.[at];
      if (number === undefined) {
        const size = `${categories.length} categories`;
        context.problems.add(context.place(matrix), `expected a number for each of ${size}`);
        return -1;
      }
      this.contrastValues.push(valueOf(context, factor, category, dataType));
      this.contrastNumbers.push(number);
    }
    this.contrastRows.add(categories.length);
    this.#contrasts += 1;
    return this.#contrasts - 1;
  }
}

function predictors(
  context: ModelContext,
  list: XmlElement | undefined,
): ReadonlyMap<string, XmlElement> {
  const all = list === undefined ? [] : children(list, 'Predictor');
  return new Map(all.map((each) => [needed(context, each, 'name'), each]));
}

/** The categories in the order of their equations, the one without an equation last. */
function categoriesOf(
  model: XmlElement,
  context: ModelContext,
  kind: string,
  cells: ReadonlyMap<string, readonly XmlElement[]>,
): string[] {
  const values = context.target?.values ?? [];
  const named = [...cells.keys()].filter((each) => each !== '');
  const reference = model.attributes['targetReferenceCategory'];
  const all = values.length > 0 ? [...values] : named;
  if (values.length === 0 && reference !== undefined) all.push(reference);
  if (kind === 'ordinal' && reference === undefined) return all;
  const without = all.filter((each) => !cells.has(each));
  const last = reference ?? (without.length === 1 ? without[0] : undefined);
  if (last === undefined || !all.includes(last)) {
    const reason = 'the reference category is missing';
    context.problems.add(context.place(model), reason);
    return all;
  }
  return [...all.filter((each) => each !== last), last];
}

/** The equations of a classification; its labels. */
function classEquations(
  model: XmlElement,
  context: ModelContext,
  kind: string,
  designs: Designs,
  cells: ReadonlyMap<string, readonly XmlElement[]>,
): string[] {
  const labels = categoriesOf(model, context, kind, cells);
  if (labels.length < 2 || (kind === 'generalized' && labels.length > 2)) {
    const reason = `expected ${kind === 'generalized' ? '2' : '2 or more'} target categories, got ${labels.length}`;
    context.problems.add(context.place(model), reason);
  }
  for (const label of labels.slice(0, -1)) {
    const own = cells.get(label);
    const shared = cells.get('');
    if (kind === 'ordinal') {
      if (own?.length !== 1) {
        context.problems.add(context.place(model), `expected one intercept for '${label}'`);
      }
      designs.equation(label, [...(shared ?? []), ...(own ?? [])]);
      continue;
    }
    const used = own ?? (labels.length === 2 ? shared : undefined);
    if (used === undefined) {
      context.problems.add(context.place(model), `expected parameters for '${label}', got none`);
    }
    designs.equation(label, used ?? []);
  }
  return labels;
}

/** The link function of the equations' sums, as attributes. */
function linkOf(model: XmlElement, context: ModelContext, kind: string, inputs: InputList) {
  if (kind === 'ordinal' && model.attributes['cumulativeLink'] === undefined) {
    needed(context, model, 'cumulativeLink');
  }
  const link =
    kind === 'generalized'
      ? oneOf(context, model, 'linkFunction', LINKS)
      : kind === 'ordinal'
        ? oneOf(context, model, 'cumulativeLink', CUMULATIVE, 'logit')
        : 'identity';
  const parameter =
    link === 'negbin' ? 'distParameter' : /power/.test(link) ? 'linkParameter' : undefined;
  const linked = kind === 'generalized' || kind === 'ordinal';
  for (const name of ['offsetVariable', 'offsetValue', 'trialsVariable', 'trialsValue']) {
    if (linked || model.attributes[name] === undefined) continue;
    context.problems.add(context.place(model), `${name} of this modelType is not supported`);
  }
  const input = (name: string) => {
    const field = model.attributes[name];
    return field === undefined || !linked ? undefined : inputs.number(field, model);
  };
  return {
    link,
    link_parameter: parameter === undefined ? undefined : { real: real(context, model, parameter) },
    offset_value: { real: real(context, model, 'offsetValue', 0) },
    offset_input: input('offsetVariable'),
    trials_value: { real: real(context, model, 'trialsValue', 1) },
    trials_input: kind === 'ordinal' ? undefined : input('trialsVariable'),
  };
}

function coxOf(
  model: XmlElement,
  context: ModelContext,
  inputs: InputList,
  cells: readonly XmlElement[],
): Baselines | Record<string, never> {
  const table = neededChild(context, model, 'BaseCumHazardTables');
  return table === undefined ? {} : baselines(model, table, context, inputs, cells);
}

export const lowerGeneralRegression: LowerModel = (model, context): ModelResult => {
  const modelType = oneOf(context, model, 'modelType', Object.keys(KINDS));
  const kind = KINDS[modelType] as RegressionModel;
  const classification = context.functionName === 'classification';
  const classes = kind === 'multinomial' || kind === 'ordinal';
  if (classification ? !classes && kind !== 'generalized' : classes) {
    const reason = `modelType="${modelType}" does not fit functionName="${context.functionName}"`;
    context.problems.add(context.place(model), reason);
    return {};
  }
  const inputs = new InputList(context);
  const designs = new Designs(context, model, inputs);
  const matrix = neededChild(context, model, 'ParamMatrix');
  const cells = new Map<string, XmlElement[]>();
  for (const cell of matrix === undefined ? [] : children(matrix, 'PCell')) {
    const category = cell.attributes['targetCategory'] ?? '';
    cells.set(category, [...(cells.get(category) ?? []), cell]);
  }
  let labels: string[] = [];
  if (classification) {
    labels = classEquations(model, context, kind, designs, cells);
  } else {
    const shared = cells.get('');
    if (shared === undefined || cells.size !== 1) {
      context.problems.add(
        context.place(model),
        'the ParamMatrix: expected cells without targetCategory',
      );
    }
    designs.equation('', shared ?? []);
  }
  const type = classification ? 'vector' : 'double';
  const column = context.plan.column(classification ? 'probability' : 'predicted', type);
  const attributes = {
    model: kind,
    classification,
    factor_rows: designs.factorRows.starts,
    factor_inputs: Int32Array.from(designs.factorInputs),
    factor_values: { values: designs.factorValues },
    factor_contrasts: Int32Array.from(designs.factorContrasts),
    contrast_rows: designs.contrastRows.starts,
    contrast_values: { values: designs.contrastValues },
    contrast_numbers: Float64Array.from(designs.contrastNumbers),
    covariate_rows: designs.covariateRows.starts,
    covariate_inputs: Int32Array.from(designs.covariateInputs),
    covariate_exponents: Float64Array.from(designs.covariateExponents),
    equation_rows: designs.equationRows.starts,
    equation_designs: Int32Array.from(designs.equationDesigns),
    equation_betas: Float64Array.from(designs.equationBetas),
    ...linkOf(model, context, kind, inputs),
    ...(kind === 'cox' ? coxOf(model, context, inputs, cells.get('') ?? []) : {}),
  };
  const place = context.place(model);
  context.plan.stage('pmml.general_regression', inputs.columns, [column], attributes, place);
  if (!classification) return { predicted: column };
  const probabilities = { column, labels };
  return { predicted: context.classify(probabilities, model), probabilities };
};
