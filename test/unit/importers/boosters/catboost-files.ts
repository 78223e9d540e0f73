// Files of CatBoost for tests: its binary format and its JSON documents. Test time only.
// Source: CatBoost's catboost/libs/model/flatbuffers/model.fbs, features.fbs.
import { Builder } from 'flatbuffers';
import { jsonOf } from './support.js';

/** The members of a table by their numbers in the schema; undefined: absent. */
export type FlatFields = Readonly<Record<number, FlatValue | undefined>>;
type FlatValue =
  | string
  | Uint8Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | { readonly int: number }
  | { readonly byte: number }
  | { readonly double: number }
  | { readonly table: FlatFields }
  | { readonly tables: readonly FlatFields[] }
  | { readonly texts: readonly string[] };

function offsetOf(builder: Builder, value: FlatValue): number {
  if (typeof value === 'string') return builder.createString(value);
  if ('table' in value) return tableOf(builder, value.table);
  if ('tables' in value || 'texts' in value) {
    const items =
      'tables' in value
        ? value.tables.map((each) => tableOf(builder, each))
        : value.texts.map((each) => builder.createString(each));
    builder.startVector(4, items.length, 4);
    for (const item of items.reverse()) builder.addOffset(item);
    return builder.endVector();
  }
  if (!ArrayBuffer.isView(value)) return 0;
  // Numbers of 16 bits are in pairs.
  const width = value.BYTES_PER_ELEMENT * (value instanceof Uint16Array ? 2 : 1);
  const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  builder.startVector(width, value.byteLength / width, width);
  for (const byte of bytes.slice().reverse()) builder.addInt8(byte);
  return builder.endVector();
}

function tableOf(builder: Builder, fields: FlatFields): number {
  const entries = Object.entries(fields).flatMap(([slot, value]) =>
    value === undefined ? [] : [[Number(slot), value, offsetOf(builder, value)] as const],
  );
  builder.startObject(Math.max(0, ...entries.map(([slot]) => slot + 1)));
  builder.forceDefaults(true);
  for (const [slot, value, offset] of entries) {
    if (offset !== 0) builder.addFieldOffset(slot, offset, 0);
    else if (typeof value !== 'object') continue;
    else if ('int' in value) builder.addFieldInt32(slot, value.int, 0);
    else if ('byte' in value) builder.addFieldInt8(slot, value.byte, 0);
    else if ('double' in value) builder.addFieldFloat64(slot, value.double, 0);
  }
  return builder.endObject();
}

/** a > 0.5 (a missing value fails) and b > 2 (a missing value passes). */
const FLOATS: readonly FlatFields[] = [
  { 0: { byte: 1 }, 1: { int: 0 }, 2: { int: 0 }, 3: Float32Array.of(0.5), 4: 'a', 5: { byte: 1 } },
  { 0: { byte: 1 }, 1: { int: 1 }, 2: { int: 1 }, 3: Float32Array.of(2), 4: 'b', 5: { byte: 2 } },
];

/** One symmetric tree. */
const TREES: FlatFields = {
  0: { int: 1 },
  1: Int32Array.of(0, 1),
  2: Int32Array.of(2),
  3: Int32Array.of(0),
  5: { tables: FLOATS },
  8: Float64Array.of(1, 2, 4, 8),
  14: { double: 1 },
  16: Float64Array.of(0.25),
};

/** a > 0.5 ? (b > 2 ? 8 : 2) : 1, then a tree of one leaf, 16. */
export const NODES: FlatFields = {
  1: Int32Array.of(0, 0, 1, 0, 0),
  2: Int32Array.of(4, 1),
  3: Int32Array.of(0, 4),
  8: Float64Array.of(1, 2, 8, 16),
  // The third node has its own leaf on its left.
  10: Uint16Array.of(1, 2, 0, 0, 0, 1, 0, 0, 0, 0),
  11: Uint32Array.of(2 ** 32 - 1, 0, 1, 2, 3),
};

