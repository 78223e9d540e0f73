// Reads MLServer's model-settings.json: the name, version and file of a booster or of a .skops
// file, and settings without effect. Control plane; pure. Source: MLServer's mlserver/settings.py,
// mlserver/utils.py, mlserver/repository/load.py, runtimes/xgboost, runtimes/lightgbm,
// runtimes/sklearn.
import { echo, meant, visible } from '../../../base/text.js';

export const MODEL_SETTINGS_FILE = 'model-settings.json';

export interface ModelSettings {
  /** "" = the folder's. */
  readonly name: string;
  /** undefined: 1. */
  readonly version: string | undefined;
  /** A name in the settings' folder; "" = one of the usual names. */
  readonly file: string;
}

export interface ReadSettings {
  /** undefined: `problem` says why. */
  readonly settings: ModelSettings | undefined;
  readonly problem: string;
  /** The model runs in Python: the files beside the settings may say how to export it. */
  readonly isPython: boolean;
  /** Settings without effect. */
  readonly notes: readonly string[];
}

/** Runtimes of MLServer whose models are boosters: the content of the file decides which. */
const BOOSTERS: ReadonlySet<string> = new Set([
  'mlserver_xgboost.XGBoostModel',
  'mlserver_xgboost.xgboost.XGBoostModel',
  'mlserver_lightgbm.LightGBMModel',
  'mlserver_lightgbm.lightgbm.LightGBMModel',
]);
/** Its models run in Python, except those that skops has saved. */
const SKLEARN: ReadonlySet<string> = new Set([
  'mlserver_sklearn.SKLearnModel',
  'mlserver_sklearn.sklearn.SKLearnModel',
]);
const SKOPS_FILE = /\.skops$/;
const BATCHES = "requests are batched as Serval's own settings say";
const IN_PYTHON = 'no Python runs';
const SHOWN = "metadata is the model's";
/** Settings that are read but have no effect. */
const NO_EFFECT: Readonly<Record<string, string>> = {
  platform: SHOWN,
  versions: SHOWN,
  inputs: SHOWN,
  outputs: SHOWN,
  max_batch_size: BATCHES,
  max_batch_time: BATCHES,
  parallel_workers: IN_PYTHON,
  warm_workers: IN_PYTHON,
  cache_enabled: 'responses are not cached',
};
const PARAMETERS_NO_EFFECT: Readonly<Record<string, string>> = {
  environment_path: IN_PYTHON,
  environment_tarball: IN_PYTHON,
  inference_pool_gid: IN_PYTHON,
  autogenerate_inference_pool_gid: IN_PYTHON,
  format: 'the content decides',
  content_type: 'requests say their own types',
  extra: 'no runtime reads it',
};
const READ = ['name', 'implementation', 'parameters'];
const PARAMETERS_READ = ['uri', 'version'];
const VERSION = /^[1-9]\d{0,17}$/;

/** `path`: of the file, for problems and notes. */
export function readModelSettings(text: string, path: string): ReadSettings {
  const notes: string[] = [];
  try {
    const root = objectOf(JSON.parse(text.replace(/^\uFEFF/, '')), 'the settings');
    const parameters = objectOf(root['parameters'] ?? {}, 'parameters');
    noteOthers(root, READ, NO_EFFECT, `${path}: `, notes);
    noteOthers(parameters, PARAMETERS_READ, PARAMETERS_NO_EFFECT, `${path}: parameters.`, notes);
    const implementation = textOf(root, 'implementation');
    const isSkops = SKLEARN.has(implementation) && SKOPS_FILE.test(textOf(parameters, 'uri'));
    if (!BOOSTERS.has(implementation) && !isSkops) {
      const known = 'mlserver_xgboost.XGBoostModel or mlserver_lightgbm.LightGBMModel';
      const problem = `${path}: implementation: expected ${known}, got ${echo(implementation)}`;
      return { settings: undefined, problem, isPython: implementation !== '', notes };
    }
    const written = textOf(parameters, 'version');
    const version = VERSION.test(written) ? written : undefined;
    if (version === undefined && written !== '') {
      notes.push(`${path}: parameters.version: ${echo(written)} is no number: the version is 1`);
    }
    const settings = { name: textOf(root, 'name'), version, file: fileOf(parameters) };
    return { settings, problem: '', isPython: false, notes };
  } catch (error) {
    const problem = `${path}: ${error instanceof Error ? error.message : String(error)}`;
    return { settings: undefined, problem, isPython: false, notes };
  }
}

function noteOthers(
  of: Readonly<Record<string, unknown>>,
  read: readonly string[],
  noEffect: Readonly<Record<string, string>>,
  prefix: string,
  notes: string[],
): void {
  const known = [...read, ...Object.keys(noEffect)];
  for (const name of Object.keys(of)) {
    if (read.includes(name)) continue;
    const why = Object.hasOwn(noEffect, name) ? noEffect[name] : undefined;
    notes.push(`${prefix}${visible(name)}: ${why ?? `unknown setting${meant(name, known)}`}`);
  }
}

/** Errors: RangeError. */
function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new RangeError(`${what}: expected an object, got ${echo(JSON.stringify(value))}`);
}

/** "" = absent. Errors: RangeError. */
function textOf(of: Readonly<Record<string, unknown>>, name: string): string {
  const value = of[name] ?? '';
  if (typeof value === 'string') return value;
  throw new RangeError(`${name}: expected a text, got ${echo(JSON.stringify(value))}`);
}

/** Errors: RangeError: not a file beside the settings. */
function fileOf(parameters: Readonly<Record<string, unknown>>): string {
  const uri = textOf(parameters, 'uri');
  const file = uri.replace(/^(?:\.\/+)+/, '').replace(/\/+$/, '');
  if (file === '' || file === '.') return '';
  if (file !== '..' && !/[/\\\0]/.test(file)) return file;
  throw new RangeError(`parameters.uri: expected a file beside the settings, got ${echo(uri)}`);
}
