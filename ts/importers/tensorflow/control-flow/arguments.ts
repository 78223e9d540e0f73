// Arguments of the functions made from conditions and loops. Importer's worker thread.
import type { Attribute, FlatGraph, FlatNode, Ref } from '../types.js';
import { keyOf } from './kinds.js';

/**
 * Arguments of a function under construction: the initial ones, then captured outer values. The
 * functions of one If or While share them.
 */
export class Arguments {
  readonly outer: Ref[] = [];
  readonly #own: number;
  readonly #byKey = new Map<string, string>();
  readonly #graph: FlatGraph;
  readonly #names: string[] = [];

  constructor(graph: FlatGraph, own: number) {
    this.#graph = graph;
    this.#own = own;
    for (let i = 0; i < own; i++) this.name(i);
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** The name of argument `index`. */
  name(index: number): string {
    let name = this.#names[index];
    if (name === undefined) {
      name = `argument ${index}`;
      while (this.#graph.nodes.has(name)) name += '_';
      this.#names[index] = name;
    }
    return name;
  }

  /** The argument for a value of the enclosing region. */
  capture(ref: Ref): Ref {
    const key = keyOf(ref);
    let name = this.#byKey.get(key);
    if (name === undefined) {
      name = this.name(this.#own + this.outer.length);
      this.outer.push(ref);
      this.#byKey.set(key, name);
    }
    return { node: name, output: 0 };
  }
}

/** The node of an argument. */
export const argumentNode = (name: string, index: number): FlatNode => ({
  name,
  op: '_Arg',
  inputs: [],
  control: [],
  attributes: new Map<string, Attribute>([['index', { kind: 'int', value: BigInt(index) }]]),
});
