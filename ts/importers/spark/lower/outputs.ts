// The outputs of a Spark model. By default the columns that the last predicting stage and later
// stages made; without such a stage, those that no stage reads. Other columns are returned on
// request: the plan is lazy, so that a run computes them only then. Importer's worker thread.
// Source: tabular.md 2.4
import type { Column } from '../../plan/builder.js';
import { addAnyExplanation } from '../../plan/explain.js';
import type { Field, Plan } from '../../plan/generated/plan.js';
import { EXPLANATIONS } from '../../../model/explanation-names.js';
import { StageProblem } from '../read/problem.js';
import type { Variable } from './frame.js';
import { liveColumns } from './prune.js';
import type { Model } from './stage.js';

/** Adds the outputs to the plan, and returns the plan without the stages that none of them needs.
 * Like Spark, a run computes only the columns that are looked at, so a label's indexer, which fails
 * on a row without label, is not in the way of a prediction.
 * Errors: StageProblem where there is nothing to answer. */
export function finishOutputs(model: Model): Plan {
  const made = model.frame.variables.filter(({ madeBy }) => madeBy >= 0);
  const defaults = defaultOutputs(model, made);
  if (defaults.length === 0) throw new StageProblem('the model adds no column');
  const isDefault = new Set(defaults);
  for (const variable of defaults) addOutput(model, variable, false);
  for (const variable of made) if (!isDefault.has(variable)) addOutput(model, variable, true);
  const kept = explain(model);
  const plan = liveColumns(model.plan.finish(), kept);
  return {
    ...plan,
    lazy: true,
    fields: (plan.fields ?? []).map((field) => described(model, field)),
  };
}

/** Adds the outputs that explain what the model predicts; returns the columns of its trees. */
function explain({ plan, explained, predicting, frame }: Model): readonly Column[] {
  if (explained === undefined || explained.stage !== predicting.stage) return [];
  const isTaken = EXPLANATIONS.some((name) => frame.find(name) !== undefined);
  if (isTaken) return [];
  const { explanation } = explained;
  addAnyExplanation(plan, explanation);
  return 'forests' in explanation ? explanation.forests.map(({ column }) => column) : [];
}

/** Fields are known by what stages take them as, the first of them that says. */
function described(model: Model, field: Field): Field {
  const use = model.frame.useOf(field.column ?? 0);
  return use === undefined ? field : { ...field, ...use };
}

function defaultOutputs(model: Model, made: readonly Variable[]): readonly Variable[] {
  const { stage, names } = model.predicting;
  if (stage >= 0) {
    const late = made.filter(({ madeBy }) => madeBy >= stage);
    const rank = ({ name, madeBy }: Variable): number => {
      const at = madeBy === stage ? names.indexOf(name) : -1;
      return at < 0 ? names.length : at;
    };
    if (late.length > 0) return late.sort((a, b) => rank(a) - rank(b));
  }
  return made.filter(({ column }) => !model.frame.isUsed(column));
}

function addOutput({ plan }: Model, variable: Variable, extra: boolean): void {
  const { name, column, type, attributes } = variable;
  const element = type === 'list' ? plan.elementOf(column) : undefined;
  const { size } = attributes;
  plan.output({
    name,
    column,
    type,
    ...(element === undefined ? {} : { element }),
    ...(type === 'vector' && size !== undefined ? { size } : {}),
    extra,
  });
}
