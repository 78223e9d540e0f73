// Reads protobuf messages field by field: gRPC's control calls, recorded requests, model files.
// Never ModelInfer, which is native. Control plane, any thread; pure. Source: the protobuf encoding
// guide.
import { WIRE_GROUP_DEPTH_MAX } from '../base/limits.js';
import { isUtf8 } from 'node:buffer';
import {
  VARINT_BYTES_MAX,
  WIRE_FIXED32,
  WIRE_FIXED64,
  WIRE_GROUP_END,
  WIRE_GROUP_START,
  WIRE_LENGTH,
  WIRE_VARINT,
} from './wire.js';
import { ErrorCode, ServalError } from '../base/errors.js';

const FIELD_MAX = 536_870_911;
const UINT32_RANGE = 4_294_967_296;
/**
 * ASCII texts up to this size (most names and keys) are decoded here: calls into the runtime's
 * decoder cost more.
 */
const SHORT_TEXT_BYTES_MAX = 24;

/**
 * Walks the fields of one message: `while (reader.next()) switch (reader.field) ...`, where each
 * field is either read or skipped. A repeated message is read twice into one object, which is
 * protobuf's merge. Borrows the bytes. Errors: every method throws ServalError (`code`:
 * ModelInvalid for files) that names the message and the byte, counted from the beginning of the
 * outermost message. `isExact`: the byte is that of the broken value or number, and the text does
 * not attribute it to a field.
 */
export class WireReader {
  /** The number of the field that next() found. */
  field = 0;
  /** Lower and upper 32 bits, unsigned, of the number that readVarint() read. */
  low = 0;
  high = 0;
  readonly #bytes: Uint8Array;
  readonly #message: string;
  readonly #offset: number;
  readonly #code: ErrorCode;
  readonly #isExact: boolean;
  #position = 0;
  #wireType = 0;
  #fieldStart = 0;
  #valueStart = 0;

  constructor(
    bytes: Uint8Array,
    message: string,
    offset = 0,
    code: ErrorCode = ErrorCode.ModelInvalid,
    isExact = false,
  ) {
    this.#bytes = bytes;
    this.#message = message;
    this.#offset = offset;
    this.#code = code;
    this.#isExact = isExact;
  }

