// Files of Yggdrasil Decision Forests for tests. Test time only. Source: YDF's .proto files,
// utils/blob_sequence.h.
import { gzipSync } from 'node:zlib';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import {
  ABSTRACT_MODEL,
  BOOLEAN_SPEC,
  CATEGORICAL_SPEC,
  COLUMN_TYPE,
  CONDITION,
  CONTAINS_BITMAP_CONDITION,
  CONTAINS_CONDITION,
  DATA_COLUMN,
  DATA_SPECIFICATION,
  DISCRETIZED_HIGHER_CONDITION,
  DISCRETIZED_NUMERICAL_SPEC,
  HIGHER_CONDITION,
  LOSS,
  NODE,
  NODE_CONDITION,
  NODE_REGRESSOR_OUTPUT,
  OBLIQUE_CONDITION,
  TASK,
  VOCAB_VALUE,
} from '../../../../ts/protobuf/generated/yggdrasil-fields.js';
import { MAP_ENTRY } from '../../../../ts/protobuf/generated/map-entry-fields.js';

type Write = (writer: ProtobufWriter) => void;

export interface TestColumn {
  readonly name: string;
  readonly type: keyof typeof COLUMN_TYPE;
  /** The texts of categories from 1 on. */
  readonly words?: readonly string[];
  /** The count of categories that are numbers. */
  readonly categories?: number;
  readonly boundaries?: readonly number[];
}

/** A leaf's value, or a condition with the children of rows that fail it and that pass it. */
export type TestNode =
  | number
  | {
      readonly on: number;
      readonly test: Write;
      readonly passesMissing?: boolean;
      readonly no: TestNode;
      readonly yes: TestNode;
    };

export interface TestModel {
  readonly name?: string;
  readonly task?: number;
  readonly columns?: readonly TestColumn[];
  readonly features?: readonly number[];
  readonly header?: Write;
  /** Fields of the trees' header: gradient boosted trees have the loss and so on. */
  readonly trees?: Write;
  readonly loss?: number;
  readonly initial?: readonly number[];
  readonly format?: string;
  readonly grown?: readonly TestNode[];
  /** Instead of `grown`: the messages of the nodes. */
  readonly nodes?: readonly Write[];
  /** The number of files of nodes. */
  readonly shards?: number;
  /** Stated in the header; absent: those that there are. */
  readonly count?: number;
}

export const higher =
  (threshold: number): Write =>
  (writer) =>
    writer.message(CONDITION.higherCondition, (one) =>
      one.float(HIGHER_CONDITION.threshold, threshold),
    );
export const isTrue: Write = (writer) =>
  writer.message(CONDITION.trueValueCondition, () => undefined);
export const isMissing: Write = (writer) => writer.message(CONDITION.naCondition, () => undefined);
export const bin =
  (threshold: number): Write =>
  (writer) =>
    writer.message(CONDITION.discretizedHigherCondition, (one) =>
      one.varint(DISCRETIZED_HIGHER_CONDITION.threshold, threshold),
    );
export const contains =
  (...elements: readonly number[]): Write =>
  (writer) =>
    writer.message(CONDITION.containsCondition, (one) =>
      one.packed(CONTAINS_CONDITION.elements, 'varint', elements),
    );
export const bitmap =
  (...bytes: readonly number[]): Write =>
  (writer) =>
    writer.message(CONDITION.containsBitmapCondition, (one) =>
      one.bytes(CONTAINS_BITMAP_CONDITION.elementsBitmap, Uint8Array.from(bytes)),
    );
export const oblique =
  (
    attributes: readonly number[],
    weights: readonly number[],
    threshold: number,
    replacements: readonly number[] = [],
  ): Write =>
  (writer) =>
    writer.message(CONDITION.obliqueCondition, (one) =>
      one
        .packed(OBLIQUE_CONDITION.attributes, 'varint', attributes)
        .packed(OBLIQUE_CONDITION.weights, 'float', weights)
        .float(OBLIQUE_CONDITION.threshold, threshold)
        .packed(OBLIQUE_CONDITION.naReplacements, 'float', replacements),
    );

export const COLUMNS: readonly TestColumn[] = [
  { name: 'label', type: 'NUMERICAL' },
  { name: 'a', type: 'NUMERICAL' },
  { name: 'b', type: 'DISCRETIZED_NUMERICAL', boundaries: [0, 2, 5] },
];
export const COLOURS: readonly TestColumn[] = [
  { name: 'label', type: 'NUMERICAL' },
  { name: 'colour', type: 'CATEGORICAL', words: ['red', 'green', 'blue'] },
  { name: 'flag', type: 'BOOLEAN' },
  { name: 'code', type: 'CATEGORICAL', categories: 4 },
];

/** a >= 0.5 ? (b >= 2 ? 4 : 2) : 1, where a missing a fails and a missing b passes; and 0.25. */
export const GROWN: readonly TestNode[] = [
  {
    on: 1,
    test: higher(0.5),
    no: 1,
    yes: { on: 2, test: bin(2), passesMissing: true, no: 2, yes: 4 },
  },
  0.25,
];

