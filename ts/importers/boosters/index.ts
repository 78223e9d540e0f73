// Imports the files of XGBoost, LightGBM and CatBoost, recognised by their content. Importer's
// worker thread.
import { readFile, stat } from 'node:fs/promises';
import { modelInvalid, reasonOf, ServalError } from '../../base/errors.js';
import { BOOSTER_BYTES_MAX } from '../../base/limits.js';
import type { BoosterAnswer } from '../../model/booster-answer.js';
import type { TabularSettings } from '../plan/imported.js';
import { readBooster } from '../plan/xgboost/booster.js';
import { lowerCatboost } from './catboost/index.js';
import { type BoosterKind, boosterKind } from './detect.js';
import { lowerLightgbm } from './lightgbm/index.js';
import type { Lowered } from './lowered.js';
import { lowerXgboost } from './xgboost.js';

const NAMES: Readonly<Record<BoosterKind, string>> = {
  xgboost: 'XGBoost model',
  lightgbm: 'LightGBM model',
  catboost: 'CatBoost model',
};

/** Errors: ServalError MODEL_INVALID: too large, no booster, what is broken of it. */
export async function importBooster(
  path: string,
  { answer }: Pick<TabularSettings, 'answer'> = {},
): Promise<Lowered> {
  const { size } = await stat(path);
  if (size > BOOSTER_BYTES_MAX) {
    throw modelInvalid(path, `expected at most ${BOOSTER_BYTES_MAX} bytes, got ${size}`);
  }
  return importBytes(await readFile(path), path, answer);
}

/** Same as importBooster(), of the file's bytes. */
export function importBytes(bytes: Buffer, path: string, answer?: BoosterAnswer): Lowered {
  const kind = boosterKind(bytes);
  if (kind === undefined) {
    throw modelInvalid(path, 'expected a model that XGBoost, LightGBM or CatBoost has saved');
  }
  try {
    if (kind === 'xgboost') return lowerXgboost(readBooster(bytes), answer);
    if (kind === 'catboost') {
      if (answer !== undefined) throw new RangeError('expected a model of XGBoost or LightGBM');
      return lowerCatboost(bytes);
    }
    return lowerLightgbm(new TextDecoder('utf-8', { fatal: true }).decode(bytes), answer);
  } catch (error) {
    if (error instanceof ServalError) throw error;
    throw modelInvalid(path, `${NAMES[kind]}: ${reasonOf(error)}`);
  }
}
