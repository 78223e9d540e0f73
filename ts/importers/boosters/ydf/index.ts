// Imports a folder (or an archive of one) that Yggdrasil Decision Forests has saved: random
// forests, gradient boosted trees, isolation forests. Importer's worker thread.
// Source: YDF's model/model_library.cc, model/decision_tree/decision_tree_io.cc.
import { modelInvalid, reasonOf, ServalError } from '../../../base/errors.js';
import { YDF_DATA_SPEC, YDF_HEADER, ydfPrefix } from '../../../base/file-names.js';
import { BOOSTER_BYTES_MAX } from '../../../base/limits.js';
import { COLUMN_TYPE } from '../../../protobuf/generated/yggdrasil-fields.js';
import { type ModelFiles, openModelFiles } from '../../plan/archive/index.js';
import { PlanBuilder } from '../../plan/builder.js';
import type { TabularSettings } from '../../plan/imported.js';
import type { Lowered } from '../lowered.js';
import { addAnswers } from './answers.js';
import { ydfFields } from './fields.js';
import { leafValues } from './leaves.js';
import {
  type DataColumn,
  type ModelHeader,
  readColumns,
  readHeader,
  readTreesHeader,
  TREES_HEADERS,
  type TreesHeader,
} from './messages.js';
import { blobsOf, readTrees } from './nodes.js';
import { addSums, type Ensemble } from './sums.js';

export interface LoweredYdf extends Lowered {
  readonly examples: Readonly<Record<string, string>>;
}

/** The files that are read; others are for training. */
const PARTS = /^(data_spec\.pb|([a-z_]+_)?header\.pb|nodes-\d+-of-\d+)$/;
const FORMATS: readonly string[] = ['BLOB_SEQUENCE', 'BLOB_SEQUENCE_GZIP'];
const SHARDS_MAX = 65_536;
const SHARD_DIGITS = 5;

/** Errors: ServalError MODEL_INVALID: no such folder, what is broken or not supported of it. */
export async function importYdf(
  path: string,
  settings?: Partial<TabularSettings>,
): Promise<LoweredYdf> {
  const files = await openModelFiles(path);
  try {
    return await lowerYdf(path, files, settings);
  } finally {
    await files.close();
  }
}

/** Same as importYdf(), of files that are open. */
export async function lowerYdf(
  path: string,
  files: ModelFiles,
  { answer }: Partial<TabularSettings> = {},
): Promise<LoweredYdf> {
  const prefix = ydfPrefix(files.names);
  if (prefix === undefined) {
    throw modelInvalid(path, 'expected one model: a file header.pb beside data_spec.pb');
  }
  if (answer !== undefined) {
    throw modelInvalid(path, 'YDF model: expected a model of XGBoost or LightGBM');
  }
  const parts = new Map<string, Uint8Array>();
  for (const name of files.names) {
    if (!name.startsWith(prefix) || !PARTS.test(name.slice(prefix.length))) continue;
    const size = files.size(name);
    if (size > BOOSTER_BYTES_MAX) {
      throw modelInvalid(path, `${name}: expected at most ${BOOSTER_BYTES_MAX} bytes, got ${size}`);
    }
    parts.set(name.slice(prefix.length), await files.read(name));
  }
  return lowerParts(path, parts);
}

/**
 * Same as importYdf(), of the files' contents by their names without the prefix.
 */
export function lowerParts(path: string, parts: ReadonlyMap<string, Uint8Array>): LoweredYdf {
  try {
    return lower(readEnsemble(parts));
  } catch (error) {
    if (error instanceof ServalError) throw modelInvalid(path, `YDF model: ${error.message}`);
    throw modelInvalid(path, `YDF model: ${reasonOf(error)}`);
  }
}

function lower(ensemble: Ensemble): LoweredYdf {
  const { header, columns } = ensemble;
  const { framework } = header;
  const builder = new PlanBuilder('ydf', framework === '' ? 'YDF' : `YDF (${framework})`);
  const fields = ydfFields(builder, columns, header.features);
  builder.matrix = fields.matrix;
  const sums = addSums(builder, ensemble, fields.features);
  addAnswers(builder, ensemble, sums);
  return { plan: builder.finish(), warnings: [], examples: fields.examples };
}

/** Errors: RangeError, ServalError: a file is missing, broken, or of an unsupported kind. */
function readEnsemble(parts: ReadonlyMap<string, Uint8Array>): Ensemble {
  const read = (name: string): Uint8Array => {
    const bytes = parts.get(name);
    if (bytes !== undefined) return bytes;
    throw new RangeError(`the file ${name} is missing`);
  };
  const header = readHeader(read(YDF_HEADER), YDF_HEADER);
  const columns = readColumns(read(YDF_DATA_SPEC), YDF_DATA_SPEC);
  const fields = TREES_HEADERS.get(header.name);
  if (fields === undefined) {
    throw new RangeError(`models of kind '${header.name}' are not supported`);
  }
  if (header.hasPostprocessors) throw new RangeError('postprocessors are not supported');
  const treesFile = `${header.name.toLowerCase()}_header.pb`;
  const trees = readTreesHeader(read(treesFile), treesFile, fields);
  const classes = classesOf(header, columns);
  const shards = readShards(trees, read);
  const { addLeaf, values } = leafValues(header, trees, classes.length);
  const grown = readTrees(allBlobs(shards), trees.trees, addLeaf);
  return { header, columns, trees, grown, leaves: values, classes };
}

/** The classes' texts, of a model that classifies. Errors: RangeError: too many, or texts lack. */
function classesOf(
  { label }: ModelHeader,
  columns: readonly DataColumn[],
): readonly (string | undefined)[] {
  const column = columns[label];
  if (column === undefined || column.type !== COLUMN_TYPE.CATEGORICAL) return [];
  const { categories, isIntegerized, numbers } = column;
  if (!isIntegerized && categories > numbers.size + 1) {
    throw new RangeError(`label: expected ${categories} categories, got ${numbers.size} texts`);
  }
  // Category 0 is that of unknown labels.
  const count = Math.min(Math.max(categories - 1, 0), CLASSES_MAX + 1);
  const texts = Array.from({ length: count }, (): string | undefined => undefined);
  for (const [text, number] of numbers) if (number >= 1) texts[number - 1] = text;
  if (texts.length > count || count > CLASSES_MAX) {
    throw new RangeError(`label: expected at most ${CLASSES_MAX} classes, got ${categories - 1}`);
  }
  return texts;
}

const CLASSES_MAX = 65_536;

interface Shard {
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** "nodes-00000-of-00002" and the like. Errors: RangeError: the format is not supported. */
function readShards(
  { shards, format }: TreesHeader,
  read: (name: string) => Uint8Array,
): readonly Shard[] {
  if (!FORMATS.includes(format)) {
    throw new RangeError(
      `nodes in the format '${format}' are not supported: load the model in Python with ` +
        'ydf.load_model() and save it again',
    );
  }
  if (shards > SHARDS_MAX) {
    throw new RangeError(`expected at most ${SHARDS_MAX} files of nodes, got ${shards}`);
  }
  const made: Shard[] = [];
  const digits = (number: number): string => String(number).padStart(SHARD_DIGITS, '0');
  for (let shard = 0; shard < shards; shard += 1) {
    const file = `nodes-${digits(shard)}-of-${digits(shards)}`;
    made.push({ file, bytes: read(file) });
  }
  return made;
}

function* allBlobs(shards: readonly Shard[]): Generator<Uint8Array> {
  for (const { file, bytes } of shards) {
    try {
      yield* blobsOf(bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new RangeError(`${file}: ${error.message}`);
    }
  }
}
