// Values of tensors and their bytes in the V2 protocol. Test time only.

export const TEXT: ReadonlySet<string> = new Set(['BYTES', 'STRING', 'DATE', 'TIMESTAMP']);
export const REAL: ReadonlySet<string> = new Set(['FP16', 'FP32', 'FP64', 'VECTOR']);

const ARMS: Readonly<Record<string, string>> = {
  BOOL: 'bool_contents',
  INT8: 'int_contents',
  INT16: 'int_contents',
  INT32: 'int_contents',
  INT64: 'int64_contents',
  UINT8: 'uint_contents',
  UINT16: 'uint_contents',
  UINT32: 'uint_contents',
  UINT64: 'uint64_contents',
  FP32: 'fp32_contents',
  FP64: 'fp64_contents',
  VECTOR: 'fp64_contents',
};

/** The member of InferTensorContents for a datatype. */
export const armOf = (datatype: string): string => ARMS[datatype] ?? 'bytes_contents';

type Write = (bytes: Buffer, value: number, at: number) => number;
type Read = (bytes: Buffer, at: number) => number;

const NUMBERS: Readonly<Record<string, readonly [number, Write, Read]>> = {
  INT8: [1, (b, v, at) => b.writeInt8(v, at), (b, at) => b.readInt8(at)],
  INT16: [2, (b, v, at) => b.writeInt16LE(v, at), (b, at) => b.readInt16LE(at)],
  INT32: [4, (b, v, at) => b.writeInt32LE(v, at), (b, at) => b.readInt32LE(at)],
  UINT8: [1, (b, v, at) => b.writeUInt8(v, at), (b, at) => b.readUInt8(at)],
  UINT16: [2, (b, v, at) => b.writeUInt16LE(v, at), (b, at) => b.readUInt16LE(at)],
  UINT32: [4, (b, v, at) => b.writeUInt32LE(v, at), (b, at) => b.readUInt32LE(at)],
  FP32: [4, (b, v, at) => b.writeFloatLE(v, at), (b, at) => b.readFloatLE(at)],
  FP64: [8, (b, v, at) => b.writeDoubleLE(v, at), (b, at) => b.readDoubleLE(at)],
};

function numbersOf(datatype: string): readonly [number, Write, Read] {
  const found = NUMBERS[datatype === 'VECTOR' ? 'FP64' : datatype];
  if (found === undefined) throw new Error(`no bytes for ${datatype}`);
  return found;
}

function textBytes(value: unknown): Buffer {
  const text = Buffer.from(value as string | Uint8Array as string);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.byteLength);
  return Buffer.concat([size, text]);
}

/** Encodes a tensor's values as raw bytes. */
export function rawOf(datatype: string, data: readonly unknown[]): Buffer {
  if (TEXT.has(datatype)) return Buffer.concat(data.map(textBytes));
  if (datatype === 'BOOL') return Buffer.from(data.map(Number));
  if (datatype === 'INT64' || datatype === 'UINT64') {
    const bytes = Buffer.alloc(data.length * 8);
    data.forEach((value, i) => {
      bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value as number | bigint)), i * 8);
    });
    return bytes;
  }
  const [width, write] = numbersOf(datatype);
  const bytes = Buffer.alloc(data.length * width);
  data.forEach((value, i) => {
    write(bytes, Number(value), i * width);
  });
  return bytes;
}

/** Decodes raw bytes. INT64 values are numbers if a number holds them exactly. */
export function valuesOf(datatype: string, bytes: Buffer): unknown[] {
  if (TEXT.has(datatype)) return textsOf(bytes);
  if (datatype === 'BOOL') return [...bytes].map((one) => one !== 0);
  if (datatype === 'INT64') {
    return Array.from({ length: bytes.length / 8 }, (_, i) => Number(bytes.readBigInt64LE(i * 8)));
  }
  const [width, , read] = numbersOf(datatype);
  return Array.from({ length: bytes.length / width }, (_, i) => read(bytes, i * width));
}

function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    texts.push(bytes.subarray(at + 4, end).toString());
    at = end;
  }
  return texts;
}
