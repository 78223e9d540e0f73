// Writes small parquet files for the tests of ts/importers/spark: optional columns, lists,
// structures and maps as in Spark's files, one page per column, plain values.
import { brotliCompressSync, gzipSync } from 'node:zlib';

export type Kind = 'boolean' | 'byte' | 'int' | 'long' | 'float' | 'double' | 'string';
export type Shape =
  | Kind
  | { readonly list: Shape }
  | { readonly struct: Readonly<Record<string, Shape>> }
  | { readonly map: readonly [Kind, Shape] };
export type Row = Readonly<Record<string, unknown>>;
export type Codec = 'none' | 'snappy' | 'gzip' | 'brotli';

/** VectorUDT and MatrixUDT as Spark stores them. */
export const VECTOR: Shape = {
  struct: { type: 'byte', size: 'int', indices: { list: 'int' }, values: { list: 'double' } },
};
export const MATRIX: Shape = {
  struct: {
    type: 'byte',
    numRows: 'int',
    numCols: 'int',
    colPtrs: { list: 'int' },
    rowIndices: { list: 'int' },
    values: { list: 'double' },
    isTransposed: 'boolean',
  },
};
export const dense = (...values: number[]) => ({ type: 1, values });
export const sparse = (size: number, indices: number[], values: number[]) => ({
  type: 0,
  size,
  indices,
  values,
});

const PHYSICAL = { boolean: 0, byte: 1, int: 1, long: 2, float: 4, double: 5, string: 6 } as const;
const CODECS = { none: 0, snappy: 1, gzip: 2, brotli: 4 } as const;

interface Leaf {
  readonly kind: Kind;
  readonly path: readonly string[];
  readonly maxRep: number;
  readonly maxDef: number;
  readonly reps: number[];
  readonly defs: number[];
  readonly values: unknown[];
}

interface Node {
  readonly leaves: readonly Leaf[];
  readonly elements: readonly Uint8Array[]; // SchemaElement of this node and those below
  shred(value: unknown, rep: number, def: number): void;
}

/**
 * The bytes of a file with these columns and rows. `pageBytes`: a false uncompressed size for its
 * pages.
 */
export function parquet(
  columns: Readonly<Record<string, Shape>>,
  rows: readonly Row[],
  codec: Codec = 'none',
  pageBytes?: number,
): Uint8Array {
  const nodes = Object.entries(columns).map(([name, shape]) => ({
    name,
    node: nodeOf(shape, [name], 0, 0),
  }));
  for (const row of rows) for (const { name, node } of nodes) node.shred(row[name], 0, 0);
  const parts: Uint8Array[] = [ascii('PAR1')];
  let offset = 4;
  const chunks: Uint8Array[] = [];
  for (const leaf of nodes.flatMap(({ node }) => node.leaves)) {
    const { bytes, metadata } = chunkOf(leaf, offset, codec, pageBytes);
    parts.push(bytes);
    chunks.push(
      struct([
        [2, i64(offset)],
        [3, { type: 12, bytes: metadata }],
      ]),
    );
    offset += bytes.length;
  }
  const schema = [
    struct([
      [4, text('spark_schema')],
      [5, i32(nodes.length)],
    ]),
    ...nodes.flatMap(({ node }) => node.elements),
  ];
  const group = struct([
    [1, list(12, chunks)],
    [2, i64(offset)],
    [3, i64(rows.length)],
  ]);
  const footer = struct([
    [1, i32(1)],
    [2, list(12, schema)],
    [3, i64(rows.length)],
    [4, list(12, rows.length === 0 ? [] : [group])],
  ]);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, footer.length, true);
  return Buffer.concat([...parts, footer, length, ascii('PAR1')]);
}

