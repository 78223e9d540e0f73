// Folders with the results of other systems that tests compare ours with, outside the checkout:
// unpacked from test/goldens, or made once by the scripts of test/fixtures. Test time only.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../ts/base/package-files.js';

const MAKERS = {
  tensorflow: { variable: 'SERVAL_TF_GOLDENS', script: ['tensorflow', 'goldens.sh'], args: [] },
  decoders: { variable: 'SERVAL_DECODER_GOLDENS', script: ['decoders', 'goldens.sh'], args: [] },
  edges: { variable: 'SERVAL_EDGE_GOLDENS', script: ['edges', 'goldens.sh'], args: [] },
  scans: { variable: 'SERVAL_SCAN_GOLDENS', script: ['scans', 'goldens.sh'], args: [] },
  windows: { variable: 'SERVAL_WINDOW_GOLDENS', script: ['windows', 'goldens.sh'], args: [] },
  keras: { variable: 'SERVAL_KERAS_GOLDENS', script: ['keras', 'goldens.sh'], args: [] },
  'estimators 1.15': {
    variable: 'SERVAL_ESTIMATORS_1_GOLDENS',
    script: ['estimators', 'goldens.sh'],
    args: ['1.15'],
  },
  'estimators 2.8': {
    variable: 'SERVAL_ESTIMATORS_2_GOLDENS',
    script: ['estimators', 'goldens.sh'],
    args: ['2.8'],
  },
  spark: { variable: 'SERVAL_SPARK_GOLDENS', script: ['tabular', 'goldens.sh'], args: ['spark'] },
  ansi: { variable: 'SERVAL_ANSI_GOLDENS', script: ['tabular', 'goldens.sh'], args: ['ansi'] },
  pmml: { variable: 'SERVAL_PMML_GOLDENS', script: ['tabular', 'goldens.sh'], args: ['pmml'] },
  jpmml: { variable: 'SERVAL_JPMML_GOLDENS', script: ['tabular', 'goldens.sh'], args: ['jpmml'] },
  documents: {
    variable: 'SERVAL_PMML_DOCUMENTS',
    script: ['tabular', 'goldens.sh'],
    args: ['documents'],
  },
  sparkml: {
    variable: 'SERVAL_SPARKML_GOLDENS',
    script: ['tabular', 'goldens.sh'],
    args: ['sparkml'],
  },
  classifiers: { variable: 'SERVAL_ONNX_GOLDENS', script: ['onnx', 'goldens.sh'], args: [] },
  boosters: {
    variable: 'SERVAL_ONNX_BOOSTERS',
    script: ['onnx', 'goldens.sh'],
    args: ['boosters'],
  },
  trees: { variable: 'SERVAL_TREE_GOLDENS', script: ['trees', 'goldens.sh'], args: [] },
  forests: { variable: 'SERVAL_FOREST_GOLDENS', script: ['forests', 'goldens.sh'], args: [] },
  explained: {
    variable: 'SERVAL_EXPLAINED_GOLDENS',
    script: ['explained', 'goldens.sh'],
    args: [],
  },
  shapley: { variable: 'SERVAL_SHAPLEY_GOLDENS', script: ['shapley', 'goldens.sh'], args: [] },
  tflite: { variable: 'SERVAL_TFLITE_GOLDENS', script: ['tflite', 'goldens.sh'], args: [] },
  skops: { variable: 'SERVAL_SKOPS_GOLDENS', script: ['skops', 'goldens.sh'], args: [] },
  ydf: { variable: 'SERVAL_YDF_GOLDENS', script: ['ydf', 'goldens.sh'], args: [] },
  mleap: { variable: 'SERVAL_MLEAP_GOLDENS', script: ['tabular', 'goldens.sh'], args: ['mleap'] },
} as const;

const CANNOT_BE_MADE = 77;

const scriptOf = (path: readonly string[]): string =>
  join(packageRoot(), 'test', 'fixtures', ...path);

type Kind = keyof typeof MAKERS;

/** The goldens in test/goldens: all but those of TensorFlow's operators, which are 150 MB. */
export const PACKED = (Object.keys(MAKERS) as Kind[]).filter((kind) => kind !== 'tensorflow');

/** The archive of goldens in test/goldens: its name changes with the generator and its lock. */
export function archiveOf(kind: Kind): string {
  const { script, args } = MAKERS[kind];
  const env = { ...process.env, SERVAL_GOLDENS: 'name' };
  return `${execFileSync(scriptOf(script), args, { encoding: 'utf8', env }).trim()}.tar.xz`;
}

/**
 * The folder that the environment variable names, or the one that the fixture script makes and
 * prints; undefined, with the reason on stderr, if the other system is not available.
 */
export function goldenFolder(of: Kind): string | undefined {
  const { variable, script: path, args } = MAKERS[of];
  const given = process.env[variable];
  if (given !== undefined) return given;
  const script = scriptOf(path);
  const { status, stdout, error } = spawnSync(script, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status === 0) return stdout.trim();
  if (status === CANNOT_BE_MADE) return undefined;
  throw new Error(`${script} ended with ${status}`, { cause: error });
}

/** The folder's subfolders that have a case.json, sorted. */
export function goldenCases(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'case.json')))
    .sort();
}
