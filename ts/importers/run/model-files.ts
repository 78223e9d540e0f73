// Finds the model file (or folder) of a version by names alone. Control plane; pure. Source:
// tensorflow-import.md 1.1, 3.1; tabular.md 1; Triton's default_model_filename by platform.
import { extname } from 'node:path';
import {
  GRAPH_EXTENSIONS,
  LITE_EXTENSION,
  MLEAP_FILE,
  SAVED_MODEL_FILES,
  SESSION_BUNDLE_FILE,
  SPLIT_SAVED_MODEL_FILE,
  TENSORRT_FILE,
  TRITON_CONFIG_FILE,
  TRITON_SAVED_MODEL,
  ydfPrefix,
} from '../../base/file-names.js';
import { TABULAR_PLATFORMS } from '../../model/platforms.js';
import type { ImportedFormat } from '../plan/imported.js';

/** A tabular model; the format of an archive or a booster is determined when it is loaded. */
export type TabularFormat = ImportedFormat | 'archive' | 'booster';

/**
 * `tensorflow`: SavedModel, session bundle, GraphDef or TensorFlow Lite, determined when it is
 * loaded. `ensemble` and `null`: models without files.
 */
export type ModelFormat = 'onnx' | 'tensorflow' | TabularFormat | 'plan' | 'ensemble' | 'null';

export interface ModelFile {
  readonly format: ModelFormat;
  /**
   * V2 metadata's `platform`: Triton's names, which clients compare; "" = determined by the load.
   */
  readonly platform: string;
  /** Below the version's folder; "" = the folder itself. */
  readonly name: string;
}

/** Triton's name of ONNX models on ONNX Runtime. */
export const ONNX_PLATFORM = 'onnxruntime_onnx';
export const SAVED_MODEL_PLATFORM = 'tensorflow_savedmodel';
export const GRAPH_DEF_PLATFORM = 'tensorflow_graphdef';
/** Serval's own name of TensorFlow Lite's files. */
export const LITE_PLATFORM = 'tensorflow_lite';
/** Triton's name of TensorRT engines. */
export const TENSORRT_PLATFORM = 'tensorrt_plan';
const PLATFORMS: Readonly<Record<TabularFormat, string>> = {
  ...TABULAR_PLATFORMS,
  archive: '',
  booster: '',
};

const ONNX_EXTENSION = '.onnx';
const TENSORRT_EXTENSION = '.plan';
const PMML_EXTENSION = '.pmml';
/** Models of scikit-learn that skops has saved. */
const SKOPS_EXTENSION = '.skops';
/** PMML by its extension. */
const XML_EXTENSION = '.xml';
/** PMML compressed with gzip. */
const PMML_GZIP_EXTENSIONS = ['.pmml.gz', '.xml.gz'] as const;
/** Longest first. A gzip-compressed tar may have any of the last three. */
const ARCHIVE_EXTENSIONS = ['.tar.gz', '.zip', '.tar', '.tgz', '.gz'] as const;
/** Models of XGBoost, LightGBM and CatBoost, whatever the rest of the name. */
const BOOSTER_EXTENSIONS: ReadonlySet<string> = new Set([
  ...['.ubj', '.bst', '.xgb', '.lgb', '.lgbm', '.cbm'],
]);
/** Common extensions: such a model if the rest of the name is one of BOOSTER_STEMS. */
const MAYBE_BOOSTER_EXTENSIONS: ReadonlySet<string> = new Set([
  ...[
    '.xgb.json',
    '.xgb.ubj',
    '.lgb.txt',
    '.lgbm.txt',
    '.cbm.json',
    '.json',
    '.txt',
    '.model',
    '.bin',
  ],
]);
const BOOSTER_STEMS: ReadonlySet<string> = new Set(['model', 'xgboost', 'lightgbm', 'catboost']);
/** Such a model if the configuration names the file; other extensions may be ONNX models. */
const NAMED_BOOSTER_EXTENSIONS: ReadonlySet<string> = new Set(['.json', '.txt', '.model']);
/** Stands for a platform: the configuration says that the model is a booster. */
export const ANY_BOOSTER = 'booster';
/** Files that mark a folder as a SavedModel or a session bundle. */
const FOLDER_MARKS: ReadonlySet<string> = new Set([
  ...SAVED_MODEL_FILES,
  SPLIT_SAVED_MODEL_FILE,
  SESSION_BUNDLE_FILE,
]);
/** Contents of an MLeap bundle. */
const BUNDLE_PARTS = [MLEAP_FILE, 'root'] as const;
/** Contents of every stage that Spark saves; one of the others is present too. */
const SPARK_METADATA = 'metadata';
const SPARK_PARTS: ReadonlySet<string> = new Set(['stages', 'data', 'bestModel', 'pipelineModel']);
/** The base name of files that are models in any folder. */
const MODEL_STEM = 'model';
/** A version's folder, which is not a model. */
const VERSION = /^\d+$/;
/** Files commonly found beside models that are not models. */
const NO_MODELS: ReadonlySet<string> = new Set([
  'fingerprint.pb',
  'keras_metadata.pb',
  'batching_params.pbtxt',
  TRITON_CONFIG_FILE,
  'saved_model_config.pb',
  'schema.json',
  'model-settings.json',
]);
/** Known formats that cannot be loaded: loading them reports that, and what to do. */
const REFUSED: ReadonlySet<string> = new Set(['.keras', '.h5', '.hdf5']);
/** Extensions of such formats, and of those that only their content can tell apart. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...REFUSED,
  ...['.pt', '.pth', '.pt2', '.ckpt', '.pkl', '.pickle', '.joblib', '.safetensors', '.gguf'],
  ...['.ort', '.mlmodel'],
]);

const isTabular = (format: string): format is TabularFormat => Object.hasOwn(PLATFORMS, format);

/** The tabular format; undefined if it is not one. */
export function tabularFormat(format: ModelFormat): TabularFormat | undefined {
  return isTabular(format) ? format : undefined;
}

