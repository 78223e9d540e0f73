// Which file (or folder) of a version is its model, told from names alone. Control plane; pure.
// Source: tensorflow-import.md 1.1, 3.1; Triton's default_model_filename per platform.
import { extname } from 'node:path';

/** `tensorflow`: SavedModel, session bundle or GraphDef; which one is found when it is loaded. */
export type ModelFormat = 'onnx' | 'tensorflow' | 'null';

export interface ModelFile {
  readonly format: ModelFormat;
  /** V2 metadata's `platform`: Triton's words, which clients compare with. */
  readonly platform: string;
  /** Below the version's folder; "" = the folder itself. */
  readonly name: string;
}

/** Triton's name of ONNX models on ONNX Runtime. */
export const ONNX_PLATFORM = 'onnxruntime_onnx';
export const SAVED_MODEL_PLATFORM = 'tensorflow_savedmodel';
export const GRAPH_DEF_PLATFORM = 'tensorflow_graphdef';

const ONNX_EXTENSION = '.onnx';
const GRAPH_EXTENSIONS: ReadonlySet<string> = new Set(['.pb', '.pbtxt', '.graphdef']);
/** What makes a folder a SavedModel or a session bundle. */
const FOLDER_MARKS: ReadonlySet<string> = new Set([
  'saved_model.pb',
  'saved_model.pbtxt',
  'saved_model.cpb',
  'export.meta',
]);
const SAVED_MODEL_FOLDER = 'model.savedmodel';
/** Files that lie beside models and are none. */
const NO_MODELS: ReadonlySet<string> = new Set([
  'fingerprint.pb',
  'keras_metadata.pb',
  'batching_params.pbtxt',
  'config.pbtxt',
  'saved_model_config.pb',
]);
/** Formats that are known and not read: loading them says so, and what to do. */
const REFUSED: ReadonlySet<string> = new Set(['.keras', '.h5', '.hdf5', '.tflite']);

/** What a file of this name is; undefined: no model. */
export function modelFileOf(name: string): ModelFile | undefined {
  const extension = extname(name);
  if (extension === ONNX_EXTENSION) return { format: 'onnx', platform: ONNX_PLATFORM, name };
  if (extension === '.savedmodel') {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name };
  }
  if (!GRAPH_EXTENSIONS.has(extension) || NO_MODELS.has(name)) return undefined;
  return { format: 'tensorflow', platform: GRAPH_DEF_PLATFORM, name };
}

/** The model among the names of a version's folder. `wanted`: the file that its configuration (or
 * Serval's own rule) names; where that is not there, what TensorFlow wrote is found by its own
 * names. */
export function findModelFile(names: readonly string[], wanted: string): ModelFile | undefined {
  if (names.includes(wanted)) {
    return modelFileOf(wanted) ?? { format: 'onnx', platform: ONNX_PLATFORM, name: wanted };
  }
  if (names.some((name) => FOLDER_MARKS.has(name))) {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name: '' };
  }
  if (names.includes(SAVED_MODEL_FOLDER)) return modelFileOf(SAVED_MODEL_FOLDER);
  const graphs = names
    .flatMap((name) => modelFileOf(name) ?? [])
    .filter((file) => file.format === 'tensorflow');
  const [graph] = graphs;
  if (graph !== undefined && graphs.length === 1) return graph;
  const refused = names.find((name) => REFUSED.has(extname(name)));
  return refused === undefined
    ? undefined
    : { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name: refused };
}
