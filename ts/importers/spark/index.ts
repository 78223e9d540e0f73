// Lowers a model that Spark ML has saved to a plan: a folder, or an archive of it, with metadata/
// and stages/ (a pipeline) or data/ (one stage). Importer's worker thread.
// Source: tabular.md 5
import { PlanBuilder } from '../plan/builder.js';
import { openModelFiles } from '../plan/archive/index.js';
import type { Plan } from '../plan/generated/plan.js';
import type { TabularSettings } from '../plan/imported.js';
import { Problems } from '../plan/problems.js';
import { Frame } from './lower/frame.js';
import { finishOutputs } from './lower/outputs.js';
import { lowerFolder } from './lower/pipeline.js';
import type { Model } from './lower/stage.js';
import { zoneOf } from '../plan/zones.js';
import { type ModelFiles, StageFolder } from './read/folder.js';
import { StageProblem } from './read/problem.js';

export interface Imported {
  readonly plan: Plan;
  readonly warnings: readonly string[];
  /** The features that Shapley values are of, if they have names. */
  readonly features?: readonly string[];
}

type Settings = Partial<TabularSettings>;

/** Errors: ServalError MODEL_INVALID: no such files, no Spark model, all that is not supported. */
export async function importSpark(path: string, settings?: Settings): Promise<Imported> {
  const files = await openModelFiles(path);
  try {
    return await lowerSpark(files, settings);
  } finally {
    await files.close();
  }
}

/** Same as importSpark(), for files that are already open. */
export async function lowerSpark(files: ModelFiles, settings: Settings = {}): Promise<Imported> {
  const problems = new Problems();
  const what = 'Spark model';
  try {
    const folder = await StageFolder.open(files, '');
    const plan = new PlanBuilder('spark', `Spark ${folder.metadata.sparkVersion}`);
    setZone(plan, problems, settings.timezone ?? '');
    const model: Model = {
      plan,
      problems,
      warnings: [],
      frame: new Frame(plan),
      ansi: ansiOf(problems, settings.ansi ?? ''),
      stages: 0,
      predicting: { stage: -1, names: [] },
    };
    await lowerFolder(model, folder, []);
    problems.throwIfAny(what);
    const finished = finishOutputs(model);
    const { warnings, explained } = model;
    const features = explained?.names;
    return { plan: finished, warnings, ...(features === undefined ? {} : { features }) };
  } catch (error) {
    if (error instanceof StageProblem) problems.add('model', error.message);
    else throw error;
  }
  problems.throwIfAny(what);
  throw new Error('a failed import reported no problem');
}

/** Spark's `spark.sql.ansi.enabled`; undefined: the setting does not say. */
function ansiOf(problems: Problems, ansi: string): boolean | undefined {
  if (ansi === '') return undefined;
  if (ansi !== 'true' && ansi !== 'false') {
    problems.add('the setting spark.ansi', `expected true or false, got '${ansi}'`);
  }
  return ansi === 'true';
}

/** Spark's `spark.sql.session.timeZone`. */
function setZone(plan: PlanBuilder, problems: Problems, timezone: string): void {
  if (timezone === '' || timezone === 'UTC') return;
  try {
    plan.useZone(zoneOf(timezone));
    plan.timezone = timezone;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.add('the setting timezone', error.message);
  }
}
