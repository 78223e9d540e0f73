// Which file (or folder) of a version is its model, told from names alone. Control plane; pure.
// Source: tensorflow-import.md 1.1, 3.1; tabular.md 1; Triton's default_model_filename by platform.
import { extname } from 'node:path';
import { TABULAR_PLATFORMS } from '../../model/platforms.js';

/** A model of columns: what it is must be found when it is loaded where it lies in an archive. */
export type TabularFormat = 'spark' | 'mleap' | 'pmml' | 'archive';

/** `tensorflow`: SavedModel, session bundle or GraphDef; which one is found when it is loaded. */
export type ModelFormat = 'onnx' | 'tensorflow' | TabularFormat | 'plan' | 'null';

export interface ModelFile {
  readonly format: ModelFormat;
  /** V2 metadata's `platform`: Triton's words, which clients compare with; "" = the load says. */
  readonly platform: string;
  /** Below the version's folder; "" = the folder itself. */
  readonly name: string;
}

/** Triton's name of ONNX models on ONNX Runtime. */
export const ONNX_PLATFORM = 'onnxruntime_onnx';
export const SAVED_MODEL_PLATFORM = 'tensorflow_savedmodel';
export const GRAPH_DEF_PLATFORM = 'tensorflow_graphdef';
/** Triton's name of TensorRT engines, and of their file. */
export const PLAN_PLATFORM = 'tensorrt_plan';
export const PLAN_FILE = 'model.plan';
const PLATFORMS: Readonly<Record<TabularFormat, string>> = { ...TABULAR_PLATFORMS, archive: '' };

const ONNX_EXTENSION = '.onnx';
const PLAN_EXTENSION = '.plan';
const GRAPH_EXTENSIONS: ReadonlySet<string> = new Set(['.pb', '.pbtxt', '.graphdef']);
const PMML_EXTENSION = '.pmml';
/** PMML, as far as the name tells. */
const XML_EXTENSION = '.xml';
/** PMML that gzip compressed. */
const PMML_GZIP_EXTENSIONS = ['.pmml.gz', '.xml.gz'] as const;
/** Longest first. A tar that is packed with gzip may have any of the last three. */
const ARCHIVE_EXTENSIONS = ['.tar.gz', '.zip', '.tar', '.tgz', '.gz'] as const;
/** What makes a folder a SavedModel or a session bundle. */
const FOLDER_MARKS: ReadonlySet<string> = new Set([
  'saved_model.pb',
  'saved_model.pbtxt',
  'saved_model.cpb',
  'export.meta',
]);
const SAVED_MODEL_FOLDER = 'model.savedmodel';
/** What an MLeap bundle has. */
const BUNDLE_PARTS = ['bundle.json', 'root'] as const;
/** What every stage that Spark saves has, and one of the others with it. */
const SPARK_METADATA = 'metadata';
const SPARK_PARTS: ReadonlySet<string> = new Set(['stages', 'data', 'bestModel', 'pipelineModel']);
/** The name, without its extension, of what is a model wherever it lies. */
const MODEL_STEM = 'model';
/** A version's folder, which is no model. */
const VERSION = /^\d+$/;
/** Files that lie beside models and are none. */
const NO_MODELS: ReadonlySet<string> = new Set([
  'fingerprint.pb',
  'keras_metadata.pb',
  'batching_params.pbtxt',
  'config.pbtxt',
  'saved_model_config.pb',
  'schema.json',
]);
/** Formats that are known and not read: loading them says so, and what to do. */
const REFUSED: ReadonlySet<string> = new Set(['.keras', '.h5', '.hdf5', '.tflite']);

const isTabular = (format: string): format is TabularFormat => Object.hasOwn(PLATFORMS, format);

/** Of a format; undefined: none of columns. */
export function tabularFormat(format: ModelFormat): TabularFormat | undefined {
  return isTabular(format) ? format : undefined;
}

