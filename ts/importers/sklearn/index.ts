// Imports .skops files: models of scikit-learn, without Python. Importer's worker thread.
import { modelInvalid, reasonOf, ServalError } from '../../base/errors.js';
import { type ModelFiles, openModelFiles } from '../plan/archive/index.js';
import { PlanBuilder } from '../plan/builder.js';
import type { Plan } from '../plan/generated/plan.js';
import type { TabularSettings } from '../plan/imported.js';
import { addAnyExplanation } from '../plan/explain.js';
import { featureNames } from './frame/features.js';
import { type ElementKind, Fields } from './frame/fields.js';
import type { Frame, Lowering } from './frame/frame.js';
import { labelOf } from './frame/names.js';
import type { Result } from './frame/step.js';
import { lowerEstimator } from './lower.js';
import { addOutputs } from './outputs.js';
import { type Opened, openParts, openSkops } from './read/file.js';

export interface LoweredSklearn {
  readonly plan: Plan;
  readonly warnings: readonly string[];
  /** The features that Shapley values are of; empty: they have no names. */
  readonly features?: readonly string[];
}

/** Errors: ServalError MODEL_INVALID: no such file, what is broken or not supported of it. */
export async function importSklearn(
  path: string,
  settings?: Partial<TabularSettings>,
): Promise<LoweredSklearn> {
  const files = await openModelFiles(path);
  try {
    return await lowerSklearn(path, files, settings);
  } finally {
    await files.close();
  }
}

/** Same as importSklearn(), of files that are open. */
export async function lowerSklearn(
  path: string,
  files: ModelFiles,
  { answer }: Partial<TabularSettings> = {},
): Promise<LoweredSklearn> {
  return guarded(path, async () => lowerOpened(await openSkops(files), answer?.server));
}

/** Same as importSklearn(), of the files' bytes by name. */
export async function importSklearnParts(
  path: string,
  parts: ReadonlyMap<string, Uint8Array>,
): Promise<LoweredSklearn> {
  return guarded(path, () => Promise.resolve(lowerOpened(openParts(parts), undefined)));
}

async function guarded(
  path: string,
  lower: () => Promise<LoweredSklearn>,
): Promise<LoweredSklearn> {
  try {
    return await lower();
  } catch (error) {
    if (error instanceof ServalError) throw error;
    throw modelInvalid(path, `scikit-learn model: ${reasonOf(error)}`);
  }
}

function lowerOpened({ root }: Opened, server: string | undefined): LoweredSklearn {
  if (server === 'fil') throw new RangeError('expected a model of XGBoost or LightGBM');
  const names = featureNames(root);
  const version = root.find('_sklearn_version')?.plain();
  const producer = typeof version === 'string' ? `scikit-learn ${version}` : 'scikit-learn';
  const run = (kinds?: ReadonlyMap<number, ElementKind>): Run => {
    const builder = new PlanBuilder('sklearn', producer);
    builder.nanIsMissing = true;
    const lowering: Lowering = {
      builder,
      fields: new Fields(builder, names, kinds),
      lower: (item, frame, place) => lowerEstimator(lowering, item, frame, place),
    };
    const frame = names.map((_, feature) => ({ feature }));
    const result = lowerEstimator(lowering, root, frame, root.className);
    addOutputs(lowering, result, server === 'mlserver');
    return { lowering, explained: explain(builder, result) };
  };
  const { lowering, explained } = run(run().lowering.fields.kinds);
  const plan = { ...lowering.builder.finish(), lazy: true };
  if (explained === undefined) return { plan, warnings: [] };
  const features = explained.flatMap((element) => labelOf(lowering.fields, element) ?? []);
  return { plan, warnings: [], features: features.length === explained.length ? features : [] };
}

interface Run {
  readonly lowering: Lowering;
  /** The features of the explanation; undefined: there is none. */
  readonly explained: Frame | undefined;
}

/** Adds the outputs that explain the model. */
function explain(builder: PlanBuilder, result: Result): Frame | undefined {
  const { explained } = 'explained' in result ? result : {};
  if (explained === undefined) return undefined;
  addAnyExplanation(builder, explained.by);
  return explained.frame;
}
