// Lowering to our tabular operators: their inputs, and refusals by name. Their results are compared
// with TensorFlow elsewhere (conformance/tensorflow, native/operators).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe, test } from 'node:test';
import {
  OpContext,
  type Surroundings,
  UnsupportedError,
} from '../../../../../ts/importers/tensorflow/lower/context.js';
import {
  constantValue,
  GraphBuilder,
  ModelBuild,
} from '../../../../../ts/importers/tensorflow/lower/graph-builder.js';
import {
  numbersTensor,
  stringsTensor,
} from '../../../../../ts/importers/tensorflow/lower/tensors.js';
import type { TensorValue, Value } from '../../../../../ts/importers/tensorflow/lower/values.js';
import { WeightStore } from '../../../../../ts/importers/tensorflow/lower/weights.js';
import { netstrings } from '../../../../../ts/importers/tensorflow/ops/features/attributes.js';
import { FEATURES } from '../../../../../ts/importers/tensorflow/ops/features/index.js';
import type {
  Attribute,
  AttributeList,
  Dtype,
  Shape,
  TableContents,
} from '../../../../../ts/importers/tensorflow/types.js';
import type { OnnxNode } from '../../../../../ts/importers/onnx/builder.js';

const NO_LIST: AttributeList = {
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
  value: { ...NO_LIST, ...part },
});
const int = (value: bigint): Attribute => ({ kind: 'int', value });
const tensor = (name: string, dtype: Dtype, shape?: Shape): TensorValue => ({
  kind: 'tensor',
  name,
  dtype,
  shape,
});
const texts = (...values: string[]): TensorValue =>
  constantValue(stringsTensor([values.length], values));

interface Lowered {
  readonly values: readonly Value[];
  readonly nodes: readonly OnnxNode[];
  readonly described: readonly string[];
}

function lower(
  op: string,
  inputs: readonly Value[],
  attributes: Readonly<Record<string, Attribute>>,
  tables: ReadonlyMap<string, TableContents> = new Map(),
): Lowered {
  const model = new ModelBuild(new WeightStore(join(tmpdir(), 'serval-unused-weights')));
  const builder = new GraphBuilder(model);
  const around = {
    builder,
    state: { variables: new Map(), tables, blobs: new Map(), quantiles: new Map(), warnings: [] },
    warn: () => undefined,
  } as unknown as Surroundings;
  const node = {
    name: 'n',
    op,
    inputs: [],
    control: [],
    attributes: new Map(Object.entries(attributes)),
  };
  const operator = FEATURES[op];
  assert.ok(operator !== undefined, op);
  const result = operator.lower(new OpContext(node, inputs, around));
  return {
    values: [result].flat(),
    nodes: builder.nodes,
    described: model.typesOf(builder.nodes).map(({ name }) => name),
  };
}

const refuses =
  (reason: RegExp) =>
  (error: unknown): boolean =>
    error instanceof UnsupportedError && reason.test(error.reason);

const parseAttributes = {
  sparse_types: list({ types: ['string'] }),
  dense_shapes: list({ shapes: [[2], [undefined, 3]] }),
  ragged_value_types: list({}),
  ragged_split_types: list({}),
};
const defaults = [0, 1].map(() => constantValue(numbersTensor('float', [1], [0])));

describe('netstrings', () => {
  test('carry any bytes, empty ones too', () => {
    const out = netstrings([Uint8Array.from([0, 255]), '', 'é']);
    assert.deepEqual(out, {
      string: Buffer.concat([Buffer.from('2:'), Buffer.from([0, 255]), Buffer.from('0:2:é')]),
    });
  });
});