function tabularFile(format: TabularFormat, name: string): ModelFile {
  return { format, platform: PLATFORMS[format], name };
}

const planFile = (name: string): ModelFile => ({ format: 'plan', platform: PLAN_PLATFORM, name });

/** The extension, with both of its parts where something is compressed ("x.tar.gz": ".tar.gz"). */
export function modelExtension(name: string): string {
  const isIt = (one: string) => name.endsWith(one) && name !== one;
  const packed = PMML_GZIP_EXTENSIONS.find(isIt) ?? ARCHIVE_EXTENSIONS.find(isIt);
  return packed ?? extname(name);
}

const isPmml = (name: string): boolean => /^\.pmml(\.gz)?$/.test(modelExtension(name));

/** What a file of this name is; undefined: no model. */
export function modelFileOf(name: string): ModelFile | undefined {
  const extension = extname(name);
  if (extension === ONNX_EXTENSION) return { format: 'onnx', platform: ONNX_PLATFORM, name };
  if (extension === PLAN_EXTENSION) return planFile(name);
  if (extension === '.savedmodel') {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name };
  }
  if (extension === PMML_EXTENSION || extension === XML_EXTENSION) return tabularFile('pmml', name);
  if (PMML_GZIP_EXTENSIONS.some((one) => one === modelExtension(name))) {
    return tabularFile('pmml', name);
  }
  if (ARCHIVE_EXTENSIONS.some((one) => one === modelExtension(name))) {
    return tabularFile('archive', name);
  }
  if (!GRAPH_EXTENSIONS.has(extension) || NO_MODELS.has(name)) return undefined;
  return { format: 'tensorflow', platform: GRAPH_DEF_PLATFORM, name };
}

/** The model among the names of a version's folder. `wanted`: the file that its configuration (or
 * Serval's own rule) names; where that is not there, what other systems wrote is found by its own
 * names. `platform`: what the configuration says that it is; "" = nothing. */
export function findModelFile(
  names: readonly string[],
  wanted: string,
  platform = '',
): ModelFile | undefined {
  const told = (['spark', 'mleap', 'pmml'] as const).find(
    (one) => TABULAR_PLATFORMS[one] === platform,
  );
  if (names.includes(wanted)) {
    if (told !== undefined) return tabularFile(told, wanted);
    if (platform === PLAN_PLATFORM) return planFile(wanted);
    return modelFileOf(wanted) ?? { format: 'onnx', platform: ONNX_PLATFORM, name: wanted };
  }
  if (names.some((name) => FOLDER_MARKS.has(name))) {
    return { format: 'tensorflow', platform: SAVED_MODEL_PLATFORM, name: '' };
  }
  if (names.includes(SAVED_MODEL_FOLDER)) return modelFileOf(SAVED_MODEL_FOLDER);
  if (names.includes(PLAN_FILE)) return planFile(PLAN_FILE);
  const tabular = findTabular(names, told);
  if (tabular !== undefined) return tabular;
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

/** A model that Spark, MLeap or a maker of PMML wrote. XML files and archives lie everywhere: they
 * are models only by the name "model", or where nothing else is in the folder. `told`: what the
 * configuration says that it is: then any name will do. */
function findTabular(
  names: readonly string[],
  told: TabularFormat | undefined,
): ModelFile | undefined {
  if (BUNDLE_PARTS.every((name) => names.includes(name))) return tabularFile('mleap', '');
  if (names.includes(SPARK_METADATA) && names.some((name) => SPARK_PARTS.has(name))) {
    return tabularFile('spark', '');
  }
  const documents = names.filter(isPmml);
  const [document] = documents;
  if (document !== undefined && documents.length === 1) return tabularFile('pmml', document);
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

/** A model's name as its file has it. */
export function stemOf(name: string): string {
  const extension = modelExtension(name);
  return extension === '' ? name : name.slice(0, -extension.length);
}
