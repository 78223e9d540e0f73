// Decodes protobuf's wire bytes to messages by a schema: configuration in a request. As in
// protobuf, unknown fields are skipped, the last occurrence of a single value or oneof member wins,
// and a repeated message is merged. Control plane, any thread; pure. Source: protobuf.dev,
// encoding.
import { MAP_ENTRY } from './generated/map-entry-fields.js';
import { ErrorCode } from '../base/errors.js';
import { WireReader } from './reader.js';
import { DecodeNotes, type Decoded } from './decode-notes.js';
import {
  defaultValue,
  enumName,
  integerValue,
  typeText,
  type FieldSchema,
  type FieldType,
  type MessageSchema,
  type ScalarName,
} from './schema.js';

type Members = Record<string, unknown>;

/**
 * `place` is the location prefix: "config.model_config_list.config[2]". Errors: MalformedBody: not
 * such a message.
 */
export function decodeWire(bytes: Uint8Array, schema: MessageSchema, place: string): Decoded {
  const notes = new DecodeNotes();
  const value: Members = {};
  const reader = new WireReader(bytes, schema.name, 0, ErrorCode.MalformedBody);
  new WireDecode(notes).message(reader, schema, value, place);
  return { value, problems: notes.problems, places: notes };
}

class WireDecode {
  readonly #notes: DecodeNotes;
  /** Messages already begun: a second occurrence adds to the first. */
  readonly #begun = new WeakSet<object>();

  constructor(notes: DecodeNotes) {
    this.#notes = notes;
  }

  message(reader: WireReader, schema: MessageSchema, into: Members, place: string): void {
    const before = this.#notes.problems.length;
    if (!this.#begun.has(into)) this.#notes.begin(into, place);
    this.#begun.add(into);
    while (reader.next()) {
      const found = schema.byNumber.get(reader.field);
      if (found === undefined) {
        reader.skip();
        continue;
      }
      const [name, known] = found;
      for (const other of oneofMembers(schema, name, known)) delete into[other];
      this.#field(reader, name, known, into, `${place}.${name}`);
    }
    this.#notes.end(into, before);
  }

  #field(reader: WireReader, name: string, known: FieldSchema, into: Members, place: string): void {
    if (known.mapKey !== undefined) {
      this.#entry(reader, known, known.mapKey, this.#mapOf(into, name, place), place);
    } else if (known.repeated) {
      const list = (into[name] ?? []) as unknown[];
      into[name] = list;
      this.#elements(reader, known.type, list, place, (element) => {
        this.#notes.note(into, name, `${place}[${list.length}]`);
        list.push(element);
      });
    } else {
      const value = this.#value(reader, known.type, into[name], place);
      if (value !== undefined) into[name] = value;
      this.#notes.note(into, name, place);
    }
  }

  #mapOf(into: Members, name: string, place: string): Members {
    const known = into[name] as Members | undefined;
    if (known !== undefined) return known;
    const entries: Members = {};
    this.#notes.begin(entries, place);
    into[name] = entries;
    return entries;
  }

  /** The last of equal keys wins. */
  #entry(
    reader: WireReader,
    known: FieldSchema,
    mapKey: ScalarName,
    entries: Members,
    place: string,
  ): void {
    const entry = reader.nested('map entry');
    const keyType: FieldType = { kind: 'scalar', scalar: mapKey };
    let key: unknown = defaultValue(keyType);
    let value: unknown;
    while (entry.next()) {
      if (entry.field === MAP_ENTRY.key) key = this.#value(entry, keyType, key, place);
      else if (entry.field === MAP_ENTRY.value)
        value = this.#value(entry, known.type, value, place);
      else entry.skip();
    }
    const name = String(key);
    this.#notes.note(entries, name, place);
    Object.defineProperty(entries, name, {
      value: value ?? defaultValue(known.type),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }

  /** Numbers may be packed. */
  #elements(
    reader: WireReader,
    type: FieldType,
    list: readonly unknown[],
    place: string,
    add: (element: unknown) => void,
  ): void {
    const isVarint =
      type.kind === 'enum' ||
      (type.kind === 'scalar' && !['string', 'bytes', 'float', 'double'].includes(type.scalar));
    if (!isVarint) {
      const value = this.#value(reader, type, undefined, `${place}[${list.length}]`);
      if (value !== undefined) add(value);
      return;
    }
    reader.varints(({ low, high }) => {
      const value = this.#number(signed(low, high), type, `${place}[${list.length}]`);
      if (value !== undefined) add(value);
    });
  }

  /** undefined if the value is a problem, which is noted. */
  #value(reader: WireReader, type: FieldType, before: unknown, place: string): unknown {
    switch (type.kind) {
      case 'opaque':
        reader.view();
        return {};
      case 'message': {
        const value = (before ?? {}) as Members;
        this.message(reader.nested(type.name), type, value, place);
        return value;
      }
      case 'enum':
        return this.#number(reader.int64(), type, place);
      case 'scalar':
        return this.#scalar(reader, type, place);
    }
  }

  #scalar(
    reader: WireReader,
    type: Extract<FieldType, { kind: 'scalar' }>,
    place: string,
  ): unknown {
    switch (type.scalar) {
      case 'string':
        return reader.string();
      case 'bytes':
        return reader.view();
      case 'bool':
        return reader.int64() !== 0n;
      case 'float':
      case 'double': {
        const bytes = reader.fixed(type.scalar === 'float' ? 4 : 8);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        return type.scalar === 'float' ? view.getFloat32(0, true) : view.getFloat64(0, true);
      }
      default:
        return this.#number(reader.int64(), type, place);
    }
  }

  #number(value: bigint, type: FieldType, place: string): unknown {
    const isUnsigned64 = type.kind === 'scalar' && type.scalar === 'uint64';
    const number = isUnsigned64 ? BigInt.asUintN(64, value) : value;
    const found =
      type.kind === 'enum'
        ? enumName(type.values, number)
        : integerValue((type as { readonly scalar: ScalarName }).scalar, number);
    if (found !== undefined) return found;
    return this.#notes.problem(place, `expected ${typeText(type)}, got ${number}`);
  }
}

function signed(low: number, high: number): bigint {
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
}

/** The other members of the oneof that contains `name`. */
function oneofMembers(schema: MessageSchema, name: string, known: FieldSchema): readonly string[] {
  if (known.oneof === undefined) return [];
  return Object.entries(schema.fields)
    .filter(([other, field]) => other !== name && field.oneof === known.oneof)
    .map(([other]) => other);
}
