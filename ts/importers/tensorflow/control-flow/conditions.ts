// Determines the conditions under which a node of TensorFlow 1's control flow runs: the Switches
// before it, and their directions. Importer's worker thread; pure.
import { unimplemented } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, Ref } from '../types.js';
import { inputOf, keyOf, MERGES, NEXT_ITERATIONS, originOf, placeOf, SWITCHES } from './kinds.js';
import { type Loops, mergeParts } from './loops.js';
import { visitInOrder } from './order.js';

/** Maximum nesting of conditions. */
const CONDITIONS_MAX = 64;

/** "1 node:port": the predicate had this value. All of them hold. */
export type Conditions = ReadonlySet<string>;

const NONE: Conditions = new Set();

/** A Merge that is not a loop variable. */
export interface Choice {
  readonly merge: FlatNode;
  readonly predicate: Ref;
  /** The input chosen if the predicate is false, and if it is true. */
  readonly inputs: readonly [number, number];
  /** Conditions under which there is a value at all. */
  readonly conditions: Conditions;
}

export const literal = (way: number, predicate: string): string => `${way} ${predicate}`;

export class ConditionTable {
  readonly #graph: FlatGraph;
  readonly #loops: Loops;
  readonly #isFed: (ref: Ref) => boolean;
  readonly #known = new Map<string, Conditions>();
  readonly #choices = new Map<string, Choice>();
  readonly #problems = new Map<string, string>();

  /**
   * `roots`: names of the needed nodes. Errors: ModelInvalid on a cycle that is not a loop,
   * Unimplemented above the limit.
   */
  constructor(
    graph: FlatGraph,
    loops: Loops,
    roots: Iterable<string>,
    isFed: (ref: Ref) => boolean,
  ) {
    this.#graph = graph;
    this.#loops = loops;
    this.#isFed = isFed;
    visitInOrder(
      roots,
      (name) => {
        const node = graph.nodes.get(name);
        return node === undefined ? [] : this.#before(node);
      },
      (name) => {
        const node = graph.nodes.get(name);
        if (node !== undefined) this.#known.set(name, this.#find(node));
      },
    );
  }

  /** The condition's Merges. */
  get choices(): Iterable<Choice> {
    return this.#choices.values();
  }

  /** Errors: Unimplemented, naming why the chosen input of the Merge cannot be determined. */
  choice(merge: FlatNode): Choice {
    const choice = this.#choices.get(merge.name);
    if (choice !== undefined) return choice;
    throw unimplemented(`${placeOf(merge)}: ${this.#problems.get(merge.name) ?? 'not reached'}`);
  }

  /** Conditions under which the value exists. */
  of(ref: Ref): Conditions {
    const node = this.#graph.nodes.get(ref.node);
    if (node === undefined || this.#isFed(ref)) return NONE;
    const known = this.#known.get(ref.node) ?? NONE;
    const way = this.wayOf(node, ref.output);
    if (way === undefined || known.has(way)) return known;
    return limited(new Set([...known, way]), node);
  }

  /** The condition that a Switch adds at this output; undefined for all other nodes. */
  wayOf(node: FlatNode, output: number): string | undefined {
    if (!SWITCHES.has(node.op) || this.#loops.conditionOf(node) !== undefined) return undefined;
    return literal(output, keyOf(originOf(this.#graph, inputOf(node, 1))));
  }

  #before(node: FlatNode): string[] {
    const isBack = (ref: Ref): boolean =>
      MERGES.has(node.op) && NEXT_ITERATIONS.has(this.#graph.nodes.get(ref.node)?.op ?? '');
    const data = node.inputs.filter((ref) => !this.#isFed(ref) && !isBack(ref));
    return [...data.map((ref) => ref.node), ...node.control];
  }

  #find(node: FlatNode): Conditions {
    if (MERGES.has(node.op)) return this.#findMerge(node);
    let all = NONE;
    for (const ref of node.inputs) all = union(all, this.of(ref));
    for (const name of node.control) all = union(all, this.#known.get(name) ?? NONE);
    return limited(all, node);
  }

  #findMerge(merge: FlatNode): Conditions {
    const parts = mergeParts(this.#graph, merge);
    if (parts !== undefined) return this.of({ node: parts.enter.name, output: 0 });
    const [a, b] = merge.inputs.map((ref) => this.of(ref));
    const common =
      a === undefined ? NONE : b === undefined ? a : new Set([...a].filter((one) => b.has(one)));
    if (a === undefined || b === undefined || merge.inputs.length !== 2) {
      this.#problems.set(merge.name, `it has ${merge.inputs.length} inputs; expected 2`);
      return common;
    }
    const apart = [...a].find((one) => b.has(opposite(one)));
    if (apart === undefined) {
      this.#problems.set(merge.name, 'its inputs do not come from the two sides of one Switch');
      return common;
    }
    const isTrueFirst = apart.startsWith('1 ');
    this.#choices.set(merge.name, {
      merge,
      predicate: refOf(apart),
      inputs: isTrueFirst ? [1, 0] : [0, 1],
      conditions: common,
    });
    return common;
  }
}

const opposite = (one: string): string => `${one.startsWith('1 ') ? 0 : 1}${one.slice(1)}`;

function refOf(one: string): Ref {
  const colon = one.lastIndexOf(':');
  return { node: one.slice(2, colon), output: Number(one.slice(colon + 1)) };
}

function union(a: Conditions, b: Conditions): Conditions {
  if (a === b || b.size === 0) return a;
  if (a.size === 0) return b;
  let all: Set<string> | undefined;
  for (const one of b) {
    if (a.has(one)) continue;
    all ??= new Set(a);
    all.add(one);
  }
  return all ?? a;
}

function limited(all: Conditions, node: FlatNode): Conditions {
  if (all.size <= CONDITIONS_MAX) return all;
  throw unimplemented(`${placeOf(node)}: more than ${CONDITIONS_MAX} conditions inside each other`);
}
