// A model of Yggdrasil Decision Forests from the contents of its files, and how YDF adds its trees.
// Importer's worker thread; pure. Source: YDF's model/model_library.cc, model/decision_tree/
// decision_tree_io.cc, serving/decision_forest/register_engines.cc, quick_scorer_extended.cc.
import { YDF_DATA_SPEC, YDF_HEADER } from '../../base/file-names.js';
import { COLUMN_TYPE, TASK } from '../../protobuf/generated/yggdrasil-fields.js';
import { leafValues, type RawLeaves } from './leaves.js';
import {
  type DataColumn,
  type ModelHeader,
  readColumns,
  readHeader,
  readTreesHeader,
  TREES_HEADERS,
  type TreesHeader,
} from './messages.js';
import { blobsOf, type ConditionTest, type GrownTrees, readTrees, widestOf } from './nodes.js';

/** A model as its files have it. */
export interface Ensemble {
  readonly header: ModelHeader;
  readonly columns: readonly DataColumn[];
  readonly trees: TreesHeader;
  readonly grown: GrownTrees;
  readonly leaves: RawLeaves;
  /** The classes' texts, of a model that classifies. */
  readonly classes: readonly (string | undefined)[];
}

/** The files that are read, by their names without the prefix; others are for training. */
export const PARTS = /^(data_spec\.pb|([a-z_]+_)?header\.pb|nodes-\d+-of-\d+)$/;

const FORMATS: readonly string[] = ['BLOB_SEQUENCE', 'BLOB_SEQUENCE_GZIP'];
const SHARDS_MAX = 65_536;
const SHARD_DIGITS = 5;
/** Trees with at most this number of leaves are summed from the initial prediction on. */
const QUICK_LEAVES_MAX = 64;
const QUICK_TREES_MAX = 65_535;

/** Errors: RangeError, ServalError: a file is missing, broken, or of an unsupported kind. */
export function readEnsemble(parts: ReadonlyMap<string, Uint8Array>): Ensemble {
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

/**
 * Whether a missing category or flag goes another way than the most frequent one. YDF's fast
 * engines do not run such models, and its slow one adds in doubles.
 */
export function isLocal({ grown, columns }: Ensemble): boolean {
  return grown.conditions.some(({ attribute, passesMissing, test }) => {
    const { mostFrequent = 0, isMostlyTrue = true } = columns[attribute] ?? {};
    if (test.kind === 'true') return isMostlyTrue !== passesMissing;
    if (test.kind === 'elements') return test.elements.includes(mostFrequent) !== passesMissing;
    return test.kind === 'bitmap' && hasBit(test.bitmap, mostFrequent) !== passesMissing;
  });
}

/** The initial prediction of each score. */
export function initialOf({ header, trees, classes }: Ensemble): readonly number[] {
  const { initial, treesPerIteration } = trees;
  const isMany = header.task === TASK.CLASSIFICATION && classes.length !== 2;
  const expected = isMany ? classes.length : 1;
  if (initial.length === expected && treesPerIteration === expected && expected > 0) return initial;
  throw new RangeError(
    `expected ${expected} initial predictions and trees for each iteration, got ` +
      `${initial.length} and ${treesPerIteration}`,
  );
}

/** YDF has a faster way for small trees, which adds in another order than its general one. */
export function isQuick({ grown }: Ensemble): boolean {
  if (grown.roots.length > QUICK_TREES_MAX || widestOf(grown) > QUICK_LEAVES_MAX) return false;
  return grown.conditions.every(({ test }) => test.kind !== 'oblique' && test.kind !== 'missing');
}

/** The categories that pass. Errors: RangeError: one does not exist, a bitmap of another size. */
export function elementsOf(
  test: Extract<ConditionTest, { kind: 'elements' | 'bitmap' }>,
  { name, categories }: DataColumn,
): readonly number[] {
  if (test.kind === 'elements') {
    const strange = test.elements.find((element) => element < 0 || element >= categories);
    if (strange === undefined) return test.elements;
    throw new RangeError(`feature '${name}': category ${strange} does not exist`);
  }
  const expected = Math.ceil(categories / 8);
  if (test.bitmap.length !== expected) {
    throw new RangeError(
      `feature '${name}': expected a bitmap of ${expected} bytes, got ${test.bitmap.length}`,
    );
  }
  const elements: number[] = [];
  for (let element = 0; element < categories; element += 1) {
    if (hasBit(test.bitmap, element)) elements.push(element);
  }
  return elements;
}

function hasBit(bitmap: Uint8Array, bit: number): boolean {
  return (((bitmap[bit >> 3] ?? 0) >> (bit & 7)) & 1) === 1;
}
