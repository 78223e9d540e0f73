// Values of every datatype with their exact bytes, for round trips through identity models. Test
// time only.
import type { TypedArray } from '../../../ts/client/core/types.js';

export const SHAPE = [2, 3] as const;

const bits32 = (...bits: number[]): Float32Array => new Float32Array(Uint32Array.from(bits).buffer);
const bits64 = (...bits: bigint[]): Float64Array =>
  new Float64Array(BigUint64Array.from(bits).buffer);

/** Six elements: extremes, -0, infinities, and NaNs with a payload where JSON is not used. */
export const VALUES: Readonly<Record<string, TypedArray>> = {
  BOOL: Uint8Array.of(0, 1, 1, 0, 1, 0),
  UINT8: Uint8Array.of(0, 1, 127, 128, 254, 255),
  UINT16: Uint16Array.of(0, 1, 32_767, 32_768, 65_534, 65_535),
  UINT32: Uint32Array.of(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1),
  UINT64: BigUint64Array.of(0n, 1n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n),
  INT8: Int8Array.of(-128, -127, -1, 0, 1, 127),
  INT16: Int16Array.of(-32_768, -32_767, -1, 0, 1, 32_767),
  INT32: Int32Array.of(-(2 ** 31), -(2 ** 31) + 1, -1, 0, 1, 2 ** 31 - 1),
  INT64: BigInt64Array.of(-(2n ** 63n), -(2n ** 53n) - 1n, -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n),
  FP16: Uint16Array.of(0x8000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e01),
  BF16: Uint16Array.of(0x8000, 0x0001, 0x7f7f, 0x7f80, 0xff80, 0x7fc1),
  FP32: bits32(0x80000000, 1, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001),
  FP64: bits64(
    0x8000000000000000n,
    1n,
    0x7fefffffffffffffn,
    0x7ff0000000000000n,
    0xfff0000000000000n,
    0x7ff8000000000001n,
  ),
};

/** Non-ASCII, empty, NUL, quotes, a lone byte that is not UTF-8. */
export const TEXTS = [
  '',
  'ascii',
  'žluťoučký kůň',
  '日本語 🐎',
  'a\u0000b"\\\n',
  '\ufeffbom',
] as const;
export const NOT_UTF8 = Uint8Array.of(0xff, 0xfe, 0x00);

export const bytesOf = (data: unknown): readonly number[] => {
  const { buffer, byteOffset, byteLength } = data as ArrayBufferView;
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
};

export const modelOf = (datatype: string): string => `identity_${datatype.toLowerCase()}`;
