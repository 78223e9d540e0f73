// Finds the part of a flat graph that some tensors need, and cycles. Uses work lists instead of
// recursion. Importer's worker thread; pure.
import { modelInvalid } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, Ref } from '../types.js';
import { hasStateEffect } from './effects.js';
import { quoted } from './errors.js';

const SHOWN_CYCLE_NODES = 8;
/** Whether a node's functions have effects, as known by the caller; by default they have none. */
export type EffectOf = (node: FlatNode) => boolean;

const ownEffect: EffectOf = (node) => hasStateEffect(node.op);

/** "node:port". */
export function refKey({ node, output }: Ref): string {
  return `${node}:${output}`;
}

/**
 * Names of the nodes that the roots need if the feeds are given: each after its dependencies,
 * except for loops' back edges. Fed tensors are not followed. Of control inputs, only nodes that
 * change state, and their dependencies, are included. Unknown node names are ignored.
 */
export function reachable(
  graph: FlatGraph,
  roots: Iterable<Ref>,
  feeds: Iterable<Ref> = [],
  effectOf: EffectOf = ownEffect,
  /** taintedNodes() of the same, for callers that walk one graph many times. */
  tainted = (): ReadonlySet<string> => taintedNodes(graph, effectOf),
): ReadonlySet<string> {
  return new Walk(graph, new Set([...feeds].map(refKey)), effectOf, tainted).run(roots);
}

interface Step {
  readonly name: string;
  /** Its value is needed; otherwise only the state changes that precede it. */
  readonly isNeeded: boolean;
  isOpened: boolean;
}

class Walk {
  readonly #graph: FlatGraph;
  readonly #fed: ReadonlySet<string>;
  readonly #effectOf: EffectOf;
  readonly #needed = new Set<string>();
  readonly #seenNeeded = new Set<string>();
  readonly #seenBefore = new Set<string>();
  readonly #work: Step[] = [];
  readonly #findTainted: () => ReadonlySet<string>;
  #tainted: ReadonlySet<string> | undefined;

  constructor(
    graph: FlatGraph,
    fed: ReadonlySet<string>,
    effectOf: EffectOf,
    tainted: () => ReadonlySet<string>,
  ) {
    this.#graph = graph;
    this.#fed = fed;
    this.#effectOf = effectOf;
    this.#findTainted = tainted;
  }

  run(roots: Iterable<Ref>): ReadonlySet<string> {
    for (const root of [...roots].reverse()) this.#wantRef(root, true);
    for (let step = this.#work.at(-1); step !== undefined; step = this.#work.at(-1)) {
      if (step.isOpened) {
        this.#work.pop();
        if (step.isNeeded) this.#needed.add(step.name);
      } else {
        this.#open(step);
      }
    }
    return this.#needed;
  }

  #open(step: Step): void {
    const seen = step.isNeeded ? this.#seenNeeded : this.#seenBefore;
    const node = this.#graph.nodes.get(step.name);
    if (seen.has(step.name) || node === undefined) {
      this.#work.pop();
      return;
    }
    seen.add(step.name);
    step.isOpened = true;
    for (const input of node.inputs.toReversed()) this.#wantRef(input, step.isNeeded);
    for (const name of node.control.toReversed()) this.#wantBefore(name);
  }

  #wantRef(ref: Ref, isNeeded: boolean): void {
    if (this.#fed.has(refKey(ref))) return;
    if (isNeeded) this.#work.push({ name: ref.node, isNeeded, isOpened: false });
    else this.#wantBefore(ref.node);
  }

  #wantBefore(name: string): void {
    this.#tainted ??= this.#findTainted();
    if (!this.#tainted.has(name)) return;
    const node = this.#graph.nodes.get(name);
    const isNeeded = node !== undefined && this.#effectOf(node);
    this.#work.push({ name, isNeeded, isOpened: false });
  }
}

/** Names of the nodes that change state or run after one that does. */
export function taintedNodes(
  graph: FlatGraph,
  effectOf: EffectOf = ownEffect,
): ReadonlySet<string> {
  const consumers = new Map<string, string[]>();
  const reached = new Set<string>();
  const note = (producer: string, consumer: string): void => {
    const known = consumers.get(producer);
    if (known === undefined) consumers.set(producer, [consumer]);
    else known.push(consumer);
  };
  for (const node of graph.nodes.values()) {
    if (effectOf(node)) reached.add(node.name);
    for (const input of node.inputs) note(input.node, node.name);
    for (const name of node.control) note(name, node.name);
  }
  // Iteration of a Set includes elements added meanwhile.
  for (const name of reached) {
    for (const consumer of consumers.get(name) ?? []) reached.add(consumer);
  }
  return reached;
}

const MERGES = new Set(['Merge', 'RefMerge']);
const NEXT_ITERATIONS = new Set(['NextIteration', 'RefNextIteration']);

/** Errors: ModelInvalid if nodes depend on each other other than through a loop's NextIteration. */
export function checkAcyclic(graph: FlatGraph, where: string): void {
  const done = new Set<string>();
  const path = new Set<string>();
  for (const start of graph.nodes.keys()) {
    const work: { name: string; before: readonly string[]; next: number }[] = [];
    const enter = (name: string): void => {
      if (done.has(name)) return;
      if (path.has(name)) throw modelInvalid(`${where} has a cycle: ${circle(path, name)}`);
      path.add(name);
      work.push({ name, before: before(graph, name), next: 0 });
    };
    enter(start);
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const name = top.before[top.next];
      top.next += 1;
      if (name !== undefined) {
        enter(name);
      } else {
        work.pop();
        path.delete(top.name);
        done.add(top.name);
      }
    }
  }
}

function before(graph: FlatGraph, name: string): readonly string[] {
  const node = graph.nodes.get(name);
  if (node === undefined) return [];
  const isBackEdge = (ref: Ref): boolean =>
    MERGES.has(node.op) && NEXT_ITERATIONS.has(graph.nodes.get(ref.node)?.op ?? '');
  return [...node.inputs.filter((ref) => !isBackEdge(ref)).map((ref) => ref.node), ...node.control];
}

function circle(path: ReadonlySet<string>, name: string): string {
  const all = [...path];
  const names = all.slice(all.indexOf(name));
  const shown = names.slice(0, SHOWN_CYCLE_NODES).map(quoted).join(' needs ');
  return names.length > SHOWN_CYCLE_NODES
    ? `${shown} and ${names.length - SHOWN_CYCLE_NODES} more`
    : `${shown} needs ${quoted(name)}`;
}
