// Einsum. Source: tensorflow/core/kernels/linalg/einsum_op_impl.h. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import type { Shape } from '../../types.js';
import { broadcastShapes } from '../../lower/values.js';

const ELLIPSIS = '...';

const einsum: Lowering = (cx) => {
  const equation = cx.text('equation').replaceAll(' ', '');
  const values = cx.tensors();
  const [left = '', right] = equation.split('->');
  const terms = left.split(',');
  if (right === undefined || terms.length !== values.length) {
    return cx.fail(`equation '${equation}': expected ${values.length} inputs and an output`);
  }
  const shape = outputShape(
    terms,
    right,
    values.map((one) => one.shape),
  );
  return cx.op('Einsum', values, { shape, attributes: { equation: { string: equation } } });
};

/** Dims by their letters; undefined if an ellipsis stands for an unknown number of them. */
function outputShape(terms: readonly string[], right: string, shapes: readonly Shape[]): Shape {
  const dims = new Map<string, number | undefined>();
  let spread: Shape = [];
  terms.forEach((term, i) => {
    const shape = shapes[i];
    const [before = '', after] = term.split(ELLIPSIS);
    if (after !== undefined) {
      const end = shape === undefined ? 0 : shape.length - after.length;
      spread = broadcastShapes(spread, shape?.slice(before.length, end));
    }
    const note = (letter: string, dim: number | undefined): void => {
      const known = dims.get(letter);
      dims.set(letter, known === undefined || known === 1 ? (dim ?? known) : known);
    };
    [...before].forEach((letter, at) => note(letter, shape?.[at]));
    [...(after ?? '')].forEach((letter, at) =>
      note(letter, shape?.[shape.length - (after ?? '').length + at]),
    );
  });
  const [before = '', after] = right.split(ELLIPSIS);
  const of = (letters: string): (number | undefined)[] =>
    [...letters].map((letter) => dims.get(letter));
  if (after === undefined) return of(before);
  return spread === undefined ? undefined : [...of(before), ...spread, ...of(after)];
}

export const EINSUM: Operators = { Einsum: { lower: einsum } };
