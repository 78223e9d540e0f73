// Protobuf's text form to the binary one by a schema, so that one reader serves both. Importer's
// worker thread; pure. Source: protobuf.dev, text format language specification.
import { isUtf8 } from 'node:buffer';
import { ErrorCode, ServalError } from '../../errors.js';
import { parseTextProto } from '../../protobuf/text-format.js';
import type { TextField, TextMessage, TextPlace, TextValue } from '../../protobuf/text-format.js';
import { modelInvalid } from './read-context.js';
import { ANY_MESSAGES } from './text-schema.js';
import type { TextFieldType, TextScalar, TextSchema } from './text-schema.js';

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_LENGTH = 2;
const WIRE_FIXED32 = 5;
/** What of a file is looked at to tell text from binary. */
const SNIFFED_BYTES = 4096;
const FIRST_FIELD = /^(?:\s|#[^\n]*\n)*[A-Za-z_]\w*\s*[:{<]/;
const INTEGER_RANGE: Readonly<Partial<Record<TextScalar, readonly [bigint, bigint]>>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

/** Binary messages begin with a tag and a length, soon followed by bytes that no text has. */
export function looksLikeText(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, SNIFFED_BYTES);
  const isText = start.every((byte) => byte >= 0x20 || (byte >= 9 && byte <= 13));
  return isText && FIRST_FIELD.test(Buffer.from(start).toString('latin1'));
}

/** Errors: ModelInvalid with line and column: no such text, unknown field, wrong type. */
export function encodeTextProto(text: Uint8Array, schema: TextSchema): Uint8Array {
  if (!isUtf8(text)) throw modelInvalid('expected UTF-8 text, got other bytes');
  let message: TextMessage;
  try {
    const decoded = Buffer.from(text.buffer, text.byteOffset, text.length).toString('utf8');
    message = parseTextProto(decoded, schema.name);
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    throw new ServalError(ErrorCode.ModelInvalid, error.message);
  }
  return new Uint8Array(encodeMessage(message, schema));
}

function encodeMessage(message: TextMessage, schema: TextSchema): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const field of message.fields) {
    if (field.kind === 'bracket') encodeAny(field, schema, parts);
    else encodeField(field, schema, parts);
  }
  return Buffer.concat(parts);
}

function encodeField(field: TextField, schema: TextSchema, parts: Uint8Array[]): void {
  const known = Object.hasOwn(schema.fields, field.name) ? schema.fields[field.name] : undefined;
  if (known === undefined) {
    throw wrong(field.place, `unknown field "${field.name}" of ${schema.name}`);
  }
  const [number, type] = known;
  for (const value of field.values) {
    const [wire, bytes] = encodeValue(field.name, value, type);
    parts.push(varint(BigInt(number * 8 + wire)));
    if (wire === WIRE_LENGTH) parts.push(varint(BigInt(bytes.length)));
    parts.push(bytes);
  }
}

/** [type.googleapis.com/NAME] { ... }; a message that nobody reads here is left empty. */
function encodeAny(field: TextField, schema: TextSchema, parts: Uint8Array[]): void {
  if (schema.name !== 'google.protobuf.Any') {
    throw wrong(field.place, `[${field.name}]: ${schema.name} has no extensions`);
  }
  const [value] = field.values;
  if (value?.kind !== 'message') throw wrong(field.place, `[${field.name}]: expected a message`);
  const url = Buffer.from(field.name);
  const known = ANY_MESSAGES.get(field.name.slice(field.name.lastIndexOf('/') + 1));
  const bytes = known === undefined ? new Uint8Array(0) : encodeMessage(value, known);
  for (const [number, content] of [
    [1, url],
    [2, bytes],
  ] as const) {
    parts.push(varint(BigInt(number * 8 + WIRE_LENGTH)), varint(BigInt(content.length)), content);
  }
}

function encodeValue(
  name: string,
  value: TextValue,
  type: TextFieldType,
): readonly [wire: number, bytes: Uint8Array] {
  if (type.kind === 'message') {
    if (value.kind === 'message') return [WIRE_LENGTH, encodeMessage(value, type.schema())];
  } else if (type.kind === 'opaque') {
    if (value.kind === 'message') return [WIRE_LENGTH, new Uint8Array(0)];
  } else if (type.kind === 'enum') {
    const number = enumNumber(value, type.values);
    if (number !== undefined) return [WIRE_VARINT, varint(BigInt(number))];
  } else {
    const found = encodeScalar(value, type.scalar);
    if (found !== undefined) return found;
  }
  const expected = type.kind === 'scalar' ? type.scalar : type.kind;
  throw wrong(value.place, `${name}: expected ${expected}, got ${gotText(value)}`);
}

function enumNumber(
  value: TextValue,
  values: Readonly<Record<string, number>>,
): number | undefined {
  if (value.kind === 'integer') return Number(BigInt.asIntN(32, value.value));
  if (value.kind !== 'word' || value.negative) return undefined;
  return Object.hasOwn(values, value.text) ? values[value.text] : undefined;
}

/** undefined: the text is no such value. */
function encodeScalar(
  value: TextValue,
  scalar: TextScalar,
): readonly [wire: number, bytes: Uint8Array] | undefined {
  switch (scalar) {
    case 'string':
    case 'bytes':
      if (value.kind !== 'string') return undefined;
      return [WIRE_LENGTH, value.bytes];
    case 'bool': {
      const flag = boolOf(value);
      return flag === undefined ? undefined : [WIRE_VARINT, varint(flag ? 1n : 0n)];
    }
    case 'float':
    case 'double': {
      const number = floatOf(value);
      if (number === undefined) return undefined;
      const bytes = Buffer.alloc(scalar === 'float' ? 4 : 8);
      if (scalar === 'float') bytes.writeFloatLE(number);
      else bytes.writeDoubleLE(number);
      return [scalar === 'float' ? WIRE_FIXED32 : WIRE_FIXED64, bytes];
    }
    default: {
      const range = INTEGER_RANGE[scalar];
      if (value.kind !== 'integer' || range === undefined) return undefined;
      if (value.value < range[0] || value.value > range[1]) return undefined;
      return [WIRE_VARINT, varint(value.value)];
    }
  }
}

function boolOf(value: TextValue): boolean | undefined {
  if (value.kind === 'integer') {
    return value.value === 0n || value.value === 1n ? value.value === 1n : undefined;
  }
  if (value.kind !== 'word' || value.negative) return undefined;
  if (['true', 'True', 't'].includes(value.text)) return true;
  return ['false', 'False', 'f'].includes(value.text) ? false : undefined;
}

function floatOf(value: TextValue): number | undefined {
  if (value.kind === 'integer') return Number(value.value);
  if (value.kind === 'float') return value.value;
  if (value.kind !== 'word') return undefined;
  const word = value.text.toLowerCase();
  if (word === 'nan') return Number.NaN;
  if (word !== 'inf' && word !== 'infinity') return undefined;
  return value.negative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function gotText(value: TextValue): string {
  switch (value.kind) {
    case 'message':
      return 'a message';
    case 'string':
      return 'a string';
    case 'integer':
      return String(value.value).slice(0, 100);
    default:
      return value.text.slice(0, 100);
  }
}

function wrong(place: TextPlace, message: string): ServalError {
  return modelInvalid(`line ${place.line}, column ${place.column}: ${message}`);
}

function varint(value: bigint): Uint8Array {
  let rest = BigInt.asUintN(64, value);
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