  /** A new reader at the beginning of the same message. */
  again(): WireReader {
    return new WireReader(this.#bytes, this.#message, this.#offset, this.#code, this.#isExact);
  }

  /** Goes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.#position >= this.#bytes.length) return false;
    this.#fieldStart = this.#position;
    this.readTag();
    return true;
  }

  /** A bytes field: a view. */
  view(): Uint8Array {
    this.expect(WIRE_LENGTH);
    return this.take(this.length());
  }

  /** A message field. */
  nested(message: string): WireReader {
    const bytes = this.view();
    const offset = this.#offset + this.#position - bytes.length;
    return new WireReader(bytes, message, offset, this.#code, this.#isExact);
  }

  /** A string field, which must be UTF-8. */
  string(): string {
    const bytes = this.view();
    const short = bytes.length <= SHORT_TEXT_BYTES_MAX ? asciiText(bytes) : undefined;
    if (short !== undefined) return short;
    if (!isUtf8(bytes)) this.fail(this.#position - bytes.length, 'the text is not valid UTF-8');
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  }

  /** An int64 field. */
  int64(): bigint {
    this.varint();
    return BigInt.asIntN(64, (BigInt(this.high) << 32n) | BigInt(this.low));
  }

  /** A bool, an enum or a non-negative integer: exact to 2^53. */
  number(): number {
    this.varint();
    return this.wide();
  }

  /** Reads a varint field that is not a list into low and high. */
  varint(): void {
    this.expect(WIRE_VARINT);
    this.readVarint();
  }

  /** One occurrence of a repeated varint field, packed or not; `each` reads low and high. */
  varints(each: (reader: WireReader) => void): void {
    if (this.#wireType !== WIRE_LENGTH) {
      this.varint();
      each(this);
      return;
    }
    const length = this.lengthWithin();
    const end = this.#position + length;
    while (this.#position < end) {
      this.readVarint();
      if (this.#position > end) this.fail(this.#fieldStart, 'a number extends beyond its list');
      each(this);
    }
  }

  /** One occurrence of a repeated fixed32 or fixed64 field, packed or not: its elements' bytes. */
  fixed(elementBytes: 4 | 8): Uint8Array {
    if (this.#wireType !== WIRE_LENGTH) {
      this.expect(elementBytes === 4 ? WIRE_FIXED32 : WIRE_FIXED64);
      return this.take(elementBytes);
    }
    const bytes = this.view();
    if (bytes.length % elementBytes !== 0) {
      this.fail(
        this.#fieldStart,
        `a list of ${elementBytes}-byte elements has ${bytes.length} bytes`,
      );
    }
    return bytes;
  }

  /** Skips a field of any wire type, including groups. */
  skip(): void {
    const open: number[] = [];
    for (;;) {
      if (this.#wireType === WIRE_GROUP_START) {
        if (open.length >= WIRE_GROUP_DEPTH_MAX) {
          this.fail(
            this.#fieldStart,
            `groups are nested deeper than ${WIRE_GROUP_DEPTH_MAX}`,
            !this.#isExact,
          );
        }
        open.push(this.field);
      } else if (this.#wireType === WIRE_GROUP_END) {
        if (open.pop() !== this.field) this.failGroupEnd();
      } else {
        this.skipValue();
      }
      if (open.length === 0) return;
      this.readTag();
    }
  }

  private failGroupEnd(): never {
    const what = 'ends no open group';
    const said = this.#isExact ? `field ${this.field} ${what}` : `it ${what}`;
    this.fail(this.#position - 1, said, !this.#isExact);
  }

  private skipValue(): void {
    switch (this.#wireType) {
      case WIRE_VARINT:
        this.readVarint();
        return;
      case WIRE_FIXED64:
        this.take(8);
        return;
      case WIRE_LENGTH:
        this.take(this.length());
        return;
      case WIRE_FIXED32:
        this.take(4);
        return;
      default:
        this.fail(this.#fieldStart, `wire type ${this.#wireType} does not exist`);
    }
  }

  private expect(wireType: number): void {
    if (this.#wireType === wireType) return;
    this.fail(this.#fieldStart, `expected wire type ${wireType}, got ${this.#wireType}`);
  }

  private readTag(): void {
    const start = this.#position;
    this.field = 0;
    this.readVarint();
    const field = Math.floor(this.wide() / 8);
    if (field < 1 || field > FIELD_MAX) {
      this.fail(start, `field number ${field} is not from 1 to ${FIELD_MAX}`);
    }
    this.#wireType = this.low % 8;
    this.field = field;
    this.#valueStart = this.#position;
  }

  private length(): number {
    this.readVarint();
    return this.wide();
  }

  /** low and high as a double: values beyond 2^53 are still larger than any length or tag. */
  private wide(): number {
    return this.high * UINT32_RANGE + this.low;
  }

  /** A length that fits the rest of the message; the content is not read yet. */
  private lengthWithin(): number {
    const length = this.length();
    this.take(length);
    this.#position -= length;
    return length;
  }

  private take(length: number): Uint8Array {
    const left = this.#bytes.length - this.#position;
    if (length > left) {
      const shown = length > Number.MAX_SAFE_INTEGER ? 'more than 2^53' : length;
      this.fail(
        this.#isExact ? this.#valueStart : this.#fieldStart,
        `expected ${shown} bytes, but only ${left} remain`,
      );
    }
    this.#position += length;
    return this.#bytes.subarray(this.#position - length, this.#position);
  }

  /** Bits above the 64th are dropped, as protobuf does. */
  private readVarint(): void {
    const start = this.#position;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < VARINT_BYTES_MAX * 7; shift += 7) {
      const byte = this.#bytes[this.#position];
      if (byte === undefined) this.failNumber(start, 'the message ends inside a number');
      this.#position += 1;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift > 28) high |= bits << (shift - 32);
      else if (shift === 28) high = bits >>> 4;
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    this.failNumber(start, `a number is longer than ${VARINT_BYTES_MAX} bytes`);
  }

  private failNumber(position: number, what: string): never {
    this.fail(position, what, !this.#isExact);
  }

  private fail(position: number, what: string, isOfField = true): never {
    const field = this.field === 0 || !isOfField ? '' : `field ${this.field}: `;
    throw new ServalError(
      this.#code,
      `${this.#message}: byte ${this.#offset + position}: ${field}${what}`,
    );
  }
}

/** For a request of the control calls of V2, health or reflection. */
export function exactReader(bytes: Uint8Array, message: string): WireReader {
  return new WireReader(bytes, message, 0, ErrorCode.MalformedBody, true);
}

/** undefined where a byte is not ASCII. */
function asciiText(bytes: Uint8Array): string | undefined {
  let text = '';
  for (const byte of bytes) {
    if (byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