const infoOf = (info: Readonly<Record<string, string>>): FlatFields[] =>
  Object.entries(info).map(([key, value]) => ({ 0: key, 1: value }));

/** A file of the binary format. `trees`: members that differ. */
export function cbmOf(
  trees: FlatFields = {},
  info: Readonly<Record<string, string>> = { params: '{"loss_function":{"type":"RMSE"}}' },
  core: FlatFields = {},
): Buffer {
  const builder = new Builder(1024);
  const members = {
    0: 'FlabuffersModel_v1',
    1: { table: { ...TREES, ...trees } },
    2: { tables: infoOf(info) },
    ...core,
  };
  builder.finish(tableOf(builder, members));
  const bytes = builder.asUint8Array();
  const head = Buffer.alloc(8);
  head.write('CBM1', 'latin1');
  head.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}

/** The splits of TREES as CatBoost's JSON has them. */
export const SPLIT_A = { border: 0.5, float_feature_index: 0, split_index: 0 };
export const SPLIT_B = { border: 2, float_feature_index: 1, split_index: 1 };

const float = (index: number, border: number, treatment: string): object => ({
  borders: [border],
  feature_id: 'ab'[index],
  feature_index: index,
  flat_feature_index: index,
  has_nans: true,
  nan_value_treatment: treatment,
});

/** The model of cbmOf() as a document. */
export function catboostDocument(parts: object = {}, features: object = {}): Buffer {
  return jsonOf({
    features_info: {
      float_features: [float(0, 0.5, 'AsFalse'), float(1, 2, 'AsTrue')],
      ...features,
    },
    model_info: { params: { loss_function: { type: 'RMSE' } } },
    oblivious_trees: [{ leaf_values: [1, 2, 4, 8], splits: [SPLIT_A, SPLIT_B] }],
    scale_and_bias: [1, [0.25]],
    ...parts,
  });
}

/** A feature of texts at position 2, with splits by "red" and "blue". */
export const COLOURS = {
  categorical_features: [
    {
      feature_id: 'colour',
      feature_index: 0,
      flat_feature_index: 2,
      values: [-1242798403, -863087293],
    },
  ],
  cat_features_hash: [
    { hash: 3431880003, value: 'blue' },
    { hash: 3052168893, value: 'red' },
  ],
};

/** The text of a combination, as JSON names its table. */
const IDENTIFIER = 'colour';

/** A CTR of the colour: above 5 and above 9 are splits 2 and 3. Red 10.5, blue 1.5, others 7.5. */
export function ctrFeatures(parts: object = {}, words: object = COLOURS.cat_features_hash): object {
  const { values: _, ...colour } = COLOURS.categorical_features[0] as { values: number[] };
  const ctr = {
    borders: [5, 9],
    ctr_type: 'Borders',
    elements: [{ cat_feature_index: 0, combination_element: 'cat_feature_value' }],
    identifier: IDENTIFIER,
    prior_denomerator: 1,
    prior_numerator: 0.5,
    scale: 15,
    shift: 0,
    target_border_idx: 0,
    ...parts,
  };
  return { categorical_features: [colour], cat_features_hash: words, ctrs: [ctr] };
}

/** The parts of a document with such a CTR. `entries`: counts by hash. */
export function ctrParts(entries: readonly (readonly [bigint, ...number[]])[]): object {
  const [first = [0n, 0]] = entries;
  // CatBoost writes an empty entry too.
  const empty = [2n ** 64n - 1n, ...first.slice(1).map(() => 7)];
  const flat = [...empty, ...entries.flat()];
  const table = {
    counter_denominator: 8,
    hash_map: flat.map((one) => (typeof one === 'bigint' ? String(one) : one)),
    hash_stride: first.length,
  };
  const splits = [{ split_index: 2 }, { split_index: 3 }];
  return {
    ctr_data: { [IDENTIFIER]: table },
    oblivious_trees: [{ leaf_values: [1, 2, 4, 8], splits }],
  };
}

export const RED = -1242798403n;
export const BLUE = -863087293n;