function nodeOf(shape: Shape, path: readonly string[], rep: number, def: number): Node {
  if (typeof shape === 'string') return leafNode(shape, path, rep, def + 1, 1);
  const name = path.at(-1) ?? '';
  if ('struct' in shape) {
    const children = Object.entries(shape.struct).map(([field, of]) => ({
      field,
      node: nodeOf(of, [...path, field], rep, def + 1),
    }));
    const leaves = children.flatMap(({ node }) => node.leaves);
    return {
      leaves,
      elements: [group(name, 1, children.length), ...children.flatMap(({ node }) => node.elements)],
      shred(value, r, d) {
        if (value === undefined || value === null) return emit(leaves, r, d);
        for (const { field, node } of children) node.shred((value as Row)[field], r, d + 1);
      },
    };
  }
  const isMap = 'map' in shape;
  const [repeated, key, value] = isMap
    ? [
        'key_value',
        leafNode(shape.map[0], [...path, 'key_value', 'key'], rep + 1, def + 2, 0),
        shape.map[1],
      ]
    : ['list', undefined, shape.list];
  const item = nodeOf(value, [...path, repeated, isMap ? 'value' : 'element'], rep + 1, def + 2);
  const leaves = [...(key?.leaves ?? []), ...item.leaves];
  return {
    leaves,
    elements: [
      group(name, 1, 1, isMap ? 1 : 3),
      group(repeated, 2, isMap ? 2 : 1),
      ...(key?.elements ?? []),
      ...item.elements,
    ],
    shred(cell, r, d) {
      if (cell === undefined || cell === null) return emit(leaves, r, d);
      const items = [...(cell as Iterable<unknown>)];
      if (items.length === 0) return emit(leaves, r, d + 1);
      for (const [i, one] of items.entries()) {
        const [k, v] = isMap ? (one as [unknown, unknown]) : [undefined, one];
        key?.shred(k, i === 0 ? r : rep + 1, d + 1);
        item.shred(v, i === 0 ? r : rep + 1, d + 2);
      }
    },
  };
}

/** `repetition`: 0 required, 1 optional. */
function leafNode(
  kind: Kind,
  path: readonly string[],
  maxRep: number,
  maxDef: number,
  repetition: number,
): Node {
  const leaf: Leaf = { kind, path, maxRep, maxDef, reps: [], defs: [], values: [] };
  const converted = kind === 'string' ? 0 : kind === 'byte' ? 15 : undefined;
  const element = struct([
    [1, i32(PHYSICAL[kind])],
    [3, i32(repetition)],
    [4, text(path.at(-1) ?? '')],
    ...(converted === undefined ? [] : [[6, i32(converted)] as Field]),
  ]);
  return {
    leaves: [leaf],
    elements: [element],
    shred(value, r, d) {
      if (value === undefined || value === null) return emit([leaf], r, d);
      leaf.reps.push(r);
      leaf.defs.push(maxDef);
      leaf.values.push(value);
    },
  };
}

function emit(leaves: readonly Leaf[], rep: number, def: number): void {
  for (const leaf of leaves) {
    leaf.reps.push(rep);
    leaf.defs.push(def);
  }
}

function group(name: string, repetition: number, children: number, converted?: number): Uint8Array {
  return struct([
    [3, i32(repetition)],
    [4, text(name)],
    [5, i32(children)],
    ...(converted === undefined ? [] : [[6, i32(converted)] as Field]),
  ]);
}

function chunkOf(leaf: Leaf, offset: number, codec: Codec, pageBytes?: number) {
  const plain = Buffer.concat([
    levels(leaf.reps, leaf.maxRep),
    levels(leaf.defs, leaf.maxDef),
    valuesOf(leaf),
  ]);
  const packed = pack(plain, codec);
  const header = struct([
    [1, i32(0)],
    [2, i32(pageBytes ?? plain.length)],
    [3, i32(packed.length)],
    [
      5,
      {
        type: 12,
        bytes: struct([
          [1, i32(leaf.defs.length)],
          [2, i32(0)],
          [3, i32(3)],
          [4, i32(3)],
        ]),
      },
    ],
  ]);
  const bytes = Buffer.concat([header, packed]);
  const metadata = struct([
    [1, i32(PHYSICAL[leaf.kind])],
    [2, list(5, [zigzag(0), zigzag(3)])],
    [
      3,
      list(
        8,
        leaf.path.map((part) => text(part).bytes),
      ),
    ],
    [4, i32(CODECS[codec])],
    [5, i64(leaf.defs.length)],
    [6, i64(header.length + plain.length)],
    [7, i64(bytes.length)],
    [9, i64(offset)],
  ]);
  return { bytes, metadata };
}

