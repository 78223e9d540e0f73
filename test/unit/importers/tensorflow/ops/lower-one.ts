// Lowers one node without a surrounding graph, for tests of the shapes and known integers that
// lowerings declare, and of their refusals.
import {
  OpContext,
  UnsupportedError,
} from '../../../../../ts/importers/tensorflow/lower/context.js';
import {
  constantValue,
  GraphBuilder,
  ModelBuild,
} from '../../../../../ts/importers/tensorflow/lower/graph-builder.js';
import { numbersTensor } from '../../../../../ts/importers/tensorflow/lower/tensors.js';
import type { TensorValue, Value } from '../../../../../ts/importers/tensorflow/lower/values.js';
import { WeightStore } from '../../../../../ts/importers/tensorflow/lower/weights.js';
import { OPERATORS } from '../../../../../ts/importers/tensorflow/ops/index.js';
import type {
  Attribute,
  Dtype,
  Initialised,
  Shape,
} from '../../../../../ts/importers/tensorflow/types.js';

/** A tensor that is unknown, or known only in some integers. */
export function tensor(
  dtype: Dtype,
  shape: Shape,
  ints?: readonly (number | undefined)[],
): TensorValue {
  const known = ints === undefined ? {} : { ints };
  return { kind: 'tensor', dtype, shape, name: 'given', ...known };
}

export const constant = (
  dtype: Dtype,
  shape: readonly number[],
  values: readonly number[],
): TensorValue => constantValue(numbersTensor(dtype, shape, values));

export interface Lowered {
  readonly values: readonly TensorValue[];
  /** The added ONNX operators, in order. */
  readonly nodes: readonly string[];
  readonly warnings: readonly string[];
}

export function lowerOne(
  op: string,
  inputs: readonly Value[],
  attributes: Readonly<Record<string, Attribute>> = {},
  forests: Initialised['forests'] = new Map(),
): Lowered {
  const builder = new GraphBuilder(new ModelBuild(new WeightStore('')));
  const warnings: string[] = [];
  const none = (): never => {
    throw new Error('not in these tests');
  };
  const cx = new OpContext(
    { name: 'node', op, inputs: [], control: [], attributes: new Map(Object.entries(attributes)) },
    inputs,
    {
      builder,
      variableKey: none,
      function: none,
      subgraph: none,
      readVariable: none,
      assignVariable: none,
      inline: none,
      nested: none,
      within: none,
      assignedBy: none,
      state: {
        variables: new Map(),
        tables: new Map(),
        blobs: new Map(),
        quantiles: new Map(),
        forests,
        warnings: [],
      },
      warn: (text) => warnings.push(text),
    },
  );
  const operator = OPERATORS[op];
  if (operator === undefined) throw new Error(`no operator ${op}`);
  const values = [operator.lower(cx)].flat();
  return {
    values: values.map((one) => cx.asTensor(one, 0)),
    warnings,
    nodes: builder.nodes.map((node) => node.op),
  };
}

/** The reason why the node cannot be lowered. */
export function refusal(...given: Parameters<typeof lowerOne>): string {
  try {
    lowerOne(...given);
  } catch (error) {
    if (error instanceof UnsupportedError) return error.reason;
    throw error;
  }
  throw new Error('expected a refusal');
}

export const int = (value: number): Attribute => ({ kind: 'int', value: BigInt(value) });
export const bool = (value: boolean): Attribute => ({ kind: 'bool', value });
export const type = (value: Dtype): Attribute => ({ kind: 'type', value });
export const text = (value: string): Attribute => ({ kind: 'bytes', value: Buffer.from(value) });
export const ints = (values: readonly number[]): Attribute => ({
  kind: 'list',
  value: {
    bytes: [],
    ints: values.map(BigInt),
    floats: [],
    bools: [],
    types: [],
    shapes: [],
    tensors: [],
    functions: [],
  },
});
