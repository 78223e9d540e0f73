// Converts between numbers and the bit patterns of half and bfloat16: floats of 16 bits with `m`
// bits of fraction and the exponent's `bias`. Control plane and clients, any thread; pure.

function toNumber(bits: number, m: number, bias: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits & 0x7fff) >> m;
  const fraction = (bits & (2 ** m - 1)) / 2 ** m;
  if (exponent > 2 * bias) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias);
  return sign * (1 + fraction) * 2 ** (exponent - bias);
}

function toBits(value: number, m: number, bias: number): number {
  if (Number.isNaN(value)) return (4 * bias + 3) * 2 ** (m - 1);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  // The power of two after the largest value has the bits of infinity.
  const size = Math.min(Math.abs(Math.fround(value)), 2 ** (bias + 1));
  const exponent = Math.max(Math.floor(Math.log2(size)), 1 - bias);
  // In units of the last place: doubles of this size are whole, and sums round half to even. A
  // rounded value of 2 ** (m + 1) carries into the exponent by itself.
  const units = size / 2 ** (exponent - m) + 2 ** 52 - 2 ** 52;
  return sign | (units + (exponent + bias - 1) * 2 ** m);
}

export const halfToNumber = (bits: number): number => toNumber(bits, 10, 15);
/**
 * Rounds to nearest, ties to even; doubles are first rounded to float32, as TensorFlow's casts do.
 */
export const numberToHalf = (value: number): number => toBits(value, 10, 15);
export const bfloat16ToNumber = (bits: number): number => toNumber(bits, 7, 127);
export const numberToBfloat16 = (value: number): number => toBits(value, 7, 127);
