// The operators of TensorFlow 1's control flow, and tracing values through pass-through operators.
// Importer's worker thread; pure.
import { modelInvalid } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, Ref } from '../types.js';

export const SWITCHES: ReadonlySet<string> = new Set(['Switch', 'RefSwitch']);
export const MERGES: ReadonlySet<string> = new Set(['Merge', 'RefMerge']);
export const ENTERS: ReadonlySet<string> = new Set(['Enter', 'RefEnter']);
export const EXITS: ReadonlySet<string> = new Set(['Exit', 'RefExit']);
export const NEXT_ITERATIONS: ReadonlySet<string> = new Set(['NextIteration', 'RefNextIteration']);
/** Operators whose outputs are their inputs. */
export const PASSING: ReadonlySet<string> = new Set([
  'Identity',
  'RefIdentity',
  'IdentityN',
  'StopGradient',
  'PreventGradient',
  'Snapshot',
]);

const CONTROL_FLOW: ReadonlySet<string> = new Set([
  ...SWITCHES,
  ...MERGES,
  ...ENTERS,
  ...EXITS,
  ...NEXT_ITERATIONS,
  'LoopCond',
]);

const PLAIN = new WeakMap<FlatGraph, boolean>();

/** Whether the graph has none of these operators. */
export function isPlain(graph: FlatGraph): boolean {
  let plain = PLAIN.get(graph);
  if (plain === undefined) {
    plain = true;
    for (const { op } of graph.nodes.values()) plain &&= !CONTROL_FLOW.has(op);
    PLAIN.set(graph, plain);
  }
  return plain;
}

/** "node:port". */
export const keyOf = ({ node, output }: Ref): string => `${node}:${output}`;

const ORIGINS = new WeakMap<FlatGraph, Map<string, Ref>>();

/**
 * The origin of a value, past pass-through operators. Results are cached: each chain of a graph is
 * walked once.
 */
export function originOf(graph: FlatGraph, ref: Ref): Ref {
  let known = ORIGINS.get(graph);
  if (known === undefined) ORIGINS.set(graph, (known = new Map()));
  const path: string[] = [];
  const seen = new Set<string>();
  let at = ref;
  for (;;) {
    const key = keyOf(at);
    const end = known.get(key);
    if (end !== undefined) {
      at = end;
      break;
    }
    const node = graph.nodes.get(at.node);
    const input = node === undefined || !PASSING.has(node.op) ? undefined : node.inputs[at.output];
    // A cycle of only such operators ends where it began.
    if (input === undefined || seen.has(key)) break;
    seen.add(key);
    path.push(key);
    at = input;
  }
  for (const key of path) known.set(key, at);
  return at;
}

/** Errors: ModelInvalid if the graph has no such node. */
export function nodeOf(graph: FlatGraph, name: string): FlatNode {
  const node = graph.nodes.get(name);
  if (node === undefined)
    throw modelInvalid(`the graph refers to node '${name}', which is missing`);
  return node;
}

/** Errors: ModelInvalid if the node has no such input. */
export function inputOf(node: FlatNode, index: number): Ref {
  const ref = node.inputs[index];
  if (ref === undefined) throw modelInvalid(`${placeOf(node)} has no input ${index}`);
  return ref;
}

export const placeOf = ({ op, name }: FlatNode): string => `${op} '${name}'`;
