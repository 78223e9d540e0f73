// Just enough protobuf for the small control messages (names in, metadata out), so that no protobuf
// library is loaded. Control plane, any thread; pure. Never used for ModelInfer, which is native.
// Source: the protobuf encoding guide.
import { isUtf8 } from 'node:buffer';
import { ErrorCode, ServalError } from '../errors.js';

const WIRE_VARINT = 0;
const WIRE_64_BIT = 1;
const WIRE_BYTES = 2;
const WIRE_GROUP_START = 3;
const WIRE_GROUP_END = 4;
const WIRE_32_BIT = 5;

const FIELD_MAX = 536_870_911;
const VARINT_BYTES_MAX = 10;
const GROUP_DEPTH_MAX = 100;

/**
 * Walks the fields of one message: `while (reader.next()) switch (reader.field) ...`, where each
 * field is either read or skipped. Borrows `bytes`.
 * Errors: every method throws ServalError (MalformedBody) that names the message and the byte.
 */
export class WireReader {
  /** The number of the field that `next` found. */
  field = 0;
  private readonly bytes: Buffer;
  private readonly message: string;
  private position = 0;
  private wireType = 0;
  private fieldStart = 0;

  constructor(bytes: Buffer, message: string) {
    this.bytes = bytes;
    this.message = message;
  }

  /** Goes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.position >= this.bytes.length) return false;
    this.fieldStart = this.position;
    const tag = this.varint();
    this.wireType = tag % 8;
    this.field = Math.floor(tag / 8);
    if (this.field < 1 || this.field > FIELD_MAX) {
      this.fail(this.fieldStart, `field number ${this.field} is not from 1 to ${FIELD_MAX}`);
    }
    return true;
  }

  /** The bytes of a length-delimited field: a view. */
  view(): Buffer {
    if (this.wireType !== WIRE_BYTES) {
      this.fail(
        this.fieldStart,
        `field ${this.field}: expected wire type ${WIRE_BYTES}, got ${this.wireType}`,
      );
    }
    const start = this.position;
    const length = this.varint();
    this.advance(length, start, this.field);
    return this.bytes.subarray(this.position - length, this.position);
  }

  /** A string field, which must be UTF-8. */
  string(): string {
    const bytes = this.view();
    if (!isUtf8(bytes)) {
      this.fail(this.position - bytes.length, `field ${this.field}: the text is not valid UTF-8`);
    }
    return bytes.toString('utf8');
  }

  /** A bool, an enum or a whole number from 0: exact to 2^53. */
  number(): number {
    if (this.wireType !== WIRE_VARINT) {
      this.fail(
        this.fieldStart,
        `field ${this.field}: expected wire type ${WIRE_VARINT}, got ${this.wireType}`,
      );
    }
    return this.varint();
  }

  /** Passes over a field of any wire type, groups included. */
  skip(): void {
    const open: number[] = [];
    let wireType = this.wireType;
    let field = this.field;
    for (;;) {
      if (wireType === WIRE_GROUP_START) {
        if (open.length >= GROUP_DEPTH_MAX) {
          this.fail(this.fieldStart, `groups nest deeper than ${GROUP_DEPTH_MAX}`);
        }
        open.push(field);
      } else if (wireType === WIRE_GROUP_END) {
        if (open.pop() !== field) this.fail(this.position - 1, `field ${field} ends no open group`);
      } else {
        this.skipValue(wireType, field);
      }
      if (open.length === 0) return;
      const tag = this.varint();
      wireType = tag % 8;
      field = Math.floor(tag / 8);
    }
  }

  private skipValue(wireType: number, field: number): void {
    switch (wireType) {
      case WIRE_VARINT:
        this.varint();
        return;
      case WIRE_64_BIT:
        this.advance(8, this.position, field);
        return;
      case WIRE_BYTES: {
        const start = this.position;
        this.advance(this.varint(), start, field);
        return;
      }
      case WIRE_32_BIT:
        this.advance(4, this.position, field);
        return;
      default:
        this.fail(this.fieldStart, `field ${field}: wire type ${wireType} does not exist`);
    }
  }

  private advance(length: number, start: number, field: number): void {
    const left = this.bytes.length - this.position;
    if (length > left) {
      const shown = length > Number.MAX_SAFE_INTEGER ? 'more than 2^53' : length;
      this.fail(start, `field ${field}: ${shown} bytes expected, ${left} are left`);
    }
    this.position += length;
  }

  // The value as a double: exact to 2^53, and beyond that still larger than any length or tag.
  private varint(): number {
    const start = this.position;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < VARINT_BYTES_MAX; count += 1) {
      const byte = this.bytes[this.position];
      if (byte === undefined) this.fail(start, 'the message ends inside a number');
      this.position += 1;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    return this.fail(start, `a number is longer than ${VARINT_BYTES_MAX} bytes`);
  }

  private fail(position: number, what: string): never {
    throw new ServalError(ErrorCode.MalformedBody, `${this.message}: byte ${position}: ${what}`);
  }
}

function varintBytes(value: bigint): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128n) {
    out.push(Number(rest % 128n) + 128);
    rest /= 128n;
  }
  out.push(Number(rest));
  return out;
}

const tagBytes = (field: number, wireType: number): number[] =>
  varintBytes(BigInt(field * 8 + wireType));

const NOTHING = Buffer.alloc(0);

/** A length-delimited field, also when it is empty. */
export function bytesField(field: number, bytes: Buffer): Buffer {
  const head = [...tagBytes(field, WIRE_BYTES), ...varintBytes(BigInt(bytes.length))];
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** A string field; nothing for "", which is the default. */
export function stringField(field: number, text: string): Buffer {
  return text === '' ? NOTHING : bytesField(field, Buffer.from(text, 'utf8'));
}

/** Repeated strings, "" included. */
export function stringFields(field: number, texts: readonly string[]): Buffer {
  return Buffer.concat(texts.map((text) => bytesField(field, Buffer.from(text, 'utf8'))));
}

/** A bool, an enum or a whole number from 0; nothing for 0 and false. */
export function varintField(field: number, value: number | boolean): Buffer {
  const number = Number(value);
  if (number === 0) return NOTHING;
  return Buffer.from([...tagBytes(field, WIRE_VARINT), ...varintBytes(BigInt(number))]);
}

/** A packed repeated int64; nothing when there is no value. */
export function int64sField(field: number, values: readonly number[]): Buffer {
  if (values.length === 0) return NOTHING;
  const packed = values.flatMap((value) => varintBytes(BigInt.asUintN(64, BigInt(value))));
  return bytesField(field, Buffer.from(packed));
}
