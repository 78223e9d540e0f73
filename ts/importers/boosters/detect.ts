// Recognises the files of boosters by their front. Pure; any thread.
// Source: XGBoost's doc/model.schema, Universal Binary JSON; LightGBM's gbdt_model_text.cpp;
// CatBoost's model.cpp ("CBM1"), json_model_helpers.cpp.

export type BoosterKind = 'xgboost' | 'lightgbm' | 'catboost';

/** Bytes of a file that boosterKind() needs. */
export const BOOSTER_HEAD_BYTES = 4096;

/** The length of XGBoost's binary structures before the objective's name. */
const BINARY_LEARNER_BYTES = 136;
const OBJECTIVE_BYTES_MAX = 64;

/** undefined: none of them. */
export function boosterKind(head: Buffer): BoosterKind | undefined {
  const text = head.subarray(0, BOOSTER_HEAD_BYTES).toString('latin1');
  if (isXgboost(head, text)) return 'xgboost';
  if (isLightgbm(text)) return 'lightgbm';
  return isCatboost(text) ? 'catboost' : undefined;
}

/** JSON, Universal Binary JSON, and the binary formats before XGBoost 2.1. */
export function isXgboost(head: Buffer, text: string): boolean {
  if (text.startsWith('binf') || text.startsWith('bs64\t')) return true;
  const isUbj = head[0] === 0x7b && head[1] === 0x4c && text.slice(2, 24).includes('learner');
  if (isUbj || isUbjWith(head, text, 'Config') || isUbjWith(head, text, 'Model')) return true;
  if (/^\s*\{/.test(text)) return /"learner"\s*:\s*\{/.test(text);
  return isBinary(head);
}

/** Text alone, not LightGBM's JSON dump. */
export function isLightgbm(text: string): boolean {
  return /^tree\r?\nversion=v\d/.test(text);
}

/** Its own binary format, and JSON. */
export function isCatboost(text: string): boolean {
  if (text.startsWith('CBM1')) return true;
  return /^\s*\{/.test(text) && /"(oblivious_trees|ctr_data|features_info)"\s*:/.test(text);
}

/** A pickled or snapshotted booster has its parts first. */
function isUbjWith(head: Buffer, text: string, key: string): boolean {
  return head[0] === 0x7b && head[1] === 0x4c && text.slice(10, 10 + key.length) === key;
}

/** Structures without a mark: the name of the objective follows the first. */
function isBinary(head: Buffer): boolean {
  const at = BINARY_LEARNER_BYTES;
  if (head.length < at + 8 + OBJECTIVE_BYTES_MAX) return false;
  const length = head.readBigUInt64LE(at);
  if (length < 3 || length > OBJECTIVE_BYTES_MAX) return false;
  const name = head.toString('latin1', at + 8, at + 8 + Number(length));
  return /^(binary|reg|multi|rank|count|survival):[a-z0-9_]+$/.test(name);
}