function tabularFile(format: TabularFormat, name: string): ModelFile {
  return { format, platform: PLATFORMS[format], name };
}

/** A file whose content is that of a booster. */
export const boosterFile = (name: string): ModelFile => tabularFile('booster', name);

const tensorRtFile = (name: string): ModelFile => ({
  format: 'plan',
  platform: TENSORRT_PLATFORM,
  name,
});

/** The extension, with both parts of a compressed file's name ("x.tar.gz": ".tar.gz"). */
export function modelExtension(name: string): string {
  const isIt = (one: string) => name.endsWith(one) && name !== one;
  const booster = [...MAYBE_BOOSTER_EXTENSIONS].find((one) => /\..*\./.test(one) && isIt(one));
  if (booster !== undefined) return booster;
  const packed = PMML_GZIP_EXTENSIONS.find(isIt) ?? ARCHIVE_EXTENSIONS.find(isIt);
  return packed ?? extname(name);
}

const isPmml = (name: string): boolean => /^\.pmml(\.gz)?$/.test(modelExtension(name));

/** The kind of a file with this name; undefined: not a model. */
export function modelFileOf(name: string): ModelFile | undefined {
  const extension = extname(name);
  if (extension === ONNX_EXTENSION) return { format: 'onnx', platform: ONNX_PLATFORM, name };
  if (extension === TENSORRT_EXTENSION) return tensorRtFile(name);
  if (extension === '.savedmodel') {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name };
  }
  if (extension === SKOPS_EXTENSION) return tabularFile('sklearn', name);
  if (extension === PMML_EXTENSION || extension === XML_EXTENSION) return tabularFile('pmml', name);
  if (PMML_GZIP_EXTENSIONS.some((one) => one === modelExtension(name))) {
    return tabularFile('pmml', name);
  }
  if (ARCHIVE_EXTENSIONS.some((one) => one === modelExtension(name))) {
    return tabularFile('archive', name);
  }
  if (isBooster(name)) return tabularFile('booster', name);
  if (extension === LITE_EXTENSION) return { format: 'tensorflow', platform: LITE_PLATFORM, name };
  if (!GRAPH_EXTENSIONS.has(extension) || NO_MODELS.has(name)) return undefined;
  return { format: 'tensorflow', platform: GRAPH_DEF_PLATFORM, name };
}

/** Whether the name is that of a booster, or may be and is a model's. */
function isBooster(name: string): boolean {
  if (BOOSTER_EXTENSIONS.has(extname(name))) return true;
  return MAYBE_BOOSTER_EXTENSIONS.has(modelExtension(name)) && BOOSTER_STEMS.has(stemOf(name));
}

/** Whether the name is that of a model that Serval cannot load. */
export const isRefused = (name: string): boolean => REFUSED.has(extname(name));

