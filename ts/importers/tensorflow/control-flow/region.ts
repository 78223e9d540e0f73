// Rebuilds TensorFlow 1's control flow as If and While: a region is the outer graph, one side of a
// condition, or a loop's condition or body. It is filled from its wanted values; values from
// outside become arguments. Importer's worker thread.
import { modelInvalid, unimplemented } from '../../../base/errors.js';
import type { Attribute, FlatFunction, FlatGraph, FlatNode, Ref, Tensor } from '../types.js';
import { argumentNode, Arguments } from './arguments.js';
import { type Choice, type ConditionTable, literal } from './conditions.js';
import type { Group } from './groups.js';
import {
  ENTERS,
  EXITS,
  inputOf,
  keyOf,
  MERGES,
  NEXT_ITERATIONS,
  nodeOf,
  originOf,
  placeOf,
  SWITCHES,
} from './kinds.js';
import { frameOf, type Loop, type Loops, mergeParts } from './loops.js';
import { refTo } from './made-functions.js';

/** Maximum nesting of conditions and loops. */
const NESTING_MAX = 32;
/** Maximum nodes of the rebuilt graph, including all its functions. */
const NODES_MAX = 1_000_000;

/** Shared by all regions of a graph. */
export interface Job {
  readonly graph: FlatGraph;
  readonly loops: Loops;
  readonly conditions: ConditionTable;
  readonly groups: ReadonlyMap<string, Group>;
  /** Whether the node changes state, or runs after one that does. */
  readonly hasEffect: (name: string) => boolean;
  readonly isFed: (ref: Ref) => boolean;
  /** Number of nodes created so far. */
  made: number;
}

/** The kind of region. */
type Kind =
  | { readonly kind: 'root' }
  | { readonly kind: 'side'; readonly way: string; readonly args: Arguments }
  | { readonly kind: 'loop'; readonly loop: Loop; readonly args: Arguments };

export class Region {
  readonly nodes = new Map<string, FlatNode>();
  readonly #job: Job;
  readonly #kind: Kind;
  /** Conditions that hold in it. */
  readonly #holds: ReadonlySet<string>;
  /** Enclosing loops. */
  readonly #around: ReadonlySet<string>;
  readonly #depth: number;
  readonly #wanted: string[] = [];
  readonly #seen = new Set<string>();

  constructor(job: Job, kind: Kind = { kind: 'root' }, parent?: Region) {
    this.#job = job;
    this.#kind = kind;
    this.#depth = parent === undefined ? 0 : parent.#depth + 1;
    const holds = new Set(parent === undefined ? [] : parent.#holds);
    if (kind.kind === 'side') holds.add(kind.way);
    this.#holds = holds;
    const around = new Set(parent === undefined ? [] : parent.#around);
    if (kind.kind === 'loop') around.add(kind.loop.condition.name);
    this.#around = around;
    if (this.#depth > NESTING_MAX) {
      throw unimplemented(`conditions and loops are nested more than ${NESTING_MAX} deep`);
    }
  }

  /** The value in this region; fill() adds the node that computes it. */
  want(from: Ref): Ref {
    const { graph, isFed } = this.#job;
    let ref = from;
    for (;;) {
      if (isFed(ref)) return this.#outside(ref);
      const node = nodeOf(graph, ref.node);
      const kind = this.#kind;
      if (kind.kind === 'side' && !this.#job.conditions.of(ref).has(kind.way)) {
        return this.#outside(ref);
      }
      if (!SWITCHES.has(node.op)) return this.#place(node, ref);
      const inner = this.#throughSwitch(node, ref);
      if (inner.isArgument) return inner.ref;
      ref = inner.ref;
    }
  }

  /** A node that must have run. */
  wantNode(name: string): string {
    return this.want({ node: name, output: 0 }).node;
  }

  /** Adds the wanted nodes and their dependencies. */
  fill(): void {
    for (let name = this.#wanted.pop(); name !== undefined; name = this.#wanted.pop()) {
      this.#visit(nodeOf(this.#job.graph, name));
    }
  }

  #outside(ref: Ref): Ref {
    return this.#kind.kind === 'root' ? ref : this.#kind.args.capture(ref);
  }

  /** The value that a Switch passes on here. */
  #throughSwitch(node: FlatNode, ref: Ref): { ref: Ref; isArgument: boolean } {
    const { conditions, graph, loops } = this.#job;
    const condition = loops.conditionOf(node);
    if (condition === undefined) {
      const way = conditions.wayOf(node, ref.output);
      if (way !== undefined && this.#holds.has(way)) {
        return { ref: inputOf(node, 0), isArgument: false };
      }
      throw unimplemented(
        `${placeOf(node)}: output ${ref.output} is used where it may have no value`,
      );
    }
    const merge = originOf(graph, inputOf(node, 0)).node;
    if (ref.output !== 1) {
      throw modelInvalid(`${placeOf(node)}: its output leaves the loop without an Exit`);
    }
    return { ref: this.#variable(nodeOf(graph, merge), placeOf(node)), isArgument: true };
  }

  /** The argument that is a variable of the loop. */
  #variable(merge: FlatNode, user: string): Ref {
    const kind = this.#kind;
    const index = kind.kind === 'loop' ? kind.loop.indexOf.get(merge.name) : undefined;
    if (kind.kind !== 'loop' || index === undefined) {
      throw modelInvalid(`${user} belongs to a loop and is used outside of it`);
    }
    return { node: kind.args.name(index), output: 0 };
  }

