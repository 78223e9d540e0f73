// A version 2 checkpoint (tensor bundle): a table of entries in PREFIX.index, elements in
// PREFIX.data-SSSSS-of-NNNNN. Control plane: the importer's worker thread.
// Source: tensorflow/core/util/tensor_bundle/tensor_bundle.cc, core/protobuf/tensor_bundle.proto.
import { isUtf8 } from 'node:buffer';
import { modelInvalid, unimplemented } from '../../../base/errors.js';
import { CHECKPOINT_INDEX_BYTES_MAX, CHECKPOINT_SHARDS_MAX } from '../../../base/limits.js';
import { elementBytes } from '../../../model/datatype.js';
import type { Dtype, TensorData } from '../types.js';
import type { Box } from './boxes.js';
import { boxOf, boxText, volume, wholeBox } from './boxes.js';
import { fileBytes, readRange } from './bytes.js';
import type { BundleEntry } from './messages.js';
import { readBundleEntry, readBundleHeader } from './messages.js';
import { sliceKey } from './ordered-code.js';
import type { StoredSlice, StoredTensor } from './stored-tensor.js';
import { dtypeOf } from './stored-tensor.js';
import { readStrings } from './strings.js';
import { TableFile } from './table.js';

/** The header's key; never a tensor's name. */
const HEADER_KEY = '';
/** First character of slice keys. */
const SLICE_MARK = '\0';
const SHARD_DIGITS = 5;

interface Bundle {
  readonly prefix: string;
  readonly indexPath: string;
  readonly shards: number;
  /** By key, including slices. */
  readonly entries: ReadonlyMap<string, BundleEntry>;
  /** Sizes of the data files checked so far, by shard. */
  readonly fileBytes: Map<number, number>;
}

/** Its tensors by name. Reads only the index. Errors: ModelInvalid, Unimplemented. */
export function openBundle(prefix: string): ReadonlyMap<string, StoredTensor> {
  const table = new TableFile(`${prefix}.index`, CHECKPOINT_INDEX_BYTES_MAX);
  const entries = new Map<string, BundleEntry>();
  const bundle: { -readonly [key in keyof Bundle]: Bundle[key] } = {
    prefix,
    indexPath: table.path,
    shards: 0,
    entries,
    fileBytes: new Map(),
  };
  for (const { key, value } of table.entries(CHECKPOINT_INDEX_BYTES_MAX)) {
    if (key === HEADER_KEY) bundle.shards = readShards(value, table.path);
    else if (bundle.shards === 0) break;
    else entries.set(key, readBundleEntry(value, `${table.path}: ${keyText(key, table.path)}`));
  }
  if (bundle.shards === 0) throw modelInvalid(table.path, 'expected a header under the key ""');
  const tensors = new Map<string, StoredTensor>();
  for (const [key, entry] of entries) {
    if (key.startsWith(SLICE_MARK)) continue;
    const name = nameOf(key, table.path);
    tensors.set(name, new BundleTensor(bundle, name, entry));
  }
  return tensors;
}

function readShards(header: Uint8Array, path: string): number {
  const { shards, bigEndian } = readBundleHeader(header, path);
  if (bigEndian)
    throw unimplemented(path, 'checkpoints in big-endian byte order are not supported');
  if (shards >= 1 && shards <= CHECKPOINT_SHARDS_MAX) return shards;
  throw modelInvalid(path, `data files: expected 1 to ${CHECKPOINT_SHARDS_MAX}, got ${shards}`);
}

function nameOf(key: string, path: string): string {
  const bytes = Buffer.from(key, 'latin1');
  if (!isUtf8(bytes))
    throw modelInvalid(path, `the name ${JSON.stringify(key)} is not valid UTF-8`);
  return bytes.toString('utf8');
}

function keyText(key: string, path: string): string {
  return key.startsWith(SLICE_MARK) ? `slice ${JSON.stringify(key)}` : `'${nameOf(key, path)}'`;
}

