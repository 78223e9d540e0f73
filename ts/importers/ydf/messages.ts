// Reads the messages that describe a model of Yggdrasil Decision Forests: what it predicts, its
// columns, and the header of its trees. Importer's worker thread; pure. Source: YDF's
// model/abstract_model.proto, dataset/data_spec.proto, model/*/*.proto.
import {
  ABSTRACT_MODEL,
  BOOLEAN_SPEC,
  CATEGORICAL_SPEC,
  COLUMN_TYPE,
  DATA_COLUMN,
  DATA_SPECIFICATION,
  DISCRETIZED_NUMERICAL_SPEC,
  GRADIENT_BOOSTED_TREES_HEADER,
  ISOLATION_FOREST_HEADER,
  MODEL_METADATA,
  RANDOM_FOREST_HEADER,
  TASK,
  VOCAB_VALUE,
} from '../../protobuf/generated/yggdrasil-fields.js';
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import { WireReader } from '../../protobuf/reader.js';

/** The content of header.pb. */
export interface ModelHeader {
  /** "GRADIENT_BOOSTED_TREES" */
  readonly name: string;
  readonly task: number;
  readonly label: number;
  readonly features: readonly number[];
  /** "Python YDF"; "" = not stated. */
  readonly framework: string;
  readonly hasPostprocessors: boolean;
}

export interface DataColumn {
  readonly name: string;
  readonly type: number;
  /** For categorical columns: the count of categories, with 0, which stands for unknown ones. */
  readonly categories: number;
  readonly isIntegerized: boolean;
  readonly mostFrequent: number;
  /** For categorical columns: the number of each text. */
  readonly numbers: ReadonlyMap<string, number>;
  /** For discretized columns: the smallest number of each bin but the first. */
  readonly boundaries: readonly number[];
  /** For boolean columns: whether at least half of the training rows were true. */
  readonly isMostlyTrue: boolean;
}

export const isNumerical = ({ type }: DataColumn): boolean =>
  type === COLUMN_TYPE.NUMERICAL || type === COLUMN_TYPE.DISCRETIZED_NUMERICAL;

/** The members that the headers of all kinds of trees have, and those of each. */
export interface TreesHeader {
  readonly shards: number;
  readonly trees: number;
  readonly format: string;
  /** For gradient boosted trees. */
  readonly loss: number;
  readonly initial: readonly number[];
  readonly treesPerIteration: number;
  readonly outputsLogits: boolean;
  /** For random forests. */
  readonly winnerTakesAll: boolean;
  /** For isolation forests: the rows that each tree was grown from. */
  readonly rowsPerTree: number;
}

const INT_MAX = 2 ** 31 - 1;
const DEFAULT_FORMAT = 'TFE_RECORDIO';

/** A number that is not negative. Errors: RangeError: it is negative or too large. */
function count(reader: WireReader, what: string): number {
  const value = Number(reader.int64());
  if (value >= 0 && value <= INT_MAX) return value;
  throw new RangeError(`${what}: expected a number from 0 to ${INT_MAX}, got ${value}`);
}

export function floats(reader: WireReader, into: number[]): void {
  const bytes = reader.fixed(4);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 4) into.push(view.getFloat32(at, true));
}

/** One float. */
export function float(reader: WireReader): number {
  const read: number[] = [];
  floats(reader, read);
  return read.at(-1) ?? 0;
}

export function doubles(reader: WireReader, into: number[]): void {
  const bytes = reader.fixed(8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 8) into.push(view.getFloat64(at, true));
}

export const int32s = (reader: WireReader, into: number[]): void =>
  reader.varints(({ low }) => into.push(low | 0));

