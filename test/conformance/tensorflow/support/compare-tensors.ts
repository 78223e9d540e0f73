// Compares a model's tensors with TensorFlow's: data types, shapes and everything but
// floating-point elements exactly; floating-point ones within a tolerance, NaN equal to NaN.
import { tensorBytes, tensorNumbers } from '../../../../ts/importers/tensorflow/lower/tensors.js';
import { isFloating, shapeText } from '../../../../ts/importers/tensorflow/lower/values.js';
import type { Tensor } from '../../../../ts/importers/tensorflow/types.js';

/** The relative tolerance unless a case has its own. */
export const TOLERANCE = 1e-5;
/** Sums that cancel have no meaningful relative error: this part of the tolerance is absolute. */
const ABSOLUTE_PART = 0.1;
const SHOWN_MAX = 12;

/** Returns the difference of `got`; undefined if there is none. */
export function tensorDifference(
  expected: Tensor,
  got: Tensor,
  tolerance = TOLERANCE,
): string | undefined {
  if (expected.dtype !== got.dtype) return `expected ${expected.dtype}, got ${got.dtype}`;
  if (expected.shape.join(',') !== got.shape.join(',')) {
    return `expected shape ${shapeText(expected.shape)}, got ${shapeText(got.shape)}`;
  }
  return sameElements(expected, got, tolerance)
    ? undefined
    : `expected ${elementsText(expected)}, got ${elementsText(got)}`;
}

function sameElements(expected: Tensor, got: Tensor, tolerance: number): boolean {
  if (expected.data.kind === 'strings' && got.data.kind === 'strings') {
    const { values } = got.data;
    return (
      expected.data.values.every((one, i) => Buffer.compare(one, values[i] ?? one) === 0) &&
      expected.data.values.length === values.length
    );
  }
  if (!isFloating(expected.dtype)) {
    return Buffer.compare(tensorBytes(expected), tensorBytes(got)) === 0;
  }
  const want = tensorNumbers(expected) ?? [];
  const have = tensorNumbers(got) ?? [];
  return want.length === have.length && want.every((one, i) => isClose(one, have[i], tolerance));
}

function isClose(want: number, have: number | undefined, tolerance: number): boolean {
  if (have === undefined) return false;
  if (Number.isNaN(want) || Number.isNaN(have)) return Number.isNaN(want) && Number.isNaN(have);
  if (want === have) return true;
  return Math.abs(want - have) <= tolerance * (Math.abs(want) + ABSOLUTE_PART);
}

function elementsText(tensor: Tensor): string {
  const values =
    tensor.data.kind === 'strings'
      ? tensor.data.values.map((one) => JSON.stringify(Buffer.from(one).toString('latin1')))
      : (tensorNumbers(tensor) ?? []).map(String);
  const shown = values.slice(0, SHOWN_MAX).join(' ');
  return `[${shown}${values.length > SHOWN_MAX ? ` ... ${values.length} elements` : ''}]`;
}
