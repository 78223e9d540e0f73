// Messages to protobuf's wire bytes by a schema. Control plane, any thread; pure.
// Source: protobuf.dev, encoding: proto3, scalars at their default left out unless they are members
// of a oneof, repeated numbers packed.
import type { FieldSchema, FieldType, MessageSchema, MessageValue, ScalarName } from './schema.js';

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_LENGTH = 2;
const WIRE_FIXED32 = 5;

/** `value` is of the form of schema.ts, checked. Fields ascend by number. */
export function encodeMessage(value: MessageValue, schema: MessageSchema): Uint8Array {
  const parts: Uint8Array[] = [];
  const fields = Object.entries(schema.fields).sort(([, a], [, b]) => a.number - b.number);
  for (const [name, known] of fields) {
    const written = value[name];
    if (written !== undefined) encodeField(written, known, parts);
  }
  return Buffer.concat(parts);
}

function encodeField(written: unknown, known: FieldSchema, parts: Uint8Array[]): void {
  const { number, type, mapKey } = known;
  if (mapKey !== undefined) {
    for (const [key, value] of Object.entries(written as MessageValue)) {
      const entry = Buffer.concat([
        tag(1, wireType({ kind: 'scalar', scalar: mapKey })),
        encodeScalar(key, mapKey),
        tag(2, wireType(type)),
        encodeValue(value, type),
      ]);
      parts.push(tag(number, WIRE_LENGTH), varint(entry.length), entry);
    }
    return;
  }
  if (!known.repeated) {
    const present = known.oneof !== undefined || !isDefault(written, type);
    if (present) parts.push(tag(number, wireType(type)), encodeValue(written, type));
    return;
  }
  const elements = (written as readonly unknown[]).map((value) => encodeValue(value, type));
  if (wireType(type) === WIRE_LENGTH) {
    for (const element of elements) parts.push(tag(number, WIRE_LENGTH), element);
  } else if (elements.length > 0) {
    const packed = Buffer.concat(elements);
    parts.push(tag(number, WIRE_LENGTH), varint(packed.length), packed);
  }
}

function isDefault(value: unknown, type: FieldType): boolean {
  if (type.kind === 'enum') return type.values[value as string] === 0;
  if (type.kind !== 'scalar') return false;
  return value === 0 || value === false || value === '';
}

function wireType(type: FieldType): number {
  if (type.kind === 'enum') return WIRE_VARINT;
  if (type.kind !== 'scalar' || type.scalar === 'string') return WIRE_LENGTH;
  if (type.scalar === 'float') return WIRE_FIXED32;
  return type.scalar === 'double' ? WIRE_FIXED64 : WIRE_VARINT;
}

/** Without the tag; with its length where the wire type has one. */
function encodeValue(value: unknown, type: FieldType): Uint8Array {
  switch (type.kind) {
    case 'scalar':
      return encodeScalar(value, type.scalar);
    case 'enum':
      return varint(type.values[value as string] ?? 0);
    case 'message': {
      const bytes = encodeMessage(value as MessageValue, type.message);
      return Buffer.concat([varint(bytes.length), bytes]);
    }
    case 'opaque':
      return varint(0);
  }
}

function encodeScalar(value: unknown, name: ScalarName): Uint8Array {
  switch (name) {
    case 'string': {
      const bytes = Buffer.from(String(value), 'utf8');
      return Buffer.concat([varint(bytes.length), bytes]);
    }
    case 'bool':
      return varint(value === true || value === 'true' ? 1 : 0);
    case 'float': {
      const bytes = Buffer.alloc(4);
      bytes.writeFloatLE(Number(value));
      return bytes;
    }
    case 'double': {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(Number(value));
      return bytes;
    }
    default:
      return varint(value as number | string);
  }
}

function tag(number: number, wire: number): Uint8Array {
  return varint(number * 8 + wire);
}

function varint(value: number | string): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
