// Recognises the standard recurrent cells in a loop's body. Importer's worker thread; pure.
import type { Ref } from '../../types.js';
import { eitherWay, type Part, type Pattern } from './patterns.js';
import type { Sequence } from './sequences.js';

/** h' = tanh(x * W + h * U + b): which value of the loop is h, and the body's weights. */
export interface Rnn {
  readonly h: number;
  readonly weights: Ref;
  readonly recurrent: Ref;
  readonly bias: Ref | undefined;
}

export interface Lstm extends Rnn {
  readonly c: number;
}

/** Whether the reset gate comes after the recurrent product. */
export interface Gru {
  readonly h: number;
  readonly weights: Ref;
  readonly recurrent: Ref;
  readonly bias: Ref | undefined;
  readonly recurrentBias: Ref | undefined;
}

/** c' = sigmoid(f) * c + sigmoid(i) * tanh(g), h' = sigmoid(o) * tanh(c'); i, f, g, o are the parts
 * of x * W + h * U + b. */
export function lstmOf(pattern: Pattern, sequence: Sequence): Lstm | undefined {
  const { body } = pattern;
  const { states, result } = sequence;
  const h = states.find((index) => pattern.isSame(body.returns[index], result));
  const c = states.find((index) => index !== h);
  if (h === undefined || c === undefined || states.length !== 2) return undefined;
  const cell = body.returns[c];
  const output = eitherWay(pattern.product(result), (a, b) =>
    pattern.isSame(pattern.under(b, 'Tanh'), cell) ? pattern.under(a, 'Sigmoid') : undefined,
  );
  const parts = eitherWay(pattern.sum(cell), (kept, added) => {
    const forget = eitherWay(pattern.product(kept), (a, b) =>
      pattern.argument(b) === c ? pattern.under(a, 'Sigmoid') : undefined,
    );
    const both = eitherWay(pattern.product(added), (a, b) => {
      const input = pattern.under(a, 'Sigmoid');
      const candidate = pattern.under(b, 'Tanh');
      return input === undefined || candidate === undefined ? undefined : { input, candidate };
    });
    return forget === undefined || both === undefined ? undefined : { forget, ...both };
  });
  if (output === undefined || parts === undefined) return undefined;
  const of = partsOf(pattern, [parts.input, parts.forget, parts.candidate, output], 0);
  const gates = of === undefined ? undefined : gatesOf(pattern, sequence, of, h);
  return gates === undefined ? undefined : { ...gates, c };
}

export function rnnOf(pattern: Pattern, sequence: Sequence): Rnn | undefined {
  const [h] = sequence.states;
  if (h === undefined || sequence.states.length !== 1) return undefined;
  if (!pattern.isSame(pattern.body.returns[h], sequence.result)) return undefined;
  const of = pattern.under(sequence.result, 'Tanh');
  return of === undefined ? undefined : gatesOf(pattern, sequence, of, h);
}

/** The value that these are parts 0, 1, ... of. */
function partsOf(
  pattern: Pattern,
  refs: readonly (Ref | undefined)[],
  units: number,
): Ref | undefined {
  const parts = refs.map((ref) => pattern.part(ref, refs.length, units));
  const [first] = parts;
  const fits = (part: Part | undefined, i: number): boolean =>
    part?.index === i && pattern.isSame(part.of, first?.of);
  return parts.every(fits) ? first?.of : undefined;
}

/** x * W + h * U + b, with the bias at any position or absent. */
function gatesOf(pattern: Pattern, { element }: Sequence, of: Ref, h: number): Rnn | undefined {
  const terms = termsOf(pattern, of);
  let weights: Ref | undefined;
  let recurrent: Ref | undefined;
  const biases: Ref[] = [];
  for (const term of terms) {
    const product = pattern.matMul(term);
    if (product === undefined) biases.push(term);
    else if (pattern.isSame(product.x, element)) weights = product.weights;
    else if (pattern.argument(product.x) === h) recurrent = product.weights;
  }
  const [bias] = biases;
  if (weights === undefined || recurrent === undefined) return undefined;
  if (terms.length !== 2 + biases.length || biases.length > 1) return undefined;
  if (bias !== undefined && !pattern.isFixed(bias)) return undefined;
  return { h, weights, recurrent, bias };
}

