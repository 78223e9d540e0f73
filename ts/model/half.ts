// Converts between numbers and the bit patterns of half and bfloat16. Control plane, any thread;
// pure.

const HALF_BIAS = 15;
const HALF_FRACTION = 1024;
/** Values from here on round to infinity. */
const HALF_OVERFLOW = 65_520;

export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / HALF_FRACTION) * 2 ** (exponent - HALF_BIAS);
}

/**
 * Rounds to nearest, ties to even; doubles are first rounded to float32, as TensorFlow's casts do.
 */
export function numberToHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(Math.fround(value));
  if (size >= HALF_OVERFLOW) return sign | 0x7c00;
  if (size === 0) return sign;
  const exponent = Math.max(Math.floor(Math.log2(size)), 1 - HALF_BIAS);
  // In units of the last place; 2048 carries into the next exponent automatically.
  const units = roundHalfEven(size / 2 ** (exponent - 10));
  return sign | (units + (exponent + HALF_BIAS - 1) * HALF_FRACTION);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

export function bfloat16ToNumber(bits: number): number {
  const scratch = new DataView(new ArrayBuffer(4));
  scratch.setUint32(0, bits * 65_536);
  return scratch.getFloat32(0);
}

export function numberToBfloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  const scratch = new DataView(new ArrayBuffer(4));
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const isOdd = (bits >>> 16) & 1;
  return Math.min(bits + 0x7fff + isOdd, 0xffffffff) >>> 16;
}