function levels(values: readonly number[], max: number): Uint8Array {
  if (max === 0) return new Uint8Array(0);
  const runs: number[] = [];
  for (let i = 0; i < values.length; ) {
    let end = i + 1;
    while (end < values.length && values[end] === values[i]) end++;
    runs.push(...varint((end - i) * 2), values[i] ?? 0);
    i = end;
  }
  const length = Buffer.alloc(4);
  length.writeUInt32LE(runs.length);
  return Buffer.concat([length, Uint8Array.from(runs)]);
}

function valuesOf(leaf: Leaf): Uint8Array {
  if (leaf.kind === 'boolean') {
    const bits = new Uint8Array(Math.ceil(leaf.values.length / 8));
    leaf.values.forEach((value, i) => {
      if (value === true) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
    });
    return bits;
  }
  return Buffer.concat(
    leaf.values.map((value) => {
      if (leaf.kind === 'string') {
        const utf8 = Buffer.from(value as string, 'utf8');
        const length = Buffer.alloc(4);
        length.writeUInt32LE(utf8.length);
        return Buffer.concat([length, utf8]);
      }
      const bytes = Buffer.alloc(leaf.kind === 'long' || leaf.kind === 'double' ? 8 : 4);
      if (leaf.kind === 'double') bytes.writeDoubleLE(value as number);
      else if (leaf.kind === 'float') bytes.writeFloatLE(value as number);
      else if (leaf.kind === 'long') bytes.writeBigInt64LE(BigInt(value as number));
      else bytes.writeInt32LE(value as number);
      return bytes;
    }),
  );
}

function pack(plain: Uint8Array, codec: Codec): Uint8Array {
  if (codec === 'gzip') return gzipSync(plain);
  if (codec === 'brotli') return brotliCompressSync(plain);
  if (codec === 'none') return plain;
  const parts: Uint8Array[] = [Uint8Array.from(varint(plain.length))]; // snappy, literals only
  for (let at = 0; at < plain.length; at += 60) {
    const literal = plain.subarray(at, at + 60);
    parts.push(Uint8Array.of((literal.length - 1) << 2), literal);
  }
  return Buffer.concat(parts);
}

// The parts of Thrift's compact protocol that a footer needs.
interface Coded {
  readonly type: number;
  readonly bytes: Uint8Array;
}
type Field = readonly [number, Coded];

function struct(fields: readonly Field[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let last = 0;
  for (const [id, { type, bytes }] of fields) {
    parts.push(Uint8Array.of(((id - last) << 4) | type), bytes);
    last = id;
  }
  return Buffer.concat([...parts, Uint8Array.of(0)]);
}

function list(type: number, items: readonly Uint8Array[]): Coded {
  const head =
    items.length < 15 ? [(items.length << 4) | type] : [0xf0 | type, ...varint(items.length)];
  return { type: 9, bytes: Buffer.concat([Uint8Array.from(head), ...items]) };
}

const i32 = (value: number): Coded => ({ type: 5, bytes: zigzag(value) });
const i64 = (value: number): Coded => ({ type: 6, bytes: zigzag(value) });
const zigzag = (value: number): Uint8Array =>
  Uint8Array.from(varint(value < 0 ? -value * 2 - 1 : value * 2));
const ascii = (value: string): Uint8Array => Buffer.from(value, 'latin1');

function text(value: string): Coded {
  const utf8 = Buffer.from(value, 'utf8');
  return { type: 8, bytes: Buffer.concat([Uint8Array.from(varint(utf8.length)), utf8]) };
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}