const TERMS_MAX = 4;

/** Terms of a sum. */
function termsOf(pattern: Pattern, of: Ref): Ref[] {
  let terms = [of];
  while (terms.length < TERMS_MAX) {
    const at = terms.findIndex((ref) => pattern.sum(ref) !== undefined);
    const pair = at < 0 ? undefined : pattern.sum(terms[at]);
    if (pair === undefined) break;
    terms = [...terms.slice(0, at), ...pair, ...terms.slice(at + 1)];
  }
  return terms;
}

/**
 * h' = z * h + (1 - z) * tanh(xh + r * rh), z = sigmoid(xz + rz), r = sigmoid(xr + rr), with the
 * parts x of x * W + b and r of h * U + b'. `unitsOf`: the row count of weights.
 */
export function gruOf(
  pattern: Pattern,
  sequence: Sequence,
  unitsOf: (weights: Ref) => number | undefined,
): Gru | undefined {
  const [h] = sequence.states;
  if (h === undefined || sequence.states.length !== 1) return undefined;
  const next = pattern.body.returns[h];
  if (!pattern.isSame(next, sequence.result)) return undefined;
  const parts = eitherWay(pattern.sum(next), (kept, added) => {
    const update = eitherWay(pattern.product(kept), (a, b) =>
      pattern.argument(b) === h && pattern.made(a, 'Sigmoid') ? a : undefined,
    );
    const candidate = eitherWay(pattern.product(added), (a, b) => {
      const rest = pattern.made(a, 'Sub');
      const isRest =
        pattern.isNumber(rest?.inputs[0], 1) && pattern.isSame(rest?.inputs[1], update);
      return isRest ? pattern.under(b, 'Tanh') : undefined;
    });
    return update === undefined || candidate === undefined ? undefined : { update, candidate };
  });
  if (parts === undefined) return undefined;
  return eitherWay(pattern.sum(parts.candidate), (own, other) =>
    eitherWay(pattern.product(other), (reset, recurrent) => {
      const gates = [pattern.under(parts.update, 'Sigmoid'), pattern.under(reset, 'Sigmoid')];
      const [z, r] = gates.map((ref) => pattern.sum(ref));
      const pairs = [z, r].map((pair) => pair && [pair, [pair[1], pair[0]] as const]);
      for (const [xz, rz] of pairs[0] ?? []) {
        for (const [xr, rr] of pairs[1] ?? []) {
          const found = gruFrom(pattern, sequence, h, [xz, xr, own], [rz, rr, recurrent], unitsOf);
          if (found !== undefined) return found;
        }
      }
      return undefined;
    }),
  );
}

function gruFrom(
  pattern: Pattern,
  { element }: Sequence,
  h: number,
  own: readonly Ref[],
  state: readonly Ref[],
  unitsOf: (weights: Ref) => number | undefined,
): Gru | undefined {
  const rows = [...pattern.body.nodes.values()].find(
    (node) => node.op === 'MatMul' && pattern.argument(node.inputs[0]) === h,
  )?.inputs[1];
  const units = rows === undefined || !pattern.isFixed(rows) ? undefined : unitsOf(rows);
  if (units === undefined) return undefined;
  const x = partsOf(pattern, own, units);
  const r = partsOf(pattern, state, units);
  if (x === undefined || r === undefined) return undefined;
  const ofX = affine(pattern, x);
  const ofH = affine(pattern, r);
  if (ofX === undefined || ofH === undefined) return undefined;
  if (!pattern.isSame(ofX.x, element) || pattern.argument(ofH.x) !== h) return undefined;
  return {
    h,
    weights: ofX.weights,
    recurrent: ofH.weights,
    bias: ofX.bias,
    recurrentBias: ofH.bias,
  };
}

/** x * weights, with or without a bias. */
function affine(
  pattern: Pattern,
  ref: Ref,
): { readonly x: Ref; readonly weights: Ref; readonly bias: Ref | undefined } | undefined {
  const plain = pattern.matMul(ref);
  if (plain !== undefined) return { ...plain, bias: undefined };
  return eitherWay(pattern.sum(ref), (product, bias) => {
    const found = pattern.matMul(product);
    return found === undefined || !pattern.isFixed(bias) ? undefined : { ...found, bias };
  });
}
