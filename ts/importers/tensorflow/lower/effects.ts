// Finds nodes that change state when they run: control edges are kept for them. Importer's worker
// thread.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, FunctionRef, FlatFunction } from '../types.js';

/** Operators that assign a variable, and the input that identifies it. */
export const ASSIGNING: ReadonlySet<string> = new Set([
  'Assign',
  'AssignAdd',
  'AssignSub',
  'AssignVariableOp',
  'AssignAddVariableOp',
  'AssignSubVariableOp',
  'ResourceScatterUpdate',
  'ResourceScatterAdd',
  'ResourceScatterSub',
  'ScatterUpdate',
  'ScatterAdd',
  'ScatterSub',
  'CountUpTo',
  'ResourceCountUpTo',
]);

/** Maximum nesting of bodies; the stack can hold somewhat more. */
const NESTING_MAX = 100;

export class Effects {
  readonly #function: (ref: FunctionRef) => FlatFunction;
  readonly #known = new WeakMap<FlatGraph, ReadonlySet<string>>();
  #depth = 0;

  constructor(functionOf: (ref: FunctionRef) => FlatFunction) {
    this.#function = functionOf;
  }

  /** Names of the graph's nodes that change state or run after one that does. */
  of(graph: FlatGraph): ReadonlySet<string> {
    let known = this.#known.get(graph);
    if (known === undefined) {
      known = this.#find(graph);
      this.#known.set(graph, known);
    }
    return known;
  }

  #find(graph: FlatGraph): ReadonlySet<string> {
    const found = new Set<string>();
    this.#depth += 1;
    if (this.#depth > NESTING_MAX) {
      throw new ServalError(
        ErrorCode.ModelInvalid,
        `nested branches and loops: expected at most ${NESTING_MAX} levels`,
      );
    }
    for (const node of graph.nodes.values()) {
      if (ASSIGNING.has(node.op) || this.#assignsInside(node)) found.add(node.name);
    }
    this.#depth -= 1;
    if (found.size === 0) return found;
    const users = new Map<string, string[]>();
    for (const node of graph.nodes.values()) {
      for (const name of [...node.inputs.map((ref) => ref.node), ...node.control]) {
        const list = users.get(name);
        if (list === undefined) users.set(name, [node.name]);
        else list.push(node.name);
      }
    }
    const queue = [...found];
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      for (const user of users.get(name) ?? []) {
        if (!found.has(user)) {
          found.add(user);
          queue.push(user);
        }
      }
    }
    return found;
  }

  #assignsInside(node: FlatNode): boolean {
    if (!CONTROL_FLOW.has(node.op)) return false;
    for (const attribute of node.attributes.values()) {
      const refs =
        attribute.kind === 'function'
          ? [attribute.value]
          : attribute.kind === 'list'
            ? attribute.value.functions
            : [];
      if (refs.some((ref) => this.of(this.#function(ref)).size > 0)) return true;
    }
    return false;
  }
}

const CONTROL_FLOW: ReadonlySet<string> = new Set(['If', 'While', 'Case']);
