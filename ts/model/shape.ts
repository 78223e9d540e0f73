// Numbers of elements of shapes. Any plane, any thread; the console's page too. Pure.

/**
 * Returns the number of elements of a shape; 0 if a dimension is 0, however large the others are.
 * Above 2^53 - 1 the number is rounded: where that can happen, use elementCountWithin().
 */
export function elementCount(shape: readonly number[]): number {
  return shape.includes(0) ? 0 : shape.reduce((product, dim) => product * dim, 1);
}

/**
 * Returns the number of elements, or undefined if it is more than `max` or if a dimension is not a
 * whole number >= 0 (-1: unknown).
 */
export function elementCountWithin(shape: readonly number[], max: number): number | undefined {
  if (!shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) return undefined;
  const count = elementCount(shape);
  return count <= max ? count : undefined;
}