/** Whether the name may be that of a model in a format that Serval cannot load. */
export const mayBeForeign = (name: string): boolean => FOREIGN.has(extname(name));

/**
 * The model among the names of a version's folder. `wanted`: the file named by its configuration
 * (or Serval's own rule); if it does not exist, files of other systems are found by their own
 * names. `platform`: as the configuration states; "" = unspecified.
 */
export function findModelFile(
  names: readonly string[],
  wanted: string,
  platform = '',
): ModelFile | undefined {
  const told = Object.keys(TABULAR_PLATFORMS)
    .filter(isTabular)
    .find((one) => PLATFORMS[one] === platform);
  if (names.includes(wanted)) {
    if (told !== undefined) return tabularFile(told, wanted);
    if (platform === TENSORRT_PLATFORM) return tensorRtFile(wanted);
    if (extname(wanted) === SKOPS_EXTENSION) return tabularFile('sklearn', wanted);
    if (platform === ANY_BOOSTER || NAMED_BOOSTER_EXTENSIONS.has(extname(wanted))) {
      return boosterFile(wanted);
    }
    return modelFileOf(wanted) ?? { format: 'onnx', platform: ONNX_PLATFORM, name: wanted };
  }
  if (platform === ANY_BOOSTER) return findBooster(names);
  if (names.some((name) => FOLDER_MARKS.has(name))) {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name: '' };
  }
  if (names.includes(TRITON_SAVED_MODEL)) return modelFileOf(TRITON_SAVED_MODEL);
  if (names.includes(TENSORRT_FILE)) return tensorRtFile(TENSORRT_FILE);
  const tabular = findTabular(names, told);
  if (tabular !== undefined) return tabular;
  const graphs = names
    .flatMap((name) => modelFileOf(name) ?? [])
    .filter((file) => file.format === 'tensorflow');
  const [graph] = graphs;
  if (graph !== undefined && graphs.length === 1) return graph;
  const booster = findBooster(names);
  if (booster !== undefined) return booster;
  const refused = names.find(isRefused);
  return refused === undefined || names.some((name) => extname(name) === ONNX_EXTENSION)
    ? undefined
    : { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name: refused };
}

/**
 * A model written by Spark, MLeap, YDF or a PMML producer. XML files and archives are common: they
 * are models only if named "model", or if nothing else is in the folder. `told`: the format that
 * the configuration states: any name is then valid.
 */
function findTabular(
  names: readonly string[],
  told: TabularFormat | undefined,
): ModelFile | undefined {
  if (BUNDLE_PARTS.every((name) => names.includes(name))) return tabularFile('mleap', '');
  if (names.includes(SPARK_METADATA) && names.some((name) => SPARK_PARTS.has(name))) {
    return tabularFile('spark', '');
  }
  if (ydfPrefix(names) !== undefined) return tabularFile('ydf', '');
  const documents = names.filter(isPmml);
  const [document] = documents;
  if (document !== undefined && documents.length === 1) return tabularFile('pmml', document);
  const skops = oneModel(names.filter((name) => extname(name) === SKOPS_EXTENSION));
  if (skops !== undefined) return tabularFile('sklearn', skops);
  const others = names.filter((name) => !name.startsWith('.') && !NO_MODELS.has(name));
  const candidates = others.filter((name) => {
    const format = modelFileOf(name)?.format;
    return (told !== undefined && !VERSION.test(name)) || format === 'pmml' || format === 'archive';
  });
  const named = candidates.filter((name) => stemOf(name) === MODEL_STEM);
  const found = named.length === 1 ? named[0] : others.length === 1 ? candidates[0] : undefined;
  if (found === undefined) return undefined;
  return told === undefined ? modelFileOf(found) : tabularFile(told, found);
}

/** A booster by an extension that nothing else has, or one that is named "model". */
function findBooster(names: readonly string[]): ModelFile | undefined {
  const one = oneModel(names.filter(isBooster));
  return one === undefined ? undefined : tabularFile('booster', one);
}

/** The only name, or the one that is named "model". */
function oneModel(names: readonly string[]): string | undefined {
  const named = names.filter((name) => stemOf(name) === MODEL_STEM);
  const [one, other] = named.length === 1 ? named : names;
  return other === undefined ? one : undefined;
}

/** A model's name, from its file's name. */
export function stemOf(name: string): string {
  const extension = modelExtension(name);
  return extension === '' ? name : name.slice(0, -extension.length);
}
