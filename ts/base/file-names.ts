// Names of models' files and folders that several rooms know. Control plane, any thread; pure.

/** Triton's names in a model's folder and in a version's folder. */
export const TRITON_CONFIG_FILE = 'config.pbtxt';
export const ONNX_FILE = 'model.onnx';
export const TENSORRT_FILE = 'model.plan';
export const TRITON_SAVED_MODEL = 'model.savedmodel';
export const TRITON_GRAPH = 'model.graphdef';

/** Files that mark a folder as a SavedModel, as one split in two, or as a session bundle. */
export const SAVED_MODEL_FILES: readonly string[] = ['saved_model.pb', 'saved_model.pbtxt'];
export const SPLIT_SAVED_MODEL_FILE = 'saved_model.cpb';
export const SESSION_BUNDLE_FILE = 'export.meta';
export const GRAPH_EXTENSIONS: ReadonlySet<string> = new Set(['.pb', '.pbtxt', '.graphdef']);

/** The extension of TensorFlow Lite's files. */
export const LITE_EXTENSION = '.tflite';

/** The file that marks a folder as an MLeap bundle. */
export const MLEAP_FILE = 'bundle.json';

/** The file in a .skops file that says what its objects are. */
export const SKOPS_SCHEMA = 'schema.json';

/** Files that every YDF model has; a prefix may be before their names. */
export const YDF_HEADER = 'header.pb';
export const YDF_DATA_SPEC = 'data_spec.pb';

/**
 * The prefix of the names of a YDF model's files, most often ""; undefined: the folder has no such
 * model, or several. Source: YDF's model/model_library.cc (DetectFilePrefix).
 */
export function ydfPrefix(names: readonly string[]): string | undefined {
  const prefixes = names
    .filter((name) => name.endsWith(YDF_DATA_SPEC) && !name.includes('/'))
    .map((name) => name.slice(0, -YDF_DATA_SPEC.length))
    .filter((prefix) => names.includes(`${prefix}${YDF_HEADER}`));
  return prefixes.length === 1 ? prefixes[0] : undefined;
}
