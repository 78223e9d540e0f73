// Imports a folder (or an archive of one) that Yggdrasil Decision Forests has saved: random
// forests, gradient boosted trees, isolation forests. Importer's worker thread.
import { modelInvalid, reasonOf, ServalError } from '../../../base/errors.js';
import { ydfPrefix } from '../../../base/file-names.js';
import { BOOSTER_BYTES_MAX } from '../../../base/limits.js';
import { type ModelFiles, openModelFiles } from '../../plan/archive/index.js';
import { PlanBuilder } from '../../plan/builder.js';
import type { TabularSettings } from '../../plan/imported.js';
import { type Ensemble, PARTS, readEnsemble } from '../../ydf/ensemble.js';
import type { Lowered } from '../lowered.js';
import { addAnswers } from './answers.js';
import { ydfFields } from './fields.js';
import { addSums } from './sums.js';

export interface LoweredYdf extends Lowered {
  readonly examples: Readonly<Record<string, string>>;
}

/** Errors: ServalError MODEL_INVALID: no such folder, what is broken or not supported of it. */
export async function importYdf(
  path: string,
  settings?: Partial<TabularSettings>,
): Promise<LoweredYdf> {
  const files = await openModelFiles(path);
  try {
    return await lowerYdf(path, files, settings);
  } finally {
    await files.close();
  }
}

/** Same as importYdf(), of files that are open. */
export async function lowerYdf(
  path: string,
  files: ModelFiles,
  { answer }: Partial<TabularSettings> = {},
): Promise<LoweredYdf> {
  const prefix = ydfPrefix(files.names);
  if (prefix === undefined) {
    throw modelInvalid(path, 'expected one model: a file header.pb beside data_spec.pb');
  }
  if (answer !== undefined) {
    throw modelInvalid(path, 'YDF model: expected a model of XGBoost or LightGBM');
  }
  const parts = new Map<string, Uint8Array>();
  for (const name of files.names) {
    if (!name.startsWith(prefix) || !PARTS.test(name.slice(prefix.length))) continue;
    const size = files.size(name);
    if (size > BOOSTER_BYTES_MAX) {
      throw modelInvalid(path, `${name}: expected at most ${BOOSTER_BYTES_MAX} bytes, got ${size}`);
    }
    parts.set(name.slice(prefix.length), await files.read(name));
  }
  return lowerParts(path, parts);
}

/**
 * Same as importYdf(), of the files' contents by their names without the prefix.
 */
export function lowerParts(path: string, parts: ReadonlyMap<string, Uint8Array>): LoweredYdf {
  try {
    return lower(readEnsemble(parts));
  } catch (error) {
    if (error instanceof ServalError) throw modelInvalid(path, `YDF model: ${error.message}`);
    throw modelInvalid(path, `YDF model: ${reasonOf(error)}`);
  }
}

function lower(ensemble: Ensemble): LoweredYdf {
  const { header, columns } = ensemble;
  const { framework } = header;
  const builder = new PlanBuilder('ydf', framework === '' ? 'YDF' : `YDF (${framework})`);
  const fields = ydfFields(builder, columns, header.features);
  builder.matrix = fields.matrix;
  const sums = addSums(builder, ensemble, fields.features);
  addAnswers(builder, ensemble, sums);
  return { plan: builder.finish(), warnings: [], examples: fields.examples };
}