class BundleTensor implements StoredTensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly #bundle: Bundle;
  readonly #name: string;
  readonly #entry: BundleEntry;
  #slices: readonly StoredSlice[] | undefined;

  constructor(bundle: Bundle, name: string, entry: BundleEntry) {
    this.#bundle = bundle;
    this.#name = name;
    this.#entry = entry;
    this.dtype = dtypeOf(entry.dtypeCode, this.#where());
    this.shape = entry.shape;
  }

  slices(): readonly StoredSlice[] {
    this.#slices ??=
      this.#entry.slices.length === 0
        ? [this.#slice(wholeBox(this.shape), this.#entry, this.#where())]
        : this.#findSlices();
    return this.#slices;
  }

  #findSlices(): StoredSlice[] {
    const entries: BundleEntry[] = [];
    const found = this.#entry.slices.map((extents) => {
      const box = boxOf(extents, this.shape, this.#where());
      const where = `${this.#where()} slice ${boxText(box)}`;
      const entry = this.#bundle.entries.get(sliceKey(this.#name, extents));
      if (entry === undefined) throw modelInvalid(where, 'is listed, but not stored');
      this.#checkSlice(entry, box, where);
      entries.push(entry);
      return this.#slice(box, entry, where);
    });
    checkDisjoint(entries, this.#where());
    return found;
  }

  #where(): string {
    return `${this.#bundle.indexPath}: tensor '${this.#name}'`;
  }

  #checkSlice(entry: BundleEntry, box: Box, where: string): void {
    if (entry.dtypeCode !== this.#entry.dtypeCode) {
      throw modelInvalid(
        where,
        `data type: expected ${this.#entry.dtypeCode}, got ${entry.dtypeCode}`,
      );
    }
    const [expected, got] = [box.lengths.join(','), entry.shape.join(',')];
    if (expected !== got) throw modelInvalid(where, `shape: expected [${expected}], got [${got}]`);
  }

  #slice(box: Box, entry: BundleEntry, where: string): StoredSlice {
    return { box, load: () => loadEntry(this.#bundle, this.dtype, entry, where) };
  }
}

/** Slices that share bytes of a file could require more memory than the file has bytes. */
function checkDisjoint(entries: readonly BundleEntry[], where: string): void {
  const sorted = entries
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => a.shard - b.shard || a.offset - b.offset);
  sorted.forEach(({ shard, offset }, i) => {
    const before = sorted[i - 1];
    if (before?.shard !== shard || before.offset + before.bytes <= offset) return;
    throw modelInvalid(where, `two of its slices share byte ${offset} of data file ${shard}`);
  });
}

function loadEntry(bundle: Bundle, dtype: Dtype, entry: BundleEntry, where: string): TensorData {
  if (dtype === 'resource' || dtype === 'variant') {
    throw unimplemented(where, `elements of data type ${dtype} are not supported`);
  }
  const count = volume(entry.shape, where);
  const path = checkRange(bundle, entry, where);
  const { offset, bytes: byteLength, maskedCrc32c } = entry;
  if (dtype === 'string') {
    const bytes = readRange(path, offset, byteLength);
    const values = readStrings(bytes, count, maskedCrc32c, `${where} in ${path}`);
    return { kind: 'strings', values };
  }
  const expected = count * elementBytes(dtype);
  if (byteLength !== expected) {
    throw modelInvalid(
      where,
      `[${entry.shape.join(',')}] of ${dtype} in ${path}: expected ${expected} ` +
        `bytes, got ${byteLength}`,
    );
  }
  if (byteLength === 0) return { kind: 'bytes', bytes: new Uint8Array(0) };
  return { kind: 'file', path, offset, byteLength, maskedCrc32c };
}

/** Checks that the entry is inside its data file. */
function checkRange(bundle: Bundle, entry: BundleEntry, where: string): string {
  const { shard, offset, bytes } = entry;
  if (shard < 0 || shard >= bundle.shards) {
    throw modelInvalid(where, `data file: expected 0 to ${bundle.shards - 1}, got ${shard}`);
  }
  const digits = (value: number): string => String(value).padStart(SHARD_DIGITS, '0');
  const path = `${bundle.prefix}.data-${digits(shard)}-of-${digits(bundle.shards)}`;
  const size = bundle.fileBytes.get(shard) ?? fileBytes(path);
  bundle.fileBytes.set(shard, size);
  if (offset + bytes > size) {
    throw modelInvalid(
      where,
      `expected ${bytes} bytes from byte ${offset} of ${path} on, got a file of ` + `${size} bytes`,
    );
  }
  return path;
}