describe('ParseExampleV2', () => {
  const examples = tensor('examples', 'string', [undefined]);
  const inputs = (keys: TensorValue): Value[] => [
    examples,
    texts(),
    keys,
    texts('d', 'v'),
    texts(),
    ...defaults,
  ];

  test('gives keys, types and shapes to our operator and says the outputs', () => {
    const { values, nodes, described } = lower(
      'ParseExampleV2',
      inputs(texts('s')),
      parseAttributes,
    );
    const [node] = nodes;
    assert.equal(node?.op, 'ParseExample');
    assert.equal(node?.domain, 'serval');
    assert.deepEqual(node?.attributes?.['sparse_keys'], { string: Buffer.from('1:s') });
    assert.deepEqual(node?.attributes?.['dense_shapes'], { ints: [1, 2, 2, -1, 3] });
    assert.deepEqual(node?.attributes?.['dense_types'], { ints: [1, 1] });
    const shapes = values.map((one) => (one.kind === 'tensor' ? [one.dtype, one.shape] : one));
    assert.deepEqual(shapes, [
      ['int64', [undefined, 2]],
      ['string', [undefined]],
      ['int64', [2]],
      ['float', [undefined, 2]],
      ['float', [undefined, undefined, 3]],
    ]);
    assert.deepEqual(described, node?.outputs);
  });

  test('needs constant keys and as many types', () => {
    const free = tensor('keys', 'string', [1]);
    assert.throws(
      () => lower('ParseExampleV2', inputs(free), parseAttributes),
      refuses(/sparse_keys \(input 2\) must be a constant/),
    );
    assert.throws(
      () => lower('ParseExampleV2', inputs(texts('a', 'b')), parseAttributes),
      refuses(/2 sparse keys, but 1 types/),
    );
    const shapes = list({ shapes: [[2, undefined], [1]] });
    assert.throws(
      () =>
        lower('ParseExampleV2', inputs(texts('s')), { ...parseAttributes, dense_shapes: shapes }),
      refuses(/dynamic inner dimension/),
    );
  });
});

describe('tables', () => {
  const contents: TableContents = {
    keyDtype: 'string',
    valueDtype: 'int64',
    keys: stringsTensor([2], ['a', 'b']),
    values: numbersTensor('int64', [2], [5, 6]),
  };
  const [handle] = lower('HashTableV2', [], {}).values;
  assert.ok(handle !== undefined);
  const keys = tensor('x', 'string', [undefined, 3]);
  const fallback = constantValue(numbersTensor('int64', [], [-1]));

  test('Find reads the contents of the load', () => {
    const { values, nodes } = lower(
      'LookupTableFindV2',
      [handle, keys, fallback],
      {},
      new Map([['n', contents]]),
    );
    assert.equal(nodes[0]?.op, 'LookupFind');
    assert.equal(nodes[0]?.inputs.length, 4);
    assert.deepEqual(values[0]?.kind === 'tensor' && values[0].shape, [undefined, 3]);
  });

  test('Size is a constant', () => {
    const { values } = lower('LookupTableSizeV2', [handle], {}, new Map([['n', contents]]));
    assert.deepEqual(values[0]?.kind === 'tensor' && values[0].ints, [2]);
  });

  test('one that was never filled, or no table at all, is refused', () => {
    assert.throws(
      () => lower('LookupTableFindV2', [handle, keys, fallback], {}),
      refuses(/'n' was not initialised/),
    );
    assert.throws(
      () => lower('LookupTableFindV2', [keys, keys, fallback], {}),
      refuses(/input 0 is a tensor, expected a table/),
    );
  });
});

describe('64-bit attributes', () => {
  test('keep all their bits', () => {
    const big = 2n ** 62n + 1n;
    const { nodes } = lower('StringToHashBucketStrong', [tensor('x', 'string')], {
      num_buckets: int(big),
      key: list({ ints: [big, -1n] }),
    });
    assert.deepEqual(nodes[0]?.attributes, {
      num_buckets: { int: big },
      key: { ints: [big, -1n] },
    });
  });

  test('those that are missing, and methods that we do not have, are refused', () => {
    assert.throws(
      () => lower('StringToHashBucketFast', [tensor('x', 'string')], {}),
      refuses(/attribute num_buckets is missing/),
    );
    assert.throws(
      () => lower('Fingerprint', [tensor('x', 'string', [2]), texts('md5')], {}),
      refuses(/only the method farmhash64/),
    );
  });
});
