// OneVsRest: a binary classifier for each class, of which the surest one is right. Importer's
// worker thread. Source: tabular.md 5.1
import type { Column } from '../../../plan/builder.js';
import type { AnyExplanation, LinearExplanation } from '../../../plan/explain.js';
import { oneVsRest } from '../../../plan/ops/classify.js';
import { integerCell } from '../../read/cells.js';
import { own } from '../../read/params.js';
import { need, StageProblem } from '../../read/problem.js';
import type { Attributes } from '../attributes.js';
import { VECTOR } from '../frame.js';
import { type Lower, type Model, Stage } from '../stage.js';
import { predictsAs } from './classifier.js';
import { FOREST_STAGES } from './forest.js';
import { LEARNED_STAGES } from './learned.js';
import { LINEAR_STAGES } from './linear.js';

const CLASSES_MAX = 100_000;

export const lowerOneVsRest: Lower = async (stage) => {
  const classes = countOf(stage);
  const features = stage.params.text('featuresCol', 'features');
  takenFrom(stage.model);
  const raws: Column[] = [];
  const explained: (AnyExplanation | undefined)[] = [];
  for (let i = 0; i < classes; i++) {
    raws.push(await scoresOf(stage, i, features));
    explained.push(takenFrom(stage.model));
  }
  explainScores(stage, explained);
  const attributes: Attributes = {
    scalar: { kind: 'nominal', count: classes, ...labelsOf(stage) },
  };
  const raw = stage.optional('rawPredictionCol', '', {
    type: 'vector',
    attributes: { size: classes },
  });
  const prediction = stage.optional('predictionCol', 'prediction', { type: 'double', attributes });
  predictsAs(stage, ['predictionCol', 'rawPredictionCol']);
  oneVsRest(stage.plan, { raws, raw, prediction }, stage.place);
};

/** The explanation that a model has added, which is removed. */
function takenFrom(model: Model): AnyExplanation | undefined {
  const { explained } = model;
  delete model.explained;
  return explained?.explanation;
}

/** Explains the second score of each model, if all are linear. */
function explainScores(stage: Stage, explained: readonly (AnyExplanation | undefined)[]): void {
  const { column: vector, attributes } = stage.input('featuresCol', VECTOR, 'features');
  const sums = explained.flatMap((each): readonly LinearExplanation[] =>
    each !== undefined && 'coefficients' in each && each.intercepts.length === 2 ? [each] : [],
  );
  const width = (sums[0]?.coefficients.length ?? 0) / 2;
  if (sums.length < explained.length) return;
  if (sums.some(({ coefficients: { length } }) => length !== 2 * width)) return;
  const coefficients = new Float64Array(width * sums.length);
  sums.forEach((sum, i) => coefficients.set(sum.coefficients.subarray(width), i * width));
  const intercepts = Float64Array.from(sums, (sum) => sum.intercepts[1] ?? 0);
  stage.explains({ features: { vector }, coefficients, intercepts }, attributes);
}

/** Python's writer does not say how many there are. */
function countOf(stage: Stage): number {
  const said = stage.metadata.extra('numClasses');
  let classes = said === undefined ? 0 : integerCell(said, 'numClasses');
  if (said === undefined) while (stage.folder.has(`model_${classes}`)) classes += 1;
  if (classes >= 1 && classes <= CLASSES_MAX) return classes;
  throw new StageProblem(`${classes} classes`);
}

/** The scores of one class's model, which reads the same features as all others. */
async function scoresOf(stage: Stage, index: number, features: string): Promise<Column> {
  const name = `${stage.metadata.uid}.model_${index}.rawPrediction`;
  const folder = (await stage.folder.child(`model_${index}`)).withParams({
    featuresCol: features,
    rawPredictionCol: name,
    probabilityCol: '',
    predictionCol: '',
    leafCol: '',
  });
  const { type, className } = folder.metadata;
  const table = [LINEAR_STAGES, FOREST_STAGES, LEARNED_STAGES].find((of) =>
    Object.hasOwn(of, type),
  );
  const lower = need(table?.[type], `model_${index}: class ${className} is not supported here`);
  const { frame } = stage.model;
  await lower(new Stage(stage.model, folder, `${stage.place} model_${index}`));
  const scores = need(frame.find(name), `model_${index}: class ${className} returns no scores`);
  frame.drop([name]);
  return scores.column;
}

/** The classes' names, which Spark keeps of the label's column. */
function labelsOf(stage: Stage): { readonly values?: readonly string[] } {
  const metadata = stage.metadata.extra('labelMetadata');
  let json: unknown = metadata;
  try {
    if (typeof metadata === 'string') json = JSON.parse(metadata);
  } catch {
    return {};
  }
  const attribute = member(json, 'ml_attr');
  const values = member(attribute, 'vals');
  const isTexts = Array.isArray(values) && values.every((value) => typeof value === 'string');
  return isTexts ? { values: values as string[] } : {};
}

function member(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null
    ? own(json as Readonly<Record<string, unknown>>, name)
    : undefined;
}
