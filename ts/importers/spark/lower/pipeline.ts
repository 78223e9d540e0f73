// Goes through the stages of a Spark model, into pipelines and wrappers, and lowers each one by its
// class. What is wrong is noted with its place, and the rest is looked at all the same. Importer's
// worker thread.
import { SPARK_NESTING_MAX, SPARK_STAGES_MAX } from '../../../base/limits.js';
import type { StageFolder } from '../read/folder.js';
import { StageProblem } from '../read/problem.js';
import { LOWERINGS } from './kinds.js';
import { type Model, Stage } from './stage.js';

/** The position of a stage: stage numbers in nested pipelines, from the outermost. */
type Path = readonly number[];

/** Lowers the stage in the folder, with what is in it. */
export async function lowerFolder(model: Model, folder: StageFolder, path: Path): Promise<void> {
  const { type, uid } = folder.metadata;
  const place = path.length === 0 ? `model '${uid}'` : `stage ${path.join('.')} '${uid}'`;
  if (model.stages >= SPARK_STAGES_MAX) {
    throw new StageProblem(`expected at most ${SPARK_STAGES_MAX} stages, got more`);
  }
  if (path.length > SPARK_NESTING_MAX) {
    model.problems.add(place, `expected at most ${SPARK_NESTING_MAX} nested pipelines, got more`);
    return;
  }
  const inner = WRAPPERS[type];
  if (type === 'PipelineModel' || type === 'Pipeline') {
    await within(model, place, () => lowerPipeline(model, folder, path));
  } else if (inner !== undefined) {
    await within(model, place, async () => lowerFolder(model, await folder.child(inner), path));
  } else {
    await lowerStage(model, folder, place);
  }
}

// The best one of the models tried, and a formula's own stages.
const WRAPPERS: Readonly<Record<string, string>> = {
  CrossValidatorModel: 'bestModel',
  TrainValidationSplitModel: 'bestModel',
  RFormulaModel: 'pipelineModel',
};

/** The class of the model that this estimator's fit() returns; undefined if it is no estimator. */
function fittedType(type: string): string | undefined {
  const candidates = [
    `${type}Model`,
    type.replace(/Classifier$/, 'ClassificationModel').replace(/Regressor$/, 'RegressionModel'),
  ];
  return candidates.find(
    (one) => one !== type && (Object.hasOwn(LOWERINGS, one) || Object.hasOwn(WRAPPERS, one)),
  );
}

const FITTED_ADVICE = 'save the model that fit() returns';

/** A Pipeline that was not fitted is a model only if none of its stages has anything to learn. */
async function refuseEstimators(folder: StageFolder): Promise<void> {
  for (const [i, name] of folder.stageNames().entries()) {
    const { type, className } = (await folder.child(name)).metadata;
    if (fittedType(type) === undefined) continue;
    const which = `stage ${i} is the estimator ${className}`;
    throw new StageProblem(`this is an unfitted Pipeline (${which}): ${FITTED_ADVICE}`);
  }
}

async function lowerPipeline(model: Model, folder: StageFolder, path: Path): Promise<void> {
  if (folder.metadata.type === 'Pipeline') await refuseEstimators(folder);
  for (const [i, name] of folder.stageNames().entries()) {
    const place = `stage ${[...path, i].join('.')}`;
    await within(model, place, async () =>
      lowerFolder(model, await folder.child(name), [...path, i]),
    );
  }
}

async function lowerStage(model: Model, folder: StageFolder, place: string): Promise<void> {
  const { type, className } = folder.metadata;
  await within(model, place, async () => {
    const lower = Object.hasOwn(LOWERINGS, type) ? LOWERINGS[type] : undefined;
    if (lower === undefined && fittedType(type) !== undefined) {
      throw new StageProblem(`${className} is an estimator, not a model: ${FITTED_ADVICE}`);
    }
    if (lower === undefined) {
      throw new StageProblem(`stages of class ${className} are not supported`);
    }
    if (typeof lower === 'string') throw new StageProblem(`${className}: ${lower}`);
    await lower(new Stage(model, folder, place));
  });
  model.stages += 1;
}

async function within(model: Model, place: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StageProblem)) throw error;
    model.problems.add(place, error.message);
  }
}
