// Reads an ONNX file's own description: the top-level fields of ModelProto. The graph and its
// weights are skipped: a file of gigabytes costs a few small reads. Control plane. Source: field
// numbers of onnx/onnx.proto; protobuf wire format.
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import {
  VARINT_BYTES_MAX,
  WIRE_FIXED32,
  WIRE_FIXED64,
  WIRE_LENGTH,
  WIRE_VARINT,
} from '../../protobuf/wire.js';
import { ServalError, modelInvalid } from '../../base/errors.js';
import {
  ONNX_ENTRIES_MAX,
  ONNX_FIELDS_MAX,
  ONNX_STRINGS_BYTES_MAX,
  ONNX_STRING_BYTES_MAX,
} from '../../base/limits.js';

export interface OnnxOpset {
  /** "" is ONNX's own domain. */
  readonly domain: string;
  readonly version: bigint;
}

export interface OnnxHeader {
  readonly irVersion: bigint;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly modelVersion: bigint;
  readonly docString: string;
  readonly opsets: readonly OnnxOpset[];
  readonly metadata: readonly (readonly [key: string, value: string])[];
  readonly fileBytes: number;
  /** Size of the serialized graph, including weights. */
  readonly graphBytes: number;
}

const WIRE_NAMES: Readonly<Record<number, string>> = {
  [WIRE_VARINT]: 'a number',
  [WIRE_LENGTH]: 'bytes',
};
const READ_BYTES = 65_536;
const BECAME_SHORTER = 'the file was truncated while it was read';

const FIELDS = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  domain: 4,
  modelVersion: 5,
  docString: 6,
  graph: 7,
  opset: 8,
  metadata: 14,
} as const;
const NUMBER_FIELDS = new Set<number>([FIELDS.irVersion, FIELDS.modelVersion]);
const LENGTH_FIELDS = new Set<number>([
  FIELDS.producerName,
  FIELDS.producerVersion,
  FIELDS.domain,
  FIELDS.docString,
  FIELDS.graph,
  FIELDS.opset,
  FIELDS.metadata,
]);

/** Errors: ModelInvalid naming file and byte offset: unreadable, truncated, not protobuf, no graph,
 * or above a limit. */
export async function readOnnxHeader(path: string): Promise<OnnxHeader> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    throw modelInvalid(path, (error as Error).message);
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw modelInvalid(path, 'expected a file');
    return await readFields(new Source(file, path, stats.size));
  } catch (error) {
    throw error instanceof ServalError ? error : modelInvalid(path, (error as Error).message);
  } finally {
    await file.close();
  }
}

/** Reads a file forward in blocks. Offsets are bytes from its start. */
class Source {
  offset = 0;
  readonly size: number;
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #block = Buffer.alloc(READ_BYTES);
  #blockStart = 0;
  #blockBytes = 0;

  constructor(file: FileHandle, path: string, size: number) {
    this.#file = file;
    this.#path = path;
    this.size = size;
  }

