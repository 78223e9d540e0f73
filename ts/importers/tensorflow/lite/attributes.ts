// Attributes of the nodes that a TensorFlow Lite operator becomes. Importer's worker thread; pure.
import type { Attribute, AttributeList, Dtype, Shape, Tensor } from '../types.js';

const NONE: AttributeList = {
  bytes: [],
  ints: [],
  floats: [],
  bools: [],
  types: [],
  shapes: [],
  tensors: [],
  functions: [],
};

const list = (part: Partial<AttributeList>): Attribute => ({
  kind: 'list',
  value: { ...NONE, ...part },
});

export const int = (value: number): Attribute => ({ kind: 'int', value: BigInt(value) });
export const float = (value: number): Attribute => ({ kind: 'float', value });
export const bool = (value: boolean): Attribute => ({ kind: 'bool', value });
export const type = (value: Dtype): Attribute => ({ kind: 'type', value });
export const shape = (value: Shape): Attribute => ({ kind: 'shape', value });
export const tensor = (value: Tensor): Attribute => ({ kind: 'tensor', value });
export const text = (value: string): Attribute => ({ kind: 'bytes', value: Buffer.from(value) });
export const ints = (values: readonly number[]): Attribute => list({ ints: values.map(BigInt) });
export const floats = (values: readonly number[]): Attribute => list({ floats: values });
export const types = (values: readonly Dtype[]): Attribute => list({ types: values });
export const shapes = (values: readonly Shape[]): Attribute => list({ shapes: values });
export const functionRef = (name: string): Attribute => ({
  kind: 'function',
  value: { name, attributes: new Map() },
});
