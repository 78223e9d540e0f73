// Loops that traverse a sequence once, from its first element on, and keep a state: their inputs,
// outputs and counters. Importer's worker thread; pure.
import { originOf } from '../../control-flow/kinds.js';
import type { Value } from '../../lower/values.js';
import { functionsIn } from '../../prepare/attributes.js';
import { hasStateEffect } from '../../prepare/effects.js';
import type { FlatFunction, FlatNode, Ref } from '../../types.js';
import { argumentOf } from '../control-flow/loop-analysis.js';
import { eitherWay, Pattern } from './patterns.js';

/** One of the loop's values, or a number. */
export type Limit = { readonly argument: number } | { readonly constant: number };

/** Indices refer to the loop's values. */
export interface Sequence {
  /** Values that begin at 0 and increase by 1. */
  readonly counters: ReadonlySet<number>;
  /** Upper bounds of the counters. */
  readonly limits: readonly Limit[];
  /** The list from which an iteration reads its element, and that element. */
  readonly input: number;
  readonly element: Ref;
  /** The list to which an iteration writes its result. */
  readonly output: number;
  readonly result: Ref;
  /** Written at the counter; otherwise always at 0, so that the last result remains. */
  readonly writesAll: boolean;
  /** The other changing values. */
  readonly states: readonly number[];
}

/** undefined if the loop is anything else. */
export function sequenceOf(
  condition: FlatFunction,
  pattern: Pattern,
  args: readonly Value[],
): Sequence | undefined {
  const { body, same } = pattern;
  const counters = new Set(args.flatMap((_, i) => (isCounter(pattern, args, i) ? [i] : [])));
  const limits = limitsOf(condition, counters, same);
  const changing = args.flatMap((_, i) => (same.has(i) || counters.has(i) ? [] : [i]));
  const written = changing.filter((i) => args[i]?.kind === 'list');
  const [output] = written;
  if (limits === undefined || output === undefined || written.length !== 1) return undefined;
  if ([...body.nodes.values()].some(mayHaveEffect)) return undefined;
  const set = pattern.made(body.returns[output], 'TensorListSetItem');
  const [list, at, result] = set?.inputs ?? [];
  if (set === undefined || pattern.argument(list) !== output || result === undefined) {
    return undefined;
  }
  const writesAll = counters.has(pattern.argument(at) ?? -1);
  if (!writesAll && !pattern.isNumber(at, 0)) return undefined;
  const reads = [...body.nodes.values()].filter(({ op }) => op === 'TensorListGetItem');
  const [read] = reads;
  const input = pattern.argument(read?.inputs[0]);
  const before = input === undefined ? undefined : args[input];
  if (
    read === undefined ||
    reads.length !== 1 ||
    input === undefined ||
    !same.has(input) ||
    !counters.has(pattern.argument(read.inputs[1]) ?? -1) ||
    before?.kind !== 'list' ||
    before.items === undefined
  )
    return undefined;
  return {
    counters,
    limits,
    input,
    element: { node: read.name, output: 0 },
    output,
    result,
    writesAll,
    states: changing.filter((i) => i !== output),
  };
}

/** Whether a node may have side effects. */
function mayHaveEffect({ op, attributes }: FlatNode): boolean {
  return hasStateEffect(op) || !functionsIn(attributes).next().done;
}

function isCounter(pattern: Pattern, args: readonly Value[], index: number): boolean {
  const begin = args[index];
  if (begin?.kind !== 'tensor' || begin.shape?.length !== 0 || begin.ints?.[0] !== 0) return false;
  return (
    eitherWay(pattern.sum(pattern.body.returns[index]), (a, b) =>
      pattern.argument(a) === index && pattern.isNumber(b, 1) ? true : undefined,
    ) ?? false
  );
}

/** The bounds of the counters for another iteration; undefined if the condition is more complex. */
function limitsOf(
  condition: FlatFunction,
  counters: ReadonlySet<number>,
  same: ReadonlySet<number>,
): Limit[] | undefined {
  const asked = new Pattern(condition);
  const limits: Limit[] = [];
  const work: (Ref | undefined)[] = [condition.returns[0]];
  const nodeOf = (ref: Ref | undefined): FlatNode | undefined =>
    ref === undefined ? undefined : condition.nodes.get(originOf(condition, ref).node);
  for (let steps = 0; work.length > 0; steps++) {
    const node = nodeOf(work.pop());
    if (node?.op === 'LogicalAnd' && steps < CONDITIONS_MAX) {
      work.push(...node.inputs);
      continue;
    }
    const [counter, below] = node?.inputs ?? [];
    if (node?.op !== 'Less' || below === undefined) return undefined;
    if (!counters.has(argumentOf(condition, counter) ?? -1)) return undefined;
    const argument = argumentOf(condition, below);
    const [constant] = asked.numbers(below) ?? [];
    if (argument !== undefined && same.has(argument)) limits.push({ argument });
    else if (constant !== undefined) limits.push({ constant });
    else return undefined;
  }
  return limits;
}

const CONDITIONS_MAX = 8;
