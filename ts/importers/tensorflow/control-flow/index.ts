// Rebuilds TensorFlow 1's control flow (Switch, Merge, frames) as If and While, on the part of a
// flat graph that some tensors need. Importer's worker thread. Source: tensorflow-import.md 4.3
// "Control flow"; tensorflow/core/kernels/control_flow_ops.
import { reachable } from '../prepare/prune.js';
import type { FlatGraph, Ref } from '../types.js';
import { ConditionTable } from './conditions.js';
import { groupChoices } from './groups.js';
import { isPlain } from './kinds.js';
import { Loops } from './loops.js';
import { Region } from './region.js';

/** The graph that is lowered instead. */
export interface Functional {
  readonly graph: FlatGraph;
  readonly roots: readonly Ref[];
  /** Names of the nodes with side effects. */
  readonly effects: readonly string[];
}

export interface FunctionalOptions {
  /** Whether the node changes state, or runs after one that does. */
  readonly hasEffect: (name: string) => boolean;
  /** Whether the value is fed, regardless of its node. */
  readonly isFed: (ref: Ref) => boolean;
}

/**
 * The same values from a graph with StatelessIf and StatelessWhile; a graph without TensorFlow 1's
 * control flow is returned unchanged. Errors: ModelInvalid: parts of loops that do not fit
 * together; Unimplemented: a value that may not exist, a Merge of more than two inputs, state
 * changed inside, more nesting than the limits allow.
 */
export function functionalGraph(
  graph: FlatGraph,
  roots: readonly Ref[],
  effects: readonly string[],
  { hasEffect, isFed }: FunctionalOptions,
): Functional {
  if (isPlain(graph)) return { graph, roots, effects };
  const ends = [...roots, ...effects.map((node) => ({ node, output: 0 }))];
  const cut = {
    nodes: new Map(
      [...graph.nodes].map(([name, node]) => [
        name,
        {
          ...node,
          inputs: node.inputs.filter((ref) => !isFed(ref)),
        },
      ]),
    ),
  };
  const open = ends.filter((ref) => !isFed(ref));
  const needed = reachable(cut, open, [], ({ name }) => hasEffect(name));
  const loops = new Loops(graph, needed);
  const conditions = new ConditionTable(graph, loops, needed, isFed);
  const groups = groupChoices(graph, loops, conditions, needed);
  const region = new Region({ graph, loops, conditions, groups, hasEffect, isFed, made: 0 });
  const newRoots = roots.map((ref) => region.want(ref));
  const newEffects = effects.map((name) => region.wantNode(name));
  region.fill();
  return { graph: { nodes: region.nodes }, roots: newRoots, effects: newEffects };
}
