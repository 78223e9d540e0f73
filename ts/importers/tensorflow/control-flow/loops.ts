// TensorFlow 1's loops: for each LoopCond its variables, each an Enter, a Merge, a Switch, a
// NextIteration and possibly Exits. Loops are identified by their LoopCond and not by frame_name: a
// function that is called twice has its frames twice. Importer's worker thread; pure. Source:
// tensorflow/core/common_runtime/{executor,immutable_executor_state}.cc.
import { modelInvalid } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, Ref } from '../types.js';
import {
  ENTERS,
  EXITS,
  inputOf,
  MERGES,
  NEXT_ITERATIONS,
  nodeOf,
  originOf,
  placeOf,
  SWITCHES,
} from './kinds.js';

export interface LoopVariable {
  readonly merge: FlatNode;
  readonly enter: FlatNode;
  /** Value for the next iteration. */
  readonly next: Ref;
}

export interface Loop {
  readonly condition: FlatNode;
  readonly frame: string;
  readonly variables: readonly LoopVariable[];
  /** Merge's name -> index. */
  readonly indexOf: ReadonlyMap<string, number>;
  /** All Enters of the frame that the graph needs. */
  readonly enters: readonly FlatNode[];
}

/** The loops of the needed nodes. */
export class Loops {
  readonly #graph: FlatGraph;
  readonly #byCondition = new Map<string, Loop>();

  /** Errors: ModelInvalid if a loop lacks a part. */
  constructor(graph: FlatGraph, needed: ReadonlySet<string>) {
    this.#graph = graph;
    const variables = new Map<string, Map<string, LoopVariable>>();
    const entersOf = new Map<string, FlatNode[]>();
    for (const name of needed) {
      const node = graph.nodes.get(name);
      if (node === undefined) continue;
      if (ENTERS.has(node.op)) {
        const frame = frameOf(node);
        const known = entersOf.get(frame);
        if (known === undefined) entersOf.set(frame, [node]);
        else known.push(node);
      }
      const condition = this.conditionOf(node);
      if (condition === undefined) continue;
      const variable = this.#variable(node);
      const own = variables.get(condition) ?? new Map<string, LoopVariable>();
      own.set(variable.merge.name, variable);
      variables.set(condition, own);
    }
    for (const [condition, own] of variables) {
      this.#byCondition.set(condition, loopOf(nodeOf(graph, condition), own, entersOf));
    }
  }

  /** The LoopCond of a Switch; undefined for any other node. */
  conditionOf(node: FlatNode): string | undefined {
    if (!SWITCHES.has(node.op)) return undefined;
    const { node: name } = originOf(this.#graph, inputOf(node, 1));
    return this.#graph.nodes.get(name)?.op === 'LoopCond' ? name : undefined;
  }

  get(condition: string): Loop {
    const loop = this.#byCondition.get(condition);
    if (loop === undefined) throw modelInvalid(`LoopCond '${condition}' has no variables`);
    return loop;
  }

  /** The loop that an Exit leaves, and the variable that it returns. */
  exited(exit: FlatNode): { readonly loop: Loop; readonly index: number } {
    const from = originOf(this.#graph, inputOf(exit, 0));
    const node = nodeOf(this.#graph, from.node);
    const condition = this.conditionOf(node);
    if (condition === undefined || from.output !== 0) {
      throw modelInvalid(`${placeOf(exit)} does not leave a loop: its input is ${placeOf(node)}`);
    }
    const loop = this.get(condition);
    const index = loop.indexOf.get(originOf(this.#graph, inputOf(node, 0)).node);
    if (index === undefined) throw modelInvalid(`${placeOf(exit)} returns no variable of its loop`);
    return { loop, index };
  }

  #variable(node: FlatNode): LoopVariable {
    const merge = nodeOf(this.#graph, originOf(this.#graph, inputOf(node, 0)).node);
    const parts = MERGES.has(merge.op) ? mergeParts(this.#graph, merge) : undefined;
    if (parts === undefined) {
      throw modelInvalid(
        `${placeOf(node)} belongs to a loop, but its input is ${placeOf(merge)} and not a ` +
          'Merge of an Enter and a NextIteration',
      );
    }
    return { merge, enter: parts.enter, next: inputOf(parts.next, 0) };
  }
}

/**
 * The parts of a loop variable's Merge; undefined for the Merge of a condition. Errors:
 * ModelInvalid if it has only one of them.
 */
export function mergeParts(
  graph: FlatGraph,
  merge: FlatNode,
): { readonly enter: FlatNode; readonly next: FlatNode } | undefined {
  const makers = merge.inputs.map((ref) => graph.nodes.get(ref.node));
  const enter = makers.find((one) => one !== undefined && ENTERS.has(one.op));
  const next = makers.find((one) => one !== undefined && NEXT_ITERATIONS.has(one.op));
  if (enter === undefined && next === undefined) return undefined;
  if (enter === undefined || next === undefined || makers.length !== 2) {
    const ops = makers.map((one) => (one === undefined ? 'nothing' : placeOf(one))).join(', ');
    throw modelInvalid(
      `${placeOf(merge)} has inputs ${ops}; expected an Enter and a NextIteration`,
    );
  }
  return { enter, next };
}

function loopOf(
  condition: FlatNode,
  variables: ReadonlyMap<string, LoopVariable>,
  entersOf: ReadonlyMap<string, FlatNode[]>,
): Loop {
  const all = [...variables.values()];
  const frame = all[0] === undefined ? '' : frameOf(all[0].enter);
  for (const { enter } of all) {
    if (frameOf(enter) !== frame) {
      throw modelInvalid(
        `the loop of ${placeOf(condition)} has variables of the frames '${frame}' ` +
          `and '${frameOf(enter)}'`,
      );
    }
  }
  return {
    condition,
    frame,
    variables: all,
    indexOf: new Map(all.map(({ merge }, i) => [merge.name, i])),
    enters: entersOf.get(frame) ?? [],
  };
}

export function frameOf(enter: FlatNode): string {
  const value = enter.attributes.get('frame_name');
  return value?.kind === 'bytes' ? Buffer.from(value.value).toString('latin1') : '';
}

/**
 * Dependencies of a node: its data and control inputs without loops' back edges; an Exit depends on
 * all of its loop's Enters.
 */
export function needsOf(graph: FlatGraph, loops: Loops | undefined, node: FlatNode): string[] {
  const isBack = (ref: Ref): boolean =>
    MERGES.has(node.op) && NEXT_ITERATIONS.has(graph.nodes.get(ref.node)?.op ?? '');
  const needs = node.inputs.filter((ref) => !isBack(ref)).map((ref) => ref.node);
  if (loops !== undefined && EXITS.has(node.op)) {
    needs.push(...loops.exited(node).loop.enters.map(({ name }) => name));
  }
  return needs;
}
