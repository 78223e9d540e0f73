// Encodes messages to protobuf's wire bytes by a schema. Control plane, any thread; pure. Source:
// protobuf.dev, encoding: proto3, default scalars omitted unless they are members of a oneof,
// repeated numbers packed.
import { scalar } from './schema.js';
import type { FieldSchema, FieldType, MessageSchema, MessageValue } from './schema.js';
import { ProtobufWriter } from './writer.js';

const NOTHING = new Uint8Array(0);

/** `value` has the form of schema.ts and has been checked. Fields ascend by number. */
export function encodeMessage(value: MessageValue, schema: MessageSchema): Buffer {
  const out = new ProtobufWriter();
  writeMessage(out, value, schema);
  return out.toBuffer();
}

function writeMessage(out: ProtobufWriter, value: MessageValue, schema: MessageSchema): void {
  for (const [name, known] of schema.byNumber.values()) {
    const written = value[name];
    if (written !== undefined) writeField(out, written, known);
  }
}

function writeField(out: ProtobufWriter, written: unknown, known: FieldSchema): void {
  const { number, type, mapKey } = known;
  if (mapKey !== undefined) {
    for (const [key, value] of Object.entries(written as MessageValue)) {
      out.message(number, (entry) => {
        writeValue(entry, 1, key, scalar(mapKey));
        writeValue(entry, 2, value, type);
      });
    }
  } else if (!known.repeated) {
    if (known.oneof !== undefined || !isDefault(written, type)) {
      writeValue(out, number, written, type);
    }
  } else {
    const values = written as readonly unknown[];
    const wire = numberWire(type);
    if (wire === undefined) for (const value of values) writeValue(out, number, value, type);
    else if (values.length > 0)
      out.packed(
        number,
        wire,
        values.map((one) => numberOf(one, type)),
      );
  }
}

function isDefault(value: unknown, type: FieldType): boolean {
  if (type.kind === 'enum') return type.values[value as string] === 0;
  if (type.kind !== 'scalar') return false;
  if (type.scalar === 'bytes') return (value as Uint8Array).length === 0;
  return value === 0 || value === false || value === '';
}

/** How a number is written; undefined: the type is not a number. */
function numberWire(type: FieldType): 'varint' | 'float' | 'double' | undefined {
  if (type.kind === 'enum') return 'varint';
  if (type.kind !== 'scalar' || type.scalar === 'string' || type.scalar === 'bytes')
    return undefined;
  return type.scalar === 'float' || type.scalar === 'double' ? type.scalar : 'varint';
}

function numberOf(value: unknown, type: FieldType): number | bigint {
  if (type.kind === 'enum') return type.values[value as string] ?? 0;
  const name = type.kind === 'scalar' ? type.scalar : undefined;
  if (name === 'bool') return value === true || value === 'true' ? 1 : 0;
  if (name === 'float' || name === 'double' || typeof value === 'number') return Number(value);
  return BigInt(value as string);
}

function writeValue(out: ProtobufWriter, number: number, value: unknown, type: FieldType): void {
  const wire = numberWire(type);
  if (wire !== undefined) out[wire](number, numberOf(value, type));
  else if (type.kind === 'message') {
    out.message(number, (inner) => writeMessage(inner, value as MessageValue, type));
  } else if (type.kind === 'opaque') out.bytes(number, NOTHING);
  else if (value instanceof Uint8Array) out.bytes(number, value);
  else out.string(number, String(value));
}