const written = (write: Write): Buffer => {
  const writer = new ProtobufWriter();
  write(writer);
  return Buffer.from(writer.concat());
};

function writeColumn(writer: ProtobufWriter, column: TestColumn): void {
  const { name, type, words, boundaries = [] } = column;
  const categories = column.categories ?? (words?.length ?? 0) + 1;
  writer.varint(DATA_COLUMN.type, COLUMN_TYPE[type]).string(DATA_COLUMN.name, name);
  if (type === 'CATEGORICAL') {
    writer.message(DATA_COLUMN.categorical, (spec) => {
      spec
        .varint(CATEGORICAL_SPEC.mostFrequentValue, 1)
        .varint(CATEGORICAL_SPEC.numberOfUniqueValues, categories)
        .varint(CATEGORICAL_SPEC.isAlreadyIntegerized, words === undefined ? 1 : 0);
      ['<OOD>', ...(words ?? [])].forEach((word, index) => {
        spec.message(CATEGORICAL_SPEC.items, (entry) =>
          entry
            .string(MAP_ENTRY.key, word)
            .message(MAP_ENTRY.value, (value) => value.varint(VOCAB_VALUE.index, index)),
        );
      });
    });
  }
  if (type === 'DISCRETIZED_NUMERICAL') {
    writer.message(DATA_COLUMN.discretizedNumerical, (spec) =>
      spec.packed(DISCRETIZED_NUMERICAL_SPEC.boundaries, 'float', boundaries),
    );
  }
  if (type === 'BOOLEAN') {
    writer.message(DATA_COLUMN.boolean, (spec) =>
      spec.varint(BOOLEAN_SPEC.countTrue, 1).varint(BOOLEAN_SPEC.countFalse, 3),
    );
  }
}

/** In depth-first order; rows that fail come first. */
function nodesOf(node: TestNode): readonly Write[] {
  if (typeof node === 'number') {
    const leaf: Write = (writer) =>
      writer.message(NODE.regressor, (one) => one.float(NODE_REGRESSOR_OUTPUT.topValue, node));
    return [leaf];
  }
  const { on, test, passesMissing = false, no, yes } = node;
  const inner: Write = (writer) =>
    writer.message(NODE.condition, (one) =>
      one
        .varint(NODE_CONDITION.naValue, passesMissing ? 1 : 0)
        .varint(NODE_CONDITION.attribute, on)
        .message(NODE_CONDITION.condition, test),
    );
  return [inner, ...nodesOf(no), ...nodesOf(yes)];
}

/** A sequence of blobs. */
export function sequenceOf(blobs: readonly Buffer[], isGzip = false): Buffer {
  const parts = blobs.flatMap((blob) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(blob.length);
    return [length, blob];
  });
  const content = Buffer.concat(parts);
  const header = Buffer.from([0x42, 0x53, 1, 0, isGzip ? 1 : 0, 0, 0, 0]);
  return Buffer.concat([header, isGzip ? gzipSync(content) : content]);
}

/** The files of a model by their names: gradient boosted trees of a regression, unless told. */
export function ydfFiles(model: TestModel = {}): Map<string, Buffer> {
  const { columns = COLUMNS, name = 'GRADIENT_BOOSTED_TREES', grown = GROWN } = model;
  const features = model.features ?? columns.map((_, i) => i).slice(1);
  const { initial = [0.5], format = 'BLOB_SEQUENCE', shards = 1 } = model;
  const header = written((writer) => {
    writer
      .string(ABSTRACT_MODEL.name, name)
      .varint(ABSTRACT_MODEL.task, model.task ?? TASK.REGRESSION)
      .varint(ABSTRACT_MODEL.labelColIdx, 0)
      .packed(ABSTRACT_MODEL.inputFeatures, 'varint', features);
    model.header?.(writer);
  });
  const spec = written((writer) => {
    for (const column of columns) {
      writer.message(DATA_SPECIFICATION.columns, (one) => writeColumn(one, column));
    }
  });
  const boosted: Write = (writer) =>
    writer
      .varint(3, model.loss ?? LOSS.SQUARED_ERROR)
      .packed(4, 'float', initial)
      .varint(5, initial.length)
      .string(7, format);
  const treesHeader = written((writer) => {
    writer.varint(1, shards).varint(2, model.count ?? grown.length);
    (model.trees ?? boosted)(writer);
  });
  const nodes = (model.nodes ?? grown.flatMap(nodesOf)).map(written);
  const files = new Map([
    ['header.pb', header],
    ['data_spec.pb', spec],
    [`${name.toLowerCase()}_header.pb`, treesHeader],
  ]);
  const digits = (number: number): string => String(number).padStart(5, '0');
  const each = Math.ceil(nodes.length / Math.max(shards, 1));
  for (let i = 0; i < shards; i += 1) {
    const own = nodes.slice(i * each, (i + 1) * each);
    const isGzip = format === 'BLOB_SEQUENCE_GZIP';
    files.set(`nodes-${digits(i)}-of-${digits(shards)}`, sequenceOf(own, isGzip));
  }
  return files;
}
