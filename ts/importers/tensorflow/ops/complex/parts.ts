// Building blocks of complex lowerings: running a real lowering on the real and the imaginary
// parts, and products of two. Importer's worker thread.
import { complexValue, partDtype } from '../../lower/complex.js';
import { type Lowering, OpContext } from '../../lower/context.js';
import type { ComplexValue, TensorValue, Value } from '../../lower/values.js';
import type { Attribute, FlatNode } from '../../types.js';
import { add, sub } from '../arithmetic/algebra.js';

export type Part = 'real' | 'imaginary';

/** Input `index`, which must be complex. */
export function complexInput(cx: OpContext, index: number): ComplexValue {
  const value = cx.input(index);
  if (value.kind === 'complex') return value;
  return cx.fail(`input ${index} is a ${value.kind}, expected a complex tensor`);
}

/** The node with its complex types replaced by those of their parts. */
function realNode(node: FlatNode): FlatNode {
  const attributes = [...node.attributes].map(([name, value]): [string, Attribute] => {
    if (value.kind === 'type') return [name, { ...value, value: partDtype(value.value) }];
    if (value.kind !== 'list') return [name, value];
    return [name, { ...value, value: { ...value.value, types: value.value.types.map(partDtype) } }];
  });
  return { ...node, attributes: new Map(attributes) };
}

/**
 * The result of a real lowering for one part of each complex input. `parts`: for each input, or one
 * for all.
 */
export function lowerParts(cx: OpContext, lower: Lowering, ...parts: readonly Part[]): Value[] {
  const inputs = cx.inputs.map((value, i) => {
    if (value.kind !== 'complex') return value;
    return value[parts[Math.min(i, parts.length - 1)] ?? 'real'];
  });
  return [lower(new OpContext(realNode(cx.node), inputs, cx.around))].flat();
}

const negated = (cx: OpContext, x: TensorValue): TensorValue => cx.op('Neg', [x]);

/**
 * Applies a real lowering to each part separately: for operators that move elements, or are linear
 * in them.
 */
export const partwise =
  (lower: Lowering): Lowering =>
  (cx) => {
    const imaginary = lowerParts(cx, lower, 'imaginary');
    return lowerParts(cx, lower, 'real').map((real, i) =>
      complexValue(cx.asTensor(real, i), cx.asTensor(imaginary[i] ?? real, i)),
    );
  };

/** For a real lowering that uses only the shape. */
export const ofShape =
  (lower: Lowering): Lowering =>
  (cx) =>
    lowerParts(cx, lower, 'real');

/** A real lowering that multiplies its two inputs; adj_x and adj_y conjugate them. */
export const productOf =
  (lower: Lowering): Lowering =>
  (cx) => {
    if (cx.inputs.length !== 2) return partwise(lower)(cx);
    const one = (a: Part, b: Part): TensorValue => {
      const [value] = lowerParts(cx, lower, a, b);
      return value === undefined ? cx.fail('has no output') : cx.asTensor(value, 0);
    };
    const [x, y] = [cx.bool('adj_x', false), cx.bool('adj_y', false)];
    const [xy, yx] = [one('real', 'imaginary'), one('imaginary', 'real')];
    const real = x === y ? sub : add;
    return complexValue(
      real(cx, one('real', 'real'), one('imaginary', 'imaginary')),
      y
        ? negated(cx, x ? add(cx, xy, yx) : sub(cx, xy, yx))
        : x
          ? sub(cx, xy, yx)
          : add(cx, xy, yx),
    );
  };