  #place(node: FlatNode, ref: Ref): Ref {
    const { graph, groups, loops } = this.#job;
    if (MERGES.has(node.op)) {
      if (mergeParts(graph, node) !== undefined) {
        if (ref.output !== 0) throw unimplemented(`${placeOf(node)}: a loop's value_index is used`);
        return this.#variable(node, placeOf(node));
      }
      if (node.inputs.length === 1 && ref.output === 0) return this.want(inputOf(node, 0));
      const group = groups.get(this.#job.conditions.choice(node).merge.name);
      if (group === undefined) throw modelInvalid(`${placeOf(node)} is not needed`);
      return this.#add(group.choices[0]?.merge ?? node, outputOf(group, node, ref.output));
    }
    if (EXITS.has(node.op)) {
      const { loop, index } = loops.exited(node);
      return this.#add(loop.condition, index);
    }
    if (ENTERS.has(node.op)) return this.#entered(node);
    if (NEXT_ITERATIONS.has(node.op)) {
      throw modelInvalid(`${placeOf(node)} is used by another node than the Merge of its loop`);
    }
    if (node.op === 'LoopCond') throw modelInvalid(`${placeOf(node)} is used as a value`);
    return this.#add(node, ref.output);
  }

  #entered(node: FlatNode): Ref {
    const kind = this.#kind;
    if (kind.kind !== 'loop') throw modelInvalid(`${placeOf(node)} is used outside of its loop`);
    if (frameOf(node) !== kind.loop.frame) {
      throw modelInvalid(
        `${placeOf(node)} enters frame '${frameOf(node)}' and is used in frame ` +
          `'${kind.loop.frame}'`,
      );
    }
    return kind.args.capture(inputOf(node, 0));
  }

  #add(node: FlatNode, output: number): Ref {
    if (!this.#seen.has(node.name)) {
      this.#seen.add(node.name);
      this.#wanted.push(node.name);
    }
    return { node: node.name, output };
  }

  #visit(node: FlatNode): void {
    this.#job.made += 1;
    if (this.#job.made > NODES_MAX) {
      throw unimplemented(
        `with its conditions and loops expanded the graph has more than ` + `${NODES_MAX} nodes`,
      );
    }
    if (node.op === 'LoopCond') this.#visitLoop(this.#job.loops.get(node.name));
    else if (MERGES.has(node.op)) this.#visitGroup(node);
    else this.#visitPlain(node);
  }

  #visitPlain(node: FlatNode): void {
    const inputs = node.inputs.map((ref) => this.want(ref));
    const control = node.control.filter((name) => this.#job.hasEffect(name));
    if (control.length > 0 && this.#kind.kind !== 'root') {
      throw unimplemented(
        `${placeOf(node)}: state changes inside a TensorFlow 1 condition or loop are not ` +
          'supported',
      );
    }
    this.nodes.set(node.name, {
      ...node,
      inputs,
      control: control.map((name) => this.wantNode(name)),
    });
  }

  #visitGroup(node: FlatNode): void {
    const { graph, groups } = this.#job;
    const group = groups.get(node.name);
    const [first] = group?.choices ?? [];
    if (group === undefined || first === undefined)
      throw modelInvalid(`${placeOf(node)}: no choice`);
    const args = new Arguments(graph, 0);
    const finishNo = this.#side(group, first, 0, args);
    const finishYes = this.#side(group, first, 1, args);
    const [no, yes] = [finishNo(), finishYes()];
    this.nodes.set(node.name, {
      name: node.name,
      op: 'StatelessIf',
      control: [],
      inputs: [this.want(first.predicate), ...args.outer.map((ref) => this.want(ref))],
      attributes: new Map<string, Attribute>([
        ['then_branch', { kind: 'function', value: refTo(yes) }],
        ['else_branch', { kind: 'function', value: refTo(no) }],
      ]),
    });
  }

  /** Fills one side; its function can be finished once the arguments of both sides are known. */
  #side(group: Group, first: Choice, way: 0 | 1, args: Arguments): () => FlatFunction {
    const region = new Region(
      this.#job,
      { kind: 'side', way: literal(way, keyOf(first.predicate)), args },
      this,
    );
    const returns = group.choices.flatMap(({ merge, inputs }) => {
      const index = inputs[way];
      return [region.want(inputOf(merge, index)), region.#indexConstant(merge, index)];
    });
    region.fill();
    return () => region.#function(`${first.merge.name}/${way === 1 ? 'then' : 'else'}`, returns);
  }

  /** A Merge's value_index. */
  #indexConstant(merge: FlatNode, index: number): Ref {
    const value: Tensor = {
      dtype: 'int32',
      shape: [],
      data: { kind: 'bytes', bytes: new Uint8Array([index, 0, 0, 0]) },
    };
    let name = `${merge.name}/index`;
    while (this.#job.graph.nodes.has(name)) name += '_';
    this.nodes.set(name, {
      name,
      op: 'Const',
      inputs: [],
      control: [],
      attributes: new Map<string, Attribute>([
        ['dtype', { kind: 'type', value: 'int32' }],
        ['value', { kind: 'tensor', value }],
      ]),
    });
    return { node: name, output: 0 };
  }

  #visitLoop(loop: Loop): void {
    const { name } = loop.condition;
    if (this.#around.has(name))
      throw modelInvalid(`loop ${placeOf(loop.condition)} is inside itself`);
    const args = new Arguments(this.#job.graph, loop.variables.length);
    const make = (): Region => new Region(this.#job, { kind: 'loop', loop, args }, this);
    const condition = make();
    const again = condition.want(inputOf(loop.condition, 0));
    condition.fill();
    const body = make();
    const next = loop.variables.map((one) => body.want(one.next));
    body.fill();
    const kept = args.outer.map((ref) => args.capture(ref));
    this.nodes.set(name, {
      name,
      op: 'StatelessWhile',
      control: [],
      inputs: [
        ...loop.variables.map(({ enter }) => this.want(inputOf(enter, 0))),
        ...args.outer.map((ref) => this.want(ref)),
      ],
      attributes: new Map<string, Attribute>([
        ['cond', { kind: 'function', value: refTo(condition.#function(`${name}/cond`, [again])) }],
        [
          'body',
          {
            kind: 'function',
            value: refTo(body.#function(`${name}/body`, [...next, ...kept])),
          },
        ],
      ]),
    });
  }

  #function(name: string, returns: readonly Ref[]): FlatFunction {
    const args = this.#kind.kind === 'root' ? [] : this.#kind.args.names;
    args.forEach((arg, index) => {
      this.nodes.set(arg, argumentNode(arg, index));
    });
    return { name, nodes: this.nodes, args, returns, control: [] };
  }
}

/** Two outputs for each Merge: its value and its value_index. */
function outputOf(group: Group, merge: FlatNode, output: number): number {
  const at = group.choices.findIndex((one) => one.merge.name === merge.name);
  return 2 * at + output;
}
