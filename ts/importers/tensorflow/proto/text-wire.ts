// Converts protobuf's text form to the binary one by a schema, so that one reader serves both.
// Importer's worker thread; pure. Source: protobuf.dev, text format language specification.
import { isUtf8 } from 'node:buffer';
import { ANY as ANY_FIELDS } from '../../../protobuf/generated/any-fields.js';
import { ErrorCode, ServalError, modelInvalid } from '../../../base/errors.js';
import { ANY } from '../../../protobuf/generated/any.js';
import { ASSET_FILE, SIGNATURES } from '../../../protobuf/generated/session-bundle.js';
import { ASSET_FILE_DEF, GRAPH_DEF } from '../../../protobuf/generated/tensorflow-graph.js';
import { boolText, floatText } from '../../../protobuf/schema-text.js';
import { isInRange, mapEntry } from '../../../protobuf/schema.js';
import type {
  FieldSchema,
  FieldType,
  MessageSchema,
  ScalarName,
} from '../../../protobuf/schema.js';
import { parseTextProto } from '../../../protobuf/text-format.js';
import type {
  TextField,
  TextMessage,
  TextPlace,
  TextValue,
} from '../../../protobuf/text-format.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';

/** Messages that an expanded Any may contain here. */
const ANY_MESSAGES: ReadonlyMap<string, MessageSchema> = new Map([
  ['tensorflow.GraphDef', GRAPH_DEF],
  ['tensorflow.AssetFileDef', ASSET_FILE_DEF],
  ['tensorflow.serving.Signatures', SIGNATURES],
  ['tensorflow.serving.AssetFile', ASSET_FILE],
]);
/** Bytes of a file examined to distinguish text from binary. */
const SNIFFED_BYTES = 4096;
const FIRST_FIELD = /^(?:\s|#[^\n]*\n)*[A-Za-z_]\w*\s*[:{<]/;

/**
 * Binary messages begin with a tag and a length, soon followed by bytes that do not occur in text.
 */
export function looksLikeText(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, SNIFFED_BYTES);
  const isText = start.every((byte) => byte >= 0x20 || (byte >= 9 && byte <= 13));
  return isText && FIRST_FIELD.test(Buffer.from(start).toString('latin1'));
}

/** Errors: ModelInvalid with line and column: invalid text, unknown field, wrong type. */
export function encodeTextProto(text: Uint8Array, schema: MessageSchema): Uint8Array {
  if (!isUtf8(text)) throw modelInvalid('expected UTF-8 text, got other bytes');
  let message: TextMessage;
  try {
    const decoded = Buffer.from(text.buffer, text.byteOffset, text.length).toString('utf8');
    message = parseTextProto(decoded, schema.name);
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    throw new ServalError(ErrorCode.ModelInvalid, error.message);
  }
  const out = new ProtobufWriter();
  writeMessage(out, message, schema);
  return out.concat();
}

function writeMessage(out: ProtobufWriter, message: TextMessage, schema: MessageSchema): void {
  for (const field of message.fields) {
    if (field.kind === 'bracket') writeAny(out, field, schema);
    else writeField(out, field, schema);
  }
}

function writeField(out: ProtobufWriter, field: TextField, schema: MessageSchema): void {
  const known = Object.hasOwn(schema.fields, field.name) ? schema.fields[field.name] : undefined;
  if (known === undefined) {
    throw wrong(field.place, `unknown field "${field.name}" of ${schema.name}`);
  }
  const type = known.mapKey === undefined ? known.type : entryOf(field.name, known, schema);
  for (const value of field.values) {
    if (writeValue(out, known.number, value, type)) continue;
    const expected = type.kind === 'scalar' ? type.scalar : type.kind;
    throw wrong(value.place, `${field.name}: expected ${expected}, got ${gotText(value)}`);
  }
}

function entryOf(name: string, known: FieldSchema, schema: MessageSchema): MessageSchema {
  const words = name.split('_').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return mapEntry(`${schema.name}.${words.join('')}Entry`, known);
}

/** [type.googleapis.com/NAME] { ... }; a message that is not needed here is left empty. */
function writeAny(out: ProtobufWriter, field: TextField, schema: MessageSchema): void {
  if (schema !== ANY) {
    throw wrong(field.place, `[${field.name}]: ${schema.name} has no extensions`);
  }
  const [value] = field.values;
  if (value?.kind !== 'message') throw wrong(field.place, `[${field.name}]: expected a message`);
  const known = ANY_MESSAGES.get(field.name.slice(field.name.lastIndexOf('/') + 1));
  out.string(ANY_FIELDS.typeUrl, field.name);
  out.message(ANY_FIELDS.value, (inner) => {
    if (known !== undefined) writeMessage(inner, value, known);
  });
}

/** false: the text is not such a value. */
function writeValue(
  out: ProtobufWriter,
  number: number,
  value: TextValue,
  type: FieldType,
): boolean {
  switch (type.kind) {
    case 'message':
      if (value.kind !== 'message') return false;
      out.message(number, (inner) => writeMessage(inner, value, type));
      return true;
    case 'opaque':
      if (value.kind !== 'message') return false;
      out.message(number, () => undefined);
      return true;
    case 'enum': {
      const found = enumNumber(value, type.values);
      if (found !== undefined) out.varint(number, found);
      return found !== undefined;
    }
    case 'scalar':
      return writeScalar(out, number, value, type.scalar);
  }
}

function enumNumber(
  value: TextValue,
  values: Readonly<Record<string, number>>,
): number | undefined {
  if (value.kind === 'integer') return Number(BigInt.asIntN(32, value.value));
  if (value.kind !== 'word' || value.negative) return undefined;
  return Object.hasOwn(values, value.text) ? values[value.text] : undefined;
}

function writeScalar(
  out: ProtobufWriter,
  number: number,
  value: TextValue,
  scalar: ScalarName,
): boolean {
  switch (scalar) {
    case 'string':
    case 'bytes':
      if (value.kind !== 'string') return false;
      out.bytes(number, value.bytes);
      return true;
    case 'bool': {
      const flag = boolText(value);
      if (flag !== undefined) out.varint(number, Number(flag));
      return flag !== undefined;
    }
    case 'float':
    case 'double': {
      const found = floatText(value);
      if (found !== undefined) out[scalar](number, found);
      return found !== undefined;
    }
    default:
      if (value.kind !== 'integer' || !isInRange(scalar, value.value)) return false;
      out.varint(number, value.value);
      return true;
  }
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