  fail(offset: number, message: string): ServalError {
    return modelInvalid(this.#path, `not a valid ONNX file at byte ${offset}: ${message}`);
  }

  async byte(): Promise<number> {
    if (this.offset >= this.size) throw this.fail(this.offset, 'the file ends inside a field');
    const inBlock = this.offset - this.#blockStart;
    if (inBlock < 0 || inBlock >= this.#blockBytes) await this.#fill();
    const value = this.#block[this.offset - this.#blockStart] ?? 0;
    this.offset += 1;
    return value;
  }

  async #fill(): Promise<void> {
    const { bytesRead } = await this.#file.read(this.#block, 0, READ_BYTES, this.offset);
    if (bytesRead === 0) throw this.fail(this.offset, BECAME_SHORTER);
    this.#blockStart = this.offset;
    this.#blockBytes = bytesRead;
  }

  async varint(): Promise<bigint> {
    const start = this.offset;
    let value = 0n;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = await this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw this.fail(start, `expected a number of at most ${VARINT_BYTES_MAX} bytes`);
  }

  /** A length that fits the rest of the file. */
  async length(field: number): Promise<number> {
    const start = this.offset;
    const length = await this.varint();
    const left = this.size - this.offset;
    if (length <= BigInt(left)) return Number(length);
    throw this.fail(start, `field ${field} has ${length} bytes, but only ${left} remain`);
  }

  skip(bytes: number): void {
    if (bytes > this.size - this.offset) {
      throw this.fail(this.offset, 'the file ends inside a field');
    }
    this.offset += bytes;
  }

  async bytes(field: number, length: number): Promise<Buffer> {
    if (length > ONNX_STRING_BYTES_MAX) {
      const expected = `expected at most ${ONNX_STRING_BYTES_MAX} bytes`;
      throw this.fail(this.offset, `field ${field}: ${expected}, got ${length}`);
    }
    const out = Buffer.alloc(length);
    for (let used = 0; used < length; ) {
      const { bytesRead } = await this.#file.read(out, used, length - used, this.offset);
      if (bytesRead === 0) throw this.fail(this.offset, BECAME_SHORTER);
      used += bytesRead;
      this.offset += bytesRead;
    }
    return out;
  }
}

interface Collected {
  readonly numbers: Map<number, bigint>;
  readonly strings: Map<number, string>;
  readonly opsets: OnnxOpset[];
  readonly metadata: [string, string][];
  stringBytes: number;
  graphBytes: number | undefined;
}

async function readFields(source: Source): Promise<OnnxHeader> {
  const got: Collected = {
    numbers: new Map(),
    strings: new Map(),
    opsets: [],
    metadata: [],
    stringBytes: 0,
    graphBytes: undefined,
  };
  for (let fields = 0; source.offset < source.size; fields++) {
    if (fields === ONNX_FIELDS_MAX) {
      throw source.fail(source.offset, `expected at most ${ONNX_FIELDS_MAX} fields`);
    }
    await readField(source, got);
  }
  if (got.graphBytes === undefined) {
    throw source.fail(source.size, `the file has no graph (${source.size} bytes)`);
  }
  const string = (field: number): string => got.strings.get(field) ?? '';
  return {
    irVersion: got.numbers.get(FIELDS.irVersion) ?? 0n,
    producerName: string(FIELDS.producerName),
    producerVersion: string(FIELDS.producerVersion),
    domain: string(FIELDS.domain),
    modelVersion: got.numbers.get(FIELDS.modelVersion) ?? 0n,
    docString: string(FIELDS.docString),
    opsets: got.opsets,
    metadata: got.metadata,
    fileBytes: source.size,
    graphBytes: got.graphBytes,
  };
}

async function readField(source: Source, got: Collected): Promise<void> {
  const start = source.offset;
  const tag = await source.varint();
  const field = Number(tag >> 3n);
  const wire = Number(tag & 7n);
  if (field < 1 || field > 0x1fffffff) throw source.fail(start, `no field has number ${field}`);
  checkWire(source, start, field, wire);
  switch (wire) {
    case WIRE_VARINT: {
      const value = await source.varint();
      if (NUMBER_FIELDS.has(field)) got.numbers.set(field, BigInt.asIntN(64, value));
      return;
    }
    case WIRE_FIXED64:
      return source.skip(8);
    case WIRE_FIXED32:
      return source.skip(4);
    case WIRE_LENGTH:
      return readLengthField(source, got, field, await source.length(field));
    default:
      throw source.fail(start, `field ${field} has unknown wire type ${wire}`);
  }
}

function checkWire(source: Source, start: number, field: number, wire: number): void {
  const expected = NUMBER_FIELDS.has(field)
    ? WIRE_VARINT
    : LENGTH_FIELDS.has(field)
      ? WIRE_LENGTH
      : wire;
  if (wire === expected) return;
  const name = WIRE_NAMES[expected] ?? '';
  throw source.fail(start, `field ${field}: expected ${name}, got wire type ${wire}`);
}

async function readLengthField(
  source: Source,
  got: Collected,
  field: number,
  length: number,
): Promise<void> {
  if (field === FIELDS.graph) got.graphBytes = (got.graphBytes ?? 0) + length;
  if (field === FIELDS.graph || !LENGTH_FIELDS.has(field)) return source.skip(length);
  const start = source.offset;
  const entries = got.opsets.length + got.metadata.length;
  got.stringBytes += length;
  if (got.stringBytes > ONNX_STRINGS_BYTES_MAX || entries >= ONNX_ENTRIES_MAX) {
    const most = `${ONNX_ENTRIES_MAX} entries and ${ONNX_STRINGS_BYTES_MAX} bytes of strings`;
    throw source.fail(start, `opsets and metadata: expected at most ${most}`);
  }
  const bytes = await source.bytes(field, length);
  if (field === FIELDS.opset) {
    const entry = readEntry(source, bytes, start);
    got.opsets.push({ domain: entry.strings.get(1) ?? '', version: entry.numbers.get(2) ?? 0n });
  } else if (field === FIELDS.metadata) {
    const { strings } = readEntry(source, bytes, start);
    got.metadata.push([strings.get(1) ?? '', strings.get(2) ?? '']);
  } else {
    got.strings.set(field, bytes.toString('utf8'));
  }
  return undefined;
}

interface Entry {
  readonly numbers: ReadonlyMap<number, bigint>;
  readonly strings: ReadonlyMap<number, string>;
}

/** A small message of numbers and strings: OperatorSetIdProto, StringStringEntryProto. */
function readEntry(source: Source, bytes: Buffer, start: number): Entry {
  const numbers = new Map<number, bigint>();
  const strings = new Map<number, string>();
  let at = 0;
  const varint = (): bigint => {
    const begin = at;
    let value = 0n;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = bytes[at++];
      if (byte === undefined) throw source.fail(start + begin, 'a number is truncated');
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw source.fail(start + begin, `expected a number of at most ${VARINT_BYTES_MAX} bytes`);
  };
  while (at < bytes.length) {
    const begin = at;
    const tag = varint();
    const wire = Number(tag & 7n);
    if (wire === WIRE_VARINT) {
      numbers.set(Number(tag >> 3n), BigInt.asIntN(64, varint()));
      continue;
    }
    const length = wire === WIRE_LENGTH ? varint() : wire === WIRE_FIXED64 ? 8n : 4n;
    const known = wire === WIRE_LENGTH || wire === WIRE_FIXED64 || wire === WIRE_FIXED32;
    if (!known || length > BigInt(bytes.length - at)) {
      throw source.fail(start + begin, `wire type ${wire} of ${length} bytes does not fit`);
    }
    const end = at + Number(length);
    if (wire === WIRE_LENGTH) strings.set(Number(tag >> 3n), bytes.toString('utf8', at, end));
    at = end;
  }
  return { numbers, strings };
}
