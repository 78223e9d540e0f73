// Finds the one model that a path means. Control plane; reads folders.
import { placeOf, type ModelPath } from '../../../config/values/model-path.js';
import { configError } from '../../../config/values/values.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { scanSources } from '../../../models/registry/sources/paths/scan-path.js';
import type { FoundModel } from '../../../models/registry/sources/scan.js';
import { echo } from '../../../base/text.js';

const NAMES_SHOWN = 10;

/**
 * `name`: which of several. `isOnly`: the path has no other. Errors: InvalidArgument: no path, no
 * model, several; ModelNotFound: none with this name.
 */
export async function foundModel(
  given: ModelPath,
  name: string | undefined,
): Promise<{ readonly model: FoundModel; readonly name: string; readonly isOnly: boolean }> {
  const { models, problems } = await scanSources({ paths: [given], modelRepositories: [] });
  const where = placeOf(given);
  const names = models.slice(0, NAMES_SHOWN).map((one) => one.name);
  const shown = names.join(', ') + (models.length > names.length ? ', ...' : '');
  if (models.length === 0) {
    throw configError(where, `expected a model, got ${problems.join('; ') || 'none'}`);
  }
  if (name === undefined && models.length > 1) {
    const expected = `expected one model or --model with one of its ${models.length}`;
    throw configError(where, `${expected}: ${shown}`);
  }
  const model = name === undefined ? models[0] : models.find((one) => one.name === name);
  if (model === undefined) {
    const text = `${where}: no model ${echo(name ?? '')}, there is ${shown}`;
    throw new ServalError(ErrorCode.ModelNotFound, text);
  }
  return { model, name: model.name, isOnly: models.length === 1 };
}
