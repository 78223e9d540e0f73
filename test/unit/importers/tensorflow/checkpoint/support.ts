// Makes checkpoint files of both versions for the tests, valid and damaged ones.
import assert from 'node:assert/strict';
import { ERRORS, ServalError } from '../../../../../ts/base/errors.js';
import { readChecked } from '../../../../../ts/importers/tensorflow/checkpoint/stored-tensor.js';
import { sliceKey } from '../../../../../ts/importers/tensorflow/checkpoint/ordered-code.js';
import type { Extent } from '../../../../../ts/importers/tensorflow/checkpoint/ordered-code.js';
import type { Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { crc32c, maskCrc } from '../../../../../ts/protobuf/crc32c.js';
import { ProtobufWriter } from '../../../../../ts/protobuf/writer.js';

/** Key (one character per byte) and value. */
export type Entry = readonly [key: string, value: Uint8Array];

export interface TableOptions {
  /** The number of entries from one full key to the next. */
  readonly interval?: number;
  readonly entriesPerBlock?: number;
  /** Changes a block's content before it is stored. */
  readonly edit?: (content: Buffer, index: number) => Buffer;
  /** Compression type of the data blocks, and the function that compresses them. */
  readonly compression?: number;
  readonly pack?: (content: Buffer) => Buffer;
}

export const MAGIC = Buffer.from('57fb808b247547db', 'hex');

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

export function varint(value: number | bigint): Buffer {
  const out: number[] = [];
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...out, Number(rest)]);
}

export function uint32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32LE(value >>> 0);
  return out;
}

/** One entry of a block. */
export function blockEntry(shared: number, suffix: string, value: Uint8Array): Buffer {
  return Buffer.concat([
    varint(shared),
    varint(suffix.length),
    varint(value.length),
    Buffer.from(suffix, 'latin1'),
    value,
  ]);
}

export function block(entries: readonly Entry[], interval = 16): Buffer {
  const parts: Buffer[] = [];
  const restarts: number[] = [];
  let bytes = 0;
  let previous = '';
  entries.forEach(([key, value], i) => {
    let shared = 0;
    if (i % interval === 0) restarts.push(bytes);
    else while (shared < previous.length && previous[shared] === key[shared]) shared += 1;
    const entry = blockEntry(shared, key.slice(shared), value);
    parts.push(entry);
    bytes += entry.length;
    previous = key;
  });
  if (restarts.length === 0) restarts.push(0);
  return Buffer.concat([...parts, ...restarts.map(uint32), uint32(restarts.length)]);
}

/** A table of entries in the order they are given. */
export function table(entries: readonly Entry[], options: TableOptions = {}): Buffer {
  const parts: Buffer[] = [];
  let bytes = 0;
  const store = (content: Buffer, compression: number): Buffer => {
    const handle = Buffer.concat([varint(bytes), varint(content.length)]);
    const body = Buffer.concat([content, Buffer.from([compression])]);
    parts.push(body, uint32(maskCrc(crc32c(body))));
    bytes += body.length + 4;
    return handle;
  };
  const size = options.entriesPerBlock ?? Math.max(1, entries.length);
  const index: Entry[] = [];
  for (let first = 0; first < entries.length || first === 0; first += size) {
    const part = entries.slice(first, first + size);
    const plain = block(part, options.interval);
    const edited = options.edit?.(plain, index.length) ?? plain;
    const packed = options.pack?.(edited) ?? edited;
    // A separator is at least as large as the block's last key.
    index.push([`${part.at(-1)?.[0] ?? ''}\0`, store(packed, options.compression ?? 0)]);
  }
  const handles = Buffer.concat([store(block([]), 0), store(block(index, 1), 0)]);
  parts.push(handles, Buffer.alloc(40 - handles.length), MAGIC);
  return Buffer.concat(parts);
}

/** Snappy's format without any compression. */
export function snappyLiterals(content: Uint8Array): Buffer {
  const parts = [varint(content.length)];
  for (let first = 0; first < content.length; first += 65_536) {
    const part = content.subarray(first, first + 65_536);
    parts.push(
      Buffer.from([61 << 2, (part.length - 1) & 0xff, (part.length - 1) >> 8]),
      Buffer.from(part),
    );
  }
  return Buffer.concat(parts);
}

