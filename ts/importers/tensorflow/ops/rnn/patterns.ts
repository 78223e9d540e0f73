// Matches computation patterns in a function's body: how a value is computed, step by step. Every
// answer depends on the graph alone. Importer's worker thread; pure.
import { keyOf, originOf } from '../../control-flow/kinds.js';
import { tensorNumbers } from '../../lower/tensors.js';
import type { FlatFunction, FlatNode, Ref } from '../../types.js';
import { argumentOf, passedOn } from '../control-flow/loop-analysis.js';

const SUMS: ReadonlySet<string> = new Set(['AddV2', 'Add', 'BiasAdd']);

/** A range of the columns of a value. */
export interface Part {
  readonly of: Ref;
  readonly index: number;
}

/** Pattern queries on one loop's body. */
export class Pattern {
  readonly body: FlatFunction;
  /** Arguments that are the same in every iteration. */
  readonly same: ReadonlySet<number>;
  readonly #fixed = new Map<string, boolean>();

  constructor(body: FlatFunction) {
    this.body = body;
    this.same = passedOn(body);
  }

  /** The node with this operator whose first output is the value. */
  made(ref: Ref | undefined, op: string): FlatNode | undefined {
    if (ref === undefined) return undefined;
    const origin = originOf(this.body, ref);
    const node = this.body.nodes.get(origin.node);
    return node?.op === op && origin.output === 0 ? node : undefined;
  }

  argument(ref: Ref | undefined): number | undefined {
    return argumentOf(this.body, ref);
  }

  isSame(a: Ref | undefined, b: Ref | undefined): boolean {
    if (a === undefined || b === undefined) return false;
    return keyOf(originOf(this.body, a)) === keyOf(originOf(this.body, b));
  }

  /** The two added values; a bias is the second one. */
  sum(ref: Ref | undefined): readonly [Ref, Ref] | undefined {
    if (ref === undefined) return undefined;
    const node = this.body.nodes.get(originOf(this.body, ref).node);
    return node !== undefined && SUMS.has(node.op) ? pairOf(node) : undefined;
  }

  product(ref: Ref | undefined): readonly [Ref, Ref] | undefined {
    const node = this.made(ref, 'Mul');
    return node === undefined ? undefined : pairOf(node);
  }

  /** The input of a unary operator. */
  under(ref: Ref | undefined, op: string): Ref | undefined {
    return this.made(ref, op)?.inputs[0];
  }

  /** The numbers of a constant. */
  numbers(ref: Ref | undefined): readonly number[] | undefined {
    const value = this.made(ref, 'Const')?.attributes.get('value');
    return value?.kind === 'tensor' ? tensorNumbers(value.value) : undefined;
  }

  isNumber(ref: Ref | undefined, wanted: number): boolean {
    const numbers = this.numbers(ref);
    return numbers?.length === 1 && numbers[0] === wanted;
  }

  /**
   * Whether the value is the same in every iteration: computed from constants, unchanged arguments
   * and deterministic operators.
   */
  isFixed(ref: Ref): boolean {
    const work = [originOf(this.body, ref).node];
    const seen = new Set(work);
    for (let name = work.pop(); name !== undefined; name = work.pop()) {
      const known = this.#fixed.get(name);
      if (known === false) return false;
      const node = this.body.nodes.get(name);
      if (node === undefined || !this.#isFixedHere(node)) {
        this.#fixed.set(name, false);
        return false;
      }
      for (const input of node.inputs) {
        if (seen.has(input.node)) continue;
        seen.add(input.node);
        work.push(input.node);
      }
    }
    for (const name of seen) this.#fixed.set(name, true);
    return true;
  }

  #isFixedHere(node: FlatNode): boolean {
    if (node.op === '_Arg') {
      const index = this.body.args.indexOf(node.name);
      return this.same.has(index);
    }
    return FIXED.has(node.op);
  }

  /** x * weights of an untransposed MatMul, with weights that are the same in every iteration. */
  matMul(ref: Ref | undefined): { readonly x: Ref; readonly weights: Ref } | undefined {
    const node = this.made(ref, 'MatMul');
    const [x, weights] = node?.inputs ?? [];
    if (node === undefined || x === undefined || weights === undefined) return undefined;
    const isTurned = ['transpose_a', 'transpose_b'].some((name) => {
      const value = node.attributes.get(name);
      return value?.kind === 'bool' && value.value;
    });
    return isTurned || !this.isFixed(weights) ? undefined : { x, weights };
  }

  /**
   * The index of this part among `count` equal parts of another value's columns. `units`: columns
   * of one.
   */
  part(ref: Ref | undefined, count: number, units: number): Part | undefined {
    if (ref === undefined) return undefined;
    const origin = originOf(this.body, ref);
    const node = this.body.nodes.get(origin.node);
    if (node?.op === 'Split') return this.#splitPart(node, origin.output, count);
    return node?.op === 'StridedSlice' ? this.#slicePart(node, count, units) : undefined;
  }

  #splitPart(node: FlatNode, output: number, count: number): Part | undefined {
    const [axis, of] = node.inputs;
    const parts = node.attributes.get('num_split');
    if (of === undefined || parts?.kind !== 'int' || Number(parts.value) !== count) {
      return undefined;
    }
    const isColumns = this.isNumber(axis, 1) || this.isNumber(axis, -1);
    return isColumns ? { of, index: output } : undefined;
  }

  /** [:, index * units : (index + 1) * units], the last one possibly with an open end. */
  #slicePart(node: FlatNode, count: number, units: number): Part | undefined {
    const [of, ...rest] = node.inputs;
    const [begin, end, steps] = rest.map((ref) => this.numbers(ref));
    const mask = (name: string): number => {
      const value = node.attributes.get(name);
      return value?.kind === 'int' ? Number(value.value) : 0;
    };
    if (of === undefined || begin?.length !== 2 || end?.length !== 2) return undefined;
    if (steps?.length !== 2 || steps.some((step) => step !== 1)) return undefined;
    if (['ellipsis_mask', 'new_axis_mask', 'shrink_axis_mask'].some(mask)) return undefined;
    if ((mask('begin_mask') & 1) === 0 || (mask('end_mask') & 1) === 0) return undefined;
    const from = mask('begin_mask') & 2 ? 0 : (begin[1] ?? -1);
    const index = from / units;
    const to = mask('end_mask') & 2 ? count * units : end[1];
    const fits = Number.isInteger(index) && index >= 0 && index < count;
    return fits && to === from + units ? { of, index } : undefined;
  }
}

const FIXED: ReadonlySet<string> = new Set([
  'Const',
  'Identity',
  'ReadVariableOp',
  'Split',
  'Squeeze',
  'Cast',
  'Reshape',
  'StopGradient',
  'StridedSlice',
  'Unpack',
  'IdentityN',
]);

function pairOf({ inputs }: FlatNode): readonly [Ref, Ref] | undefined {
  const [a, b] = inputs;
  return a === undefined || b === undefined || inputs.length !== 2 ? undefined : [a, b];
}

/** The first result of `match` for the two values in either order. */
export function eitherWay<T>(
  pair: readonly [Ref, Ref] | undefined,
  match: (a: Ref, b: Ref) => T | undefined,
): T | undefined {
  return pair === undefined ? undefined : (match(pair[0], pair[1]) ?? match(pair[1], pair[0]));
}
