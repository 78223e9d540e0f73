// Hand-written graphs of TensorFlow 1's control flow, and an evaluator of the converted graphs:
// numbers only, so that a test can compare values instead of the shape of the graph.
import assert from 'node:assert/strict';
import { functionalGraph } from '../../../../../ts/importers/tensorflow/control-flow/index.js';
import { madeFunction } from '../../../../../ts/importers/tensorflow/control-flow/made-functions.js';
import type {
  Attribute,
  FlatFunction,
  FlatGraph,
  FlatNode,
  Ref,
} from '../../../../../ts/importers/tensorflow/types.js';

export function refOf(text: string): Ref {
  const [node = '', output = '0'] = text.split(':');
  return { node, output: Number(output) };
}

/** Lines "name op input input:1 ^control"; an Enter is written "Enter@frame". */
export function graphOf(...lines: readonly string[]): FlatGraph {
  return {
    nodes: new Map(
      lines.map((line) => {
        const node = nodeOf(line);
        return [node.name, node];
      }),
    ),
  };
}

function nodeOf(line: string): FlatNode {
  const [name = '', spelled = '', ...inputs] = line.split(' ');
  const [op = '', frame] = spelled.split('@');
  const attributes = new Map<string, Attribute>();
  if (frame !== undefined) {
    attributes.set('frame_name', { kind: 'bytes', value: new Uint8Array(Buffer.from(frame)) });
  }
  return {
    name,
    op,
    attributes,
    inputs: inputs.filter((input) => !input.startsWith('^')).map(refOf),
    control: inputs.filter((input) => input.startsWith('^')).map((input) => input.slice(1)),
  };
}

/** "n" is the number n; other names are fed or made by a node. */
export type Feeds = Readonly<Record<string, number>>;

/** The values of `roots` ("a b:1"), computed from the graph without TensorFlow 1's operators. */
export function valuesOf(graph: FlatGraph, roots: string, feeds: Feeds = {}): number[] {
  const fed = (ref: Ref): boolean =>
    Object.hasOwn(feeds, `${ref.node}:${ref.output}`) ||
    (ref.output === 0 && Object.hasOwn(feeds, ref.node));
  const made = functionalGraph(graph, roots.split(' ').map(refOf), [], {
    hasEffect: (name) => graph.nodes.get(name)?.op === 'Assign',
    isFed: fed,
  });
  const frame: Frame = { graph: made.graph, known: new Map() };
  for (const [name, value] of Object.entries(feeds)) {
    const { node, output } = refOf(name);
    frame.known.set(`${node}:${output}`, value);
  }
  return made.roots.map((ref) => valueOf(frame, ref));
}

interface Frame {
  readonly graph: FlatGraph;
  readonly known: Map<string, number>;
}

const ROUNDS_MAX = 100;

const PURE: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Add: ([a = 0, b = 0]) => a + b,
  Mul: ([a = 0, b = 0]) => a * b,
  Less: ([a = 0, b = 0]) => Number(a < b),
  Not: ([a = 0]) => Number(a === 0),
  Identity: ([a = 0]) => a,
};

function valueOf(frame: Frame, ref: Ref): number {
  const key = `${ref.node}:${ref.output}`;
  const known = frame.known.get(key);
  if (known !== undefined) return known;
  const node = frame.graph.nodes.get(ref.node);
  assert.ok(node !== undefined, `no node ${ref.node}`);
  outputsOf(frame, node).forEach((value, output) =>
    frame.known.set(`${ref.node}:${output}`, value),
  );
  return frame.known.get(key) ?? assert.fail(`${ref.node} has no output ${ref.output}`);
}

function outputsOf(frame: Frame, node: FlatNode): number[] {
  const inputs = (): number[] => node.inputs.map((ref) => valueOf(frame, ref));
  if (node.op === 'Const') return [constantOf(node)];
  if (node.op === 'StatelessIf') {
    const [condition, ...args] = inputs();
    return call(functionOf(node, condition ? 'then_branch' : 'else_branch'), args);
  }
  if (node.op === 'StatelessWhile') {
    let values = inputs();
    for (let round = 0; call(functionOf(node, 'cond'), values)[0]; round++) {
      assert.ok(round < ROUNDS_MAX, `loop ${node.name} does not end`);
      values = call(functionOf(node, 'body'), values);
    }
    return values;
  }
  const pure = PURE[node.op];
  assert.ok(pure !== undefined, `${node.op} '${node.name}' is left`);
  return [pure(inputs())];
}

/** A Merge's index is a real constant; the tests' constants have their number in the name. */
function constantOf({ name, attributes }: FlatNode): number {
  const value = attributes.get('value');
  if (value?.kind === 'tensor' && value.value.data.kind === 'bytes') {
    return value.value.data.bytes[0] ?? 0;
  }
  return Number(/\d+$/.exec(name)?.[0]);
}

function functionOf(node: FlatNode, name: string): FlatFunction {
  const attribute = node.attributes.get(name);
  const made = attribute?.kind === 'function' ? madeFunction(attribute.value) : undefined;
  return made ?? assert.fail(`${node.name} has no ${name}`);
}

function call(body: FlatFunction, args: readonly number[]): number[] {
  const frame: Frame = { graph: body, known: new Map() };
  assert.equal(body.args.length, args.length, body.name);
  body.args.forEach((name, i) => frame.known.set(`${name}:0`, args[i] ?? NaN));
  return body.returns.map((ref) => valueOf(frame, ref));
}

/**
 * A loop "while (i < limit) { i += 1; x = step(x) }" of frame `name`, whose result is
 * `${name}/x_out`. `limit` and `x` are values outside of it; `body` adds the nodes that make
 * `${name}/x_step` from `${name}/x_in`.
 */
export function loopLines(
  name: string,
  limit: string,
  x: string,
  body: readonly string[],
  frame = name,
): string[] {
  return [
    `${name}/c0 Const`,
    `${name}/c1 Const ^${name}/i_in`,
    `${name}/i_enter Enter@${frame} ${name}/c0`,
    `${name}/x_enter Enter@${frame} ${x}`,
    `${name}/limit Enter@${frame} ${limit}`,
    `${name}/i Merge ${name}/i_enter ${name}/i_next`,
    `${name}/x Merge ${name}/x_enter ${name}/x_next`,
    `${name}/less Less ${name}/i ${name}/limit`,
    `${name}/cond LoopCond ${name}/less`,
    `${name}/i_switch Switch ${name}/i ${name}/cond`,
    `${name}/x_switch Switch ${name}/x ${name}/cond`,
    `${name}/i_in Identity ${name}/i_switch:1`,
    `${name}/x_in Identity ${name}/x_switch:1`,
    `${name}/i_step Add ${name}/i_in ${name}/c1`,
    ...body,
    `${name}/i_next NextIteration ${name}/i_step`,
    `${name}/x_next NextIteration ${name}/x_step`,
    `${name}/i_out Exit ${name}/i_switch`,
    `${name}/x_out Exit ${name}/x_switch`,
  ];
}

/** Lines without those that begin with one of these names. */
export const without = (lines: readonly string[], ...names: readonly string[]): string[] =>
  lines.filter((line) => !names.includes(line.split(' ')[0] ?? ''));

/** Lines with one of them replaced. */
export const replaced = (lines: readonly string[], line: string): string[] => [
  ...without(lines, line.split(' ')[0] ?? ''),
  line,
];