const extentsInto =
  (extents: readonly Extent[]) =>
  (slice: ProtobufWriter): void => {
    for (const { start, length } of extents) {
      slice.message(1, (extent) => {
        if (start !== 0) extent.varint(1, start);
        if (length !== undefined) extent.varint(2, length);
      });
    }
  };

const shapeInto =
  (shape: readonly number[]) =>
  (writer: ProtobufWriter): void => {
    for (const size of shape) writer.message(2, (dim) => dim.varint(1, size));
  };

export function bundleHeader(shards = 1, endianness = 0, minConsumer = 0): Uint8Array {
  return new ProtobufWriter()
    .varint(1, shards)
    .varint(2, endianness)
    .message(3, (version) => version.varint(1, 1).varint(2, minConsumer))
    .concat();
}

export interface EntryFields {
  readonly dtype: number;
  readonly shape: readonly number[];
  readonly shard?: number;
  readonly offset?: number;
  readonly size?: number;
  readonly crc?: number;
  readonly slices?: readonly (readonly Extent[])[];
}

export function bundleEntry(fields: EntryFields): Uint8Array {
  const writer = new ProtobufWriter()
    .varint(1, fields.dtype)
    .message(2, shapeInto(fields.shape))
    .varint(3, fields.shard ?? 0)
    .varint(4, fields.offset ?? 0)
    .varint(5, fields.size ?? 0);
  const crc = Buffer.concat([Buffer.from([0x35]), uint32(fields.crc ?? 0)]);
  const rest = new ProtobufWriter();
  for (const extents of fields.slices ?? []) rest.message(7, extentsInto(extents));
  return Buffer.concat([writer.concat(), crc, rest.concat()]);
}

export interface MetaFields {
  readonly name: string;
  readonly dtype: number;
  readonly shape: readonly number[];
  readonly slices: readonly (readonly Extent[])[];
}

/** The value under the key "" of a version 1 file. */
export function tensorMetas(metas: readonly MetaFields[], minConsumer = 0): Uint8Array {
  return new ProtobufWriter()
    .message(1, (list) => {
      for (const { name, dtype, shape, slices } of metas) {
        list.message(1, (meta) => {
          meta.string(1, name).message(2, shapeInto(shape)).varint(3, dtype);
          for (const extents of slices) meta.message(4, extentsInto(extents));
        });
      }
      list.message(2, (version) => version.varint(1, 1).varint(2, minConsumer));
    })
    .concat();
}

/** A slice's key and value in a version 1 file. */
export function savedSlice(
  name: string,
  extents: readonly Extent[],
  values: (tensor: ProtobufWriter) => void,
): Entry {
  const value = new ProtobufWriter()
    .message(2, (slice) => {
      slice.string(1, name).message(2, extentsInto(extents)).message(3, values);
    })
    .concat();
  return [sliceKey(name, extents), value];
}

export const byKey = (entries: readonly Entry[]): Entry[] =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

/** The bytes of a string tensor and the masked checksum of its entry. */
export function stringTensor(values: readonly Uint8Array[]): { bytes: Buffer; crc: number } {
  const wide = Buffer.concat(values.map(({ length }) => uint32(length)));
  const sum = uint32(maskCrc(crc32c(wide)));
  const content = Buffer.concat(values);
  const lengths = Buffer.concat(values.map(({ length }) => varint(length)));
  return {
    bytes: Buffer.concat([lengths, sum, content]),
    crc: maskCrc(crc32c(Buffer.concat([wide, sum, content]))),
  };
}

export function floats(...values: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

/** Elements as bytes in hex, separately for each string; a tensor in a file is read and checked. */
export function elements(tensor: Tensor): string | readonly string[] {
  const { data } = tensor;
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  switch (data.kind) {
    case 'bytes':
      return text(data.bytes);
    case 'strings':
      return data.values.map(text);
    case 'file':
      return text(readChecked(data, 'test'));
    default:
      assert.fail(`a tensor of the kind ${data.kind}`);
  }
}

/** "CODE_NAME: message" of the ServalError that `run` throws. */
export function errorOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ServalError, String((error as Error).stack));
    return `${ERRORS[error.code].name}: ${error.message}`;
  }
  return 'no error';
}
