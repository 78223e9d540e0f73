// Writes the protobuf wire format in call order, so equal calls give equal bytes. Control plane,
// any thread. Large blobs are borrowed until concat(), not copied twice.
import { INT32_MAX, WIRE_MESSAGE_BYTES_MAX } from '../base/limits.js';
import { VARINT_BYTES_MAX, WIRE_FIXED32, WIRE_FIXED64, WIRE_LENGTH, WIRE_VARINT } from './wire.js';
import { ErrorCode, ServalError } from '../base/errors.js';

const UINT64_RANGE = 1n << 64n;
const SCRATCH_BYTES = 1024;
/** Texts up to this size are encoded in place; their byte length fits one varint byte. */
const SHORT_TEXT_CHARS_MAX = 42;
const UTF8_BYTES_MAX = 3;
/** Blobs of at least this size are kept by reference. */
const BORROW_BYTES_MIN = 512;

const encoder = new TextEncoder();

export class ProtobufWriter {
  #chunks: Uint8Array[] = [];
  readonly #scratch = new Uint8Array(SCRATCH_BYTES);
  #used = 0;
  #bytes = 0;
  /** Reused writer for nested messages, one after the other. */
  #inner: ProtobufWriter | undefined;

  /** Bytes written so far. */
  get byteLength(): number {
    return this.#bytes + this.#used;
  }

  /** int64, uint64, enum or bool field. Negative values take ten bytes, as in protobuf. */
  varint(field: number, value: number | bigint): this {
    this.#tag(field, WIRE_VARINT);
    this.#rawVarint(value);
    return this;
  }

  float(field: number, value: number | bigint): this {
    this.#tag(field, WIRE_FIXED32);
    this.#rawFloat(value);
    return this;
  }

  double(field: number, value: number | bigint): this {
    this.#tag(field, WIRE_FIXED64);
    this.#rawDouble(value);
    return this;
  }

  /** A list of numbers in one field, even if it is empty. */
  packed(
    field: number,
    as: 'varint' | 'float' | 'double',
    values: readonly (number | bigint)[],
  ): this {
    return this.message(field, (list) => {
      for (const value of values) {
        if (as === 'varint') list.#rawVarint(value);
        else if (as === 'float') list.#rawFloat(value);
        else list.#rawDouble(value);
      }
    });
  }

  string(field: number, text: string): this {
    if (text.length > SHORT_TEXT_CHARS_MAX) return this.bytes(field, encoder.encode(text));
    this.#tag(field, WIRE_LENGTH);
    this.#reserve(1 + text.length * UTF8_BYTES_MAX);
    // One byte is enough for the length of such a short text.
    const place = this.#scratch.subarray(this.#used + 1);
    const { written } = encoder.encodeInto(text, place);
    this.#scratch[this.#used] = written;
    this.#used += 1 + written;
    return this;
  }

  /** Borrows `data` until concat() if it is large. */
  bytes(field: number, data: Uint8Array): this {
    this.#tag(field, WIRE_LENGTH);
    this.#rawVarint(data.byteLength);
    this.#append(data);
    return this;
  }

  /** A nested message that `fill` writes. */
  message(field: number, fill: (writer: ProtobufWriter) => void): this {
    const inner = this.#inner ?? new ProtobufWriter();
    // Not available to code that writes into this one from inside `fill`.
    this.#inner = undefined;
    fill(inner);
    this.#tag(field, WIRE_LENGTH);
    this.#rawVarint(inner.byteLength);
    for (const chunk of inner.#chunks) this.#append(chunk);
    this.#append(inner.#scratch.subarray(0, inner.#used), true);
    inner.#clear();
    this.#inner = inner;
    return this;
  }

  #clear(): void {
    this.#chunks = [];
    this.#used = 0;
    this.#bytes = 0;
  }

  /** Everything written, in one new array. Errors: Unimplemented above protobuf's 2 GiB - 1. */
  concat(): Uint8Array {
    this.#flush();
    if (this.#bytes > WIRE_MESSAGE_BYTES_MAX) {
      throw new ServalError(
        ErrorCode.Unimplemented,
        `protobuf message: expected at most ${WIRE_MESSAGE_BYTES_MAX} bytes, got ${this.#bytes}`,
      );
    }
    const out = new Uint8Array(this.#bytes);
    let offset = 0;
    for (const chunk of this.#chunks) {
      out.set(chunk, offset);
      offset += chunk.byteLength;
    }
    return out;
  }

  /** concat() as a Buffer, for sockets. */
  toBuffer(): Buffer {
    const bytes = this.concat();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  #tag(field: number, wire: number): void {
    this.#rawVarint(field * 8 + wire);
  }

  #rawVarint(value: number | bigint): void {
    // Most numbers are small, and BigInt arithmetic is slow.
    if (typeof value === 'number' && value >= 0 && value <= INT32_MAX && Number.isInteger(value)) {
      this.#smallVarint(value);
      return;
    }
    let rest = BigInt(value);
    if (rest < 0n) rest += UINT64_RANGE;
    if (rest < 0n || rest >= UINT64_RANGE) throw new RangeError(`varint out of 64 bits: ${value}`);
    this.#reserve(VARINT_BYTES_MAX);
    while (rest > 0x7fn) {
      this.#scratch[this.#used++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#scratch[this.#used++] = Number(rest);
  }

  #rawFloat(value: number | bigint): void {
    this.#reserve(4);
    new DataView(this.#scratch.buffer).setFloat32(this.#used, Number(value), true);
    this.#used += 4;
  }

  #rawDouble(value: number | bigint): void {
    this.#reserve(8);
    new DataView(this.#scratch.buffer).setFloat64(this.#used, Number(value), true);
    this.#used += 8;
  }

  #smallVarint(value: number): void {
    this.#reserve(VARINT_BYTES_MAX);
    let rest = value;
    while (rest > 0x7f) {
      this.#scratch[this.#used++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#scratch[this.#used++] = rest;
  }

  /** `isCopied`: also if it is large. */
  #append(data: Uint8Array, isCopied = false): void {
    if (data.byteLength >= BORROW_BYTES_MIN && !isCopied) {
      this.#flush();
      this.#chunks.push(data);
      this.#bytes += data.byteLength;
      return;
    }
    this.#reserve(data.byteLength);
    this.#scratch.set(data, this.#used);
    this.#used += data.byteLength;
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes > SCRATCH_BYTES) this.#flush();
  }

  #flush(): void {
    if (this.#used === 0) return;
    this.#chunks.push(this.#scratch.slice(0, this.#used));
    this.#bytes += this.#used;
    this.#used = 0;
  }
}
