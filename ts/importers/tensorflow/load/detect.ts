// Detects the TensorFlow format of a version's folder, or of a file. Importer's worker thread;
// checks names only, reads no content.
import { basename, dirname, extname, join } from 'node:path';
import {
  GRAPH_EXTENSIONS,
  LITE_EXTENSION,
  SAVED_MODEL_FILES,
  SESSION_BUNDLE_FILE,
  SPLIT_SAVED_MODEL_FILE,
  TRITON_CONFIG_FILE,
  TRITON_GRAPH,
  TRITON_SAVED_MODEL,
} from '../../../base/file-names.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { LoadedGraph } from '../types.js';
import { folderNames, isFile, isFolder } from './model-file.js';

export type Format = LoadedGraph['format'];

/** Location of a model's message. */
export interface Located {
  readonly format: Format;
  /** The folder of variables and assets. */
  readonly folder: string;
  /** The file with the message. */
  readonly file: string;
}

/** Files beside a SavedModel, or server configuration; not graphs. */
const NO_GRAPHS = new Set([
  'fingerprint.pb',
  'keras_metadata.pb',
  TRITON_CONFIG_FILE,
  SPLIT_SAVED_MODEL_FILE,
  'saved_model_config.pb',
]);
/** Formats of other importers: their folder may contain a Keras file that was the source. */
const OTHER_FORMATS = new Set(['.onnx', '.ort', '.plan', '.engine', '.trt']);

/**
 * undefined: not a TensorFlow model. Errors: Unimplemented for a split SavedModel and a Keras file,
 * each with a remedy.
 */
export function detectFormat(path: string): Format | undefined {
  return locate(path)?.format;
}

/** The same, with the location. */
export function locate(path: string): Located | undefined {
  if (isFolder(path)) return locateInFolder(path);
  if (!isFile(path)) return undefined;
  const name = basename(path);
  const folder = dirname(path);
  if (SAVED_MODEL_FILES.includes(name)) return { format: 'saved-model', folder, file: path };
  if (name === SESSION_BUNDLE_FILE) return { format: 'session-bundle', folder, file: path };
  if (isGraphName(name)) return { format: 'frozen-graph', folder, file: path };
  if (isLiteName(name)) return { format: 'tflite', folder, file: path };
  refuseOthers(folder, [name]);
  return undefined;
}

function locateInFolder(folder: string): Located | undefined {
  for (const name of SAVED_MODEL_FILES) {
    const file = join(folder, name);
    if (isFile(file)) return { format: 'saved-model', folder, file };
  }
  const meta = join(folder, SESSION_BUNDLE_FILE);
  if (isFile(meta)) return { format: 'session-bundle', folder, file: meta };
  const inner = join(folder, TRITON_SAVED_MODEL);
  if (isFolder(inner)) return locateInFolder(inner);
  const names = folderNames(folder);
  const graphs = names.includes(TRITON_GRAPH) ? [TRITON_GRAPH] : names.filter(isGraphName);
  const graph = onlyFile(folder, graphs);
  if (graph !== undefined) return { format: 'frozen-graph', folder, file: graph };
  const lite = onlyFile(folder, names.filter(isLiteName));
  if (lite !== undefined) return { format: 'tflite', folder, file: lite };
  if (!names.some((name) => OTHER_FORMATS.has(extname(name)))) refuseOthers(folder, names);
  return undefined;
}

/** The path of the only name; undefined: there are none or several, or it is no file. */
function onlyFile(folder: string, names: readonly string[]): string | undefined {
  const [name] = names;
  if (name === undefined || names.length > 1) return undefined;
  const file = join(folder, name);
  return isFile(file) ? file : undefined;
}

function isGraphName(name: string): boolean {
  return GRAPH_EXTENSIONS.has(extname(name)) && !NO_GRAPHS.has(name) && !name.startsWith('.');
}

function isLiteName(name: string): boolean {
  return extname(name).toLowerCase() === LITE_EXTENSION && !name.startsWith('.');
}

function refuseOthers(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const what = otherFormat(name);
    if (what === undefined) continue;
    throw new ServalError(ErrorCode.Unimplemented, `${join(folder, name)}: ${what}`);
  }
}

/** Its problem; undefined if it is not a TensorFlow file. */
function otherFormat(name: string): string | undefined {
  if (name === SPLIT_SAVED_MODEL_FILE) {
    return (
      'a SavedModel split into several files is not supported; expected saved_model.pb: save the ' +
      'model again with variables outside of the graph, or below 2 GiB'
    );
  }
  switch (extname(name).toLowerCase()) {
    case '.keras':
    case '.h5':
    case '.hdf5':
      return (
        'a Keras file contains no graph; expected a SavedModel: load it with ' +
        'keras.models.load_model(...) and write one with model.export("<folder>/1")'
      );
    default:
      return undefined;
  }
}
