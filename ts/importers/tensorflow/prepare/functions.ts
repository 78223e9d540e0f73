// The functions of a model on demand, each flattened once per set of attributes. Importer's worker
// thread.
import { modelInvalid } from '../../../base/errors.js';
import type { FlatFunction, FunctionDef, FunctionRef, GraphDef, NodeDef } from '../types.js';
import { attributesKey, functionsIn } from './attributes.js';
import { hasStateEffect } from './effects.js';
import { quoted } from './errors.js';
import type { Flattener } from './flatten.js';
import { checkAcyclic } from './prune.js';

export class Functions {
  readonly #graph: GraphDef;
  readonly #flattener: Flattener;
  readonly #flat = new Map<string, FlatFunction>();
  /** Functions that do not call themselves, directly or indirectly. */
  readonly #finite = new Set<string>();

  constructor(graph: GraphDef, flattener: Flattener) {
    this.#graph = graph;
    this.#flattener = flattener;
  }

  /**
   * Returns the same object for the same name and attributes. Errors: ModelInvalid: unknown, calls
   * itself (also through a branch or loop), an error inside.
   */
  get(ref: FunctionRef): FlatFunction {
    const key = `${attributesKey(ref.attributes)}${ref.name}`;
    let flat = this.#flat.get(key);
    if (flat === undefined) {
      this.#checkFinite(ref.name);
      flat = this.#flattener.function(ref);
      checkAcyclic(flat, `function ${quoted(ref.name)}`);
      this.#flat.set(key, flat);
    }
    return flat;
  }

  #checkFinite(start: string): void {
    const path = new Set<string>();
    const work: { name: string; callees: string[] }[] = [];
    const enter = (name: string): void => {
      if (path.has(name)) throw modelInvalid(`function ${quoted(name)} calls itself`);
      if (this.#finite.has(name)) return;
      path.add(name);
      work.push({ name, callees: this.#callees(name) });
    };
    enter(start);
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const callee = top.callees.pop();
      if (callee !== undefined) {
        enter(callee);
      } else {
        work.pop();
        path.delete(top.name);
        this.#finite.add(top.name);
      }
    }
  }

  // Functions named by nodes that the function's results and effects need.
  #callees(name: string): string[] {
    const definition = this.#graph.functions.get(name);
    if (definition === undefined) return [];
    const found = new Set<string>();
    for (const node of neededNodes(definition)) {
      if (this.#graph.functions.has(node.op)) found.add(node.op);
      for (const ref of functionsIn(node.attributes)) found.add(ref.name);
    }
    return [...found];
  }
}

function neededNodes(definition: FunctionDef): readonly NodeDef[] {
  const byName = new Map(definition.nodes.map((node) => [node.name, node]));
  const names = new Set<string>(definition.controlReturns.values());
  for (const text of definition.returns.values()) names.add(text.split(':', 1)[0] ?? '');
  for (const node of definition.nodes) {
    if (hasStateEffect(node.op)) names.add(node.name);
  }
  const nodes: NodeDef[] = [];
  // Iteration of a Set includes elements added meanwhile.
  for (const name of names) {
    const node = byName.get(name);
    if (node === undefined) continue;
    nodes.push(node);
    for (const input of node.inputs) names.add(input.replace(/^\^/, '').split(':', 1)[0] ?? '');
  }
  return nodes;
}
