// Converts golden cases with channels last to cases with channels first. TensorFlow's CPU kernels
// have no such form, so its results are transposed as well.
import { numbersTensor } from '../../../../ts/importers/tensorflow/lower/tensors.js';
import type {
  Attribute,
  AttributeList,
  NodeDef,
} from '../../../../ts/importers/tensorflow/types.js';
import type { GoldenCase, GoldenGroup } from './golden-files.js';

const SUFFIX = '/channels_first';

const int = (value: number): Attribute => ({ kind: 'int', value: BigInt(value) });
const bytes = (text: string): Attribute => ({ kind: 'bytes', value: Buffer.from(text) });

/** Inputs that have channels, and inputs that are sizes over all axes. */
const OPERANDS: Readonly<Record<string, { turned: number; sizes?: number }>> = {
  Conv2DBackpropInput: { turned: 2, sizes: 0 },
  Conv3DBackpropInputV2: { turned: 2, sizes: 0 },
};

/** [N, spatial..., C] to [N, C, spatial...], by position. */
const order = (rank: number): number[] => [
  0,
  rank - 1,
  ...Array.from({ length: rank - 2 }, (_, i) => i + 1),
];
const orderBack = (rank: number): number[] => [
  0,
  ...Array.from({ length: rank - 2 }, (_, i) => i + 2),
  1,
];

/** Reorders per-axis lists; explicit_paddings has two numbers per axis. */
function turnedList(name: string, list: AttributeList, rank: number): AttributeList {
  const width = name === 'explicit_paddings' ? 2 : 1;
  if (list.ints.length !== rank * width) return list;
  const ints = order(rank).flatMap((axis) => list.ints.slice(axis * width, (axis + 1) * width));
  return { ...list, ints };
}

const PER_AXIS = ['strides', 'dilations', 'ksize', 'explicit_paddings'];

/** The nodes that replace one: its operands transposed, its first output transposed back. */
function turnedNode(node: NodeDef, rank: number): NodeDef[] {
  const { turned, sizes } = OPERANDS[node.op] ?? { turned: 0 };
  const added: NodeDef[] = [];
  const constant = (name: string, values: readonly number[], shape = [values.length]): string => {
    const value: Attribute = { kind: 'tensor', value: numbersTensor('int32', shape, values) };
    const dtype: Attribute = { kind: 'type', value: 'int32' };
    const attributes = new Map<string, Attribute>([
      ['value', value],
      ['dtype', dtype],
    ]);
    added.push({ name: node.name + name, op: 'Const', inputs: [], attributes });
    return node.name + name;
  };
  const transpose = (name: string, input: string, perm: readonly number[]): string => {
    const inputs = [input, constant(`${name}/perm`, perm)];
    added.push({ name, op: 'Transpose', inputs, attributes: new Map() });
    return name;
  };
  const inputs = node.inputs.map((input, i) => {
    if (i === turned) return transpose(`${node.name}/turned`, input, order(rank));
    if (i !== sizes) return input;
    const name = `${node.name}/sizes`;
    const operands = [input, constant('/order', order(rank)), constant('/axis', [0], [])];
    const attributes = new Map<string, Attribute>([['batch_dims', int(0)]]);
    added.push({ name, op: 'GatherV2', inputs: operands, attributes });
    return name;
  });
  const attributes = new Map(node.attributes);
  attributes.set('data_format', bytes(rank === 5 ? 'NCDHW' : 'NCHW'));
  for (const name of PER_AXIS) {
    const given = attributes.get(name);
    if (given?.kind !== 'list') continue;
    attributes.set(name, { kind: 'list', value: turnedList(name, given.value, rank) });
  }
  const inner: NodeDef = { ...node, name: node.name + SUFFIX, inputs, attributes };
  transpose(node.name, `${node.name}${SUFFIX}`, orderBack(rank));
  return [...added, inner];
}

/** The group's cases that TensorFlow accepts, with channels first inside. */
export function channelsFirst({ name, graph, cases }: GoldenGroup): GoldenGroup {
  const kept = cases.filter(({ expectError }) => expectError === undefined);
  const ranks = new Map(kept.map((one) => [`${one.name}/op`, rankOf(one)]));
  const nodes = graph.nodes.flatMap((node) => {
    const rank = ranks.get(node.name);
    return rank === undefined || node.op !== name ? [node] : turnedNode(node, rank);
  });
  return { name, graph: { ...graph, nodes }, cases: kept };
}

function rankOf({ fetches }: GoldenCase): number {
  const [first] = Object.values(fetches);
  return first?.shape.length ?? 0;
}