/** Errors: ServalError: no such message; RangeError: a number is out of its range. */
export function readHeader(bytes: Uint8Array, file: string): ModelHeader {
  const reader = new WireReader(bytes, file);
  const features: number[] = [];
  let [name, framework] = ['', ''];
  let [task, label] = [TASK.UNDEFINED as number, 0];
  let hasPostprocessors = false;
  while (reader.next()) {
    switch (reader.field) {
      case ABSTRACT_MODEL.name:
        name = reader.string();
        break;
      case ABSTRACT_MODEL.task:
        task = count(reader, `${file}: task`);
        break;
      case ABSTRACT_MODEL.labelColIdx:
        label = Number(reader.int64());
        break;
      case ABSTRACT_MODEL.inputFeatures:
        int32s(reader, features);
        break;
      case ABSTRACT_MODEL.metadata:
        framework = readFramework(reader.nested('metadata'));
        break;
      case ABSTRACT_MODEL.postprocessors:
        hasPostprocessors = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return { name, task, label, features, framework, hasPostprocessors };
}

function readFramework(reader: WireReader): string {
  let framework = '';
  while (reader.next()) {
    if (reader.field === MODEL_METADATA.framework) framework = reader.string();
    else reader.skip();
  }
  return framework;
}

/** Same errors as readHeader(). */
export function readColumns(bytes: Uint8Array, file: string): readonly DataColumn[] {
  const reader = new WireReader(bytes, file);
  const columns: DataColumn[] = [];
  while (reader.next()) {
    if (reader.field === DATA_SPECIFICATION.columns) {
      columns.push(readColumn(reader.nested(`${file}: column ${columns.length}`)));
    } else {
      reader.skip();
    }
  }
  return columns;
}

function readColumn(reader: WireReader): DataColumn {
  const made = { name: '', type: COLUMN_TYPE.UNKNOWN as number };
  const boundaries: number[] = [];
  let categorical: Categorical = NOT_CATEGORICAL;
  let isMostlyTrue = true;
  while (reader.next()) {
    switch (reader.field) {
      case DATA_COLUMN.type:
        made.type = count(reader, 'type of a column');
        break;
      case DATA_COLUMN.name:
        made.name = reader.string();
        break;
      case DATA_COLUMN.categorical:
        categorical = readCategorical(reader.nested('categorical'));
        break;
      case DATA_COLUMN.discretizedNumerical:
        readBoundaries(reader.nested('discretized_numerical'), boundaries);
        break;
      case DATA_COLUMN.boolean:
        isMostlyTrue = readMostlyTrue(reader.nested('boolean'));
        break;
      default:
        reader.skip();
    }
  }
  return { ...made, ...categorical, boundaries, isMostlyTrue };
}

function readMostlyTrue(reader: WireReader): boolean {
  let [yes, no] = [0n, 0n];
  while (reader.next()) {
    if (reader.field === BOOLEAN_SPEC.countTrue) yes = reader.int64();
    else if (reader.field === BOOLEAN_SPEC.countFalse) no = reader.int64();
    else reader.skip();
  }
  return yes >= no;
}

type Categorical = Pick<DataColumn, 'categories' | 'isIntegerized' | 'mostFrequent' | 'numbers'>;

const NOT_CATEGORICAL: Categorical = {
  categories: 0,
  isIntegerized: false,
  mostFrequent: 0,
  numbers: new Map(),
};

function readCategorical(reader: WireReader): Categorical {
  const numbers = new Map<string, number>();
  const made = { categories: 0, isIntegerized: false, mostFrequent: 0, numbers };
  while (reader.next()) {
    switch (reader.field) {
      case CATEGORICAL_SPEC.numberOfUniqueValues:
        made.categories = count(reader, 'number_of_unique_values');
        break;
      case CATEGORICAL_SPEC.mostFrequentValue:
        made.mostFrequent = Number(reader.int64());
        break;
      case CATEGORICAL_SPEC.isAlreadyIntegerized:
        made.isIntegerized = reader.number() !== 0;
        break;
      case CATEGORICAL_SPEC.items:
        readItem(reader.nested('items'), made.numbers);
        break;
      default:
        reader.skip();
    }
  }
  return made;
}

function readItem(reader: WireReader, into: Map<string, number>): void {
  let [key, index] = ['', 0];
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) {
      key = reader.string();
    } else if (reader.field === MAP_ENTRY.value) {
      const value = reader.nested('item');
      while (value.next()) {
        if (value.field === VOCAB_VALUE.index) index = count(value, `index of '${key}'`);
        else value.skip();
      }
    } else {
      reader.skip();
    }
  }
  into.set(key, index);
}

function readBoundaries(reader: WireReader, into: number[]): void {
  while (reader.next()) {
    if (reader.field === DISCRETIZED_NUMERICAL_SPEC.boundaries) floats(reader, into);
    else reader.skip();
  }
}

/** Field numbers of a header; a kind of trees lacks some of them. */
type HeaderFields = Partial<Record<keyof typeof GRADIENT_BOOSTED_TREES_HEADER, number>> &
  Partial<Record<keyof typeof RANDOM_FOREST_HEADER, number>> &
  Partial<Record<keyof typeof ISOLATION_FOREST_HEADER, number>>;

/** By the name of the model's kind. */
export const TREES_HEADERS: ReadonlyMap<string, HeaderFields> = new Map<string, HeaderFields>([
  ['GRADIENT_BOOSTED_TREES', GRADIENT_BOOSTED_TREES_HEADER],
  ['RANDOM_FOREST', RANDOM_FOREST_HEADER],
  ['ISOLATION_FOREST', ISOLATION_FOREST_HEADER],
]);

/** Same errors as readHeader(). */
export function readTreesHeader(
  bytes: Uint8Array,
  file: string,
  fields: HeaderFields,
): TreesHeader {
  const reader = new WireReader(bytes, file);
  const initial: number[] = [];
  let [shards, trees, loss, treesPerIteration, rowsPerTree] = [0, 0, 0, 1, 0];
  let [winnerTakesAll, outputsLogits, format] = [true, false, DEFAULT_FORMAT];
  while (reader.next()) {
    const { field } = reader;
    const number = (what: string) => count(reader, `${file}: ${what}`);
    if (field === fields.numNodeShards) shards = number('num_node_shards');
    else if (field === fields.numTrees) trees = number('num_trees');
    else if (field === fields.nodeFormat) format = reader.string();
    else if (field === fields.loss) loss = number('loss');
    else if (field === fields.initialPredictions) floats(reader, initial);
    else if (field === fields.numTreesPerIter) treesPerIteration = number('num_trees_per_iter');
    else if (field === fields.outputLogits) outputsLogits = reader.number() !== 0;
    else if (field === fields.winnerTakeAllInference) winnerTakesAll = reader.number() !== 0;
    else if (field === fields.numExamplesPerTrees) rowsPerTree = number('num_examples_per_trees');
    else reader.skip();
  }
  const common = { shards, trees, format };
  const boosted = { loss, initial, treesPerIteration, outputsLogits };
  return { ...common, ...boosted, winnerTakesAll, rowsPerTree };
}
