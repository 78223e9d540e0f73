// Just enough protobuf for the small control messages' replies. Control plane, any thread; pure.
// Source: the protobuf encoding guide.

const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

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
