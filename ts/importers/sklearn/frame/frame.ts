// The columns that steps of a scikit-learn model pass on: a frame is a list of elements, each a
// feature of the request, a column, or one value of a Vector. Importer's worker thread; pure.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { vectorAssembler, vectorElement } from '../../plan/ops/vectors.js';
import type { Item } from '../read/item.js';
import type { ElementKind, Fields } from './fields.js';
import type { Result } from './step.js';

export type Element = (
  | // A feature of the request, whose type its first reader decides.
  { readonly feature: number }
  | { readonly column: Column; readonly kind: ElementKind }
  | { readonly vector: Column; readonly index: number; readonly size: number }
) & {
  /** Its name by get_feature_names_out(), if it is known. */
  readonly label?: string;
};

export type Frame = readonly Element[];

/** The plan that is made, and its fields. */
export interface Lowering {
  readonly builder: PlanBuilder;
  readonly fields: Fields;
  /** Lowers an estimator inside another one. Errors: RangeError. */
  readonly lower: (item: Item, frame: Frame, place: string) => Result;
}

/** The type that readers have agreed on; undefined: none has read it yet. */
export function kindOf(lowering: Lowering, element: Element): ElementKind | undefined {
  if ('feature' in element) return lowering.fields.kindOf(element.feature);
  return 'column' in element ? element.kind : 'number';
}

/** A column of Doubles. NaN or missing where there is no value. */
export function numberOf(lowering: Lowering, element: Element, place: string): Column {
  const { builder, fields } = lowering;
  if ('vector' in element) {
    const { vector: input, index } = element;
    const output = builder.column(`value ${index} of ${builder.nameOf(input)}`, 'double');
    vectorElement(builder, { input, output, index }, place);
    return output;
  }
  if ('feature' in element) {
    const column = fields.use(element.feature, 'number');
    return builder.typeOf(column) === 'bool' ? numberOfFlag(builder, column, place) : column;
  }
  if (element.kind === 'text') throw new RangeError(`${place}: expected numbers, got texts`);
  return element.kind === 'flag' ? numberOfFlag(builder, element.column, place) : element.column;
}

function numberOfFlag(builder: PlanBuilder, column: Column, place: string): Column {
  const value = call('sql.cast', columnRef(column), constant('double'));
  return builder.derive(builder.nameOf(column), 'double', value, place);
}

/** A column of Strings or Bools. */
export function valueOf(
  lowering: Lowering,
  element: Element,
  kind: 'text' | 'flag',
  place: string,
): Column {
  if ('feature' in element) return lowering.fields.use(element.feature, kind);
  if ('column' in element && element.kind === kind) return element.column;
  const got = 'column' in element && element.kind !== 'number' ? element.kind : 'number';
  throw new RangeError(`${place}: expected ${kind}s, got ${got}s`);
}

export const numbersOf = (lowering: Lowering, frame: Frame, place: string): readonly Column[] =>
  frame.map((element) => numberOf(lowering, element, place));

/** The elements of a Vector of a known size. */
export const elementsOf = (vector: Column, size: number): Frame =>
  Array.from({ length: size }, (_, index) => ({ vector, index, size }));

export const columnElement = (column: Column): Element => ({ column, kind: 'number' });

/**
 * All elements as one Vector. `missing`: NaN and missing values are refused, or become NaN.
 */
export function vectorOf(
  lowering: Lowering,
  frame: Frame,
  missing: 'refuse' | 'nan',
  place: string,
): Column {
  const { builder } = lowering;
  const inputs: Column[] = [];
  const sizes: number[] = [];
  for (let at = 0; at < frame.length; ) {
    const whole = wholeVector(frame, at);
    if (whole === undefined) {
      inputs.push(numberOf(lowering, frame[at] as Element, place));
      sizes.push(0);
      at += 1;
    } else {
      inputs.push(whole.vector);
      sizes.push(whole.size);
      at += whole.size;
    }
  }
  const [only] = inputs;
  const isVector = inputs.length === 1 && sizes[0] !== 0;
  if (only !== undefined && isVector && missing === 'nan') return only;
  const output = builder.column('features', 'vector');
  const given = { inputs, output, sizes: Int32Array.from(sizes) };
  const handleInvalid = missing === 'nan' ? 'keep' : 'error';
  vectorAssembler(builder, { ...given, handleInvalid }, place);
  return output;
}

/** The Vector whose elements, all in order, begin here. */
function wholeVector(
  frame: Frame,
  at: number,
): { readonly vector: Column; readonly size: number } | undefined {
  const first = frame[at];
  if (first === undefined || !('vector' in first) || first.index !== 0) return undefined;
  const { vector, size } = first;
  for (let i = 1; i < size; i += 1) {
    const next = frame[at + i];
    if (next === undefined || !('vector' in next)) return undefined;
    if (next.vector !== vector || next.index !== i) return undefined;
  }
  return { vector, size };
}

/** One derived number for each element. */
export function mapNumbers(
  lowering: Lowering,
  frame: Frame,
  place: string,
  of: (value: Expression, index: number) => Expression,
): Frame {
  const { builder } = lowering;
  const inputs = numbersOf(lowering, frame, place);
  const outputs = inputs.map((input) => builder.column(builder.nameOf(input), 'double'));
  const expressions = inputs.map((input, i) => of(columnRef(input), i));
  if (outputs.length > 0) {
    builder.stage('derive', [], outputs, { expressions: { expressions } }, place);
  }
  return outputs.map((column, i) => {
    const label = frame[i]?.label;
    return label === undefined ? columnElement(column) : { ...columnElement(column), label };
  });
}
