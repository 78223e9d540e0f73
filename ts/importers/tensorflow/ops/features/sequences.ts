// Parsing of tf.train.SequenceExample: its context is parsed as an Example (ParseExample), its
// feature lists by another of Serval's own operators. Importer's worker thread. Source:
// tensorflow/core/ops/parsing_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OutputSpec } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype, Shape } from '../../types.js';
import { netstrings, requireStrings, typeNumbers } from './attributes.js';
import { denseShapes, type Keys, NO_RAGGED, parse } from './examples.js';

interface ListsSpec {
  readonly sparse: Keys;
  readonly dense: Keys;
  readonly ragged: Keys;
  readonly raggedTypes: readonly Dtype[];
  readonly splitTypes: readonly Dtype[];
  /** 1 for each dense key that may be absent. */
  readonly mayMiss: readonly number[];
}

function parseLists(cx: OpContext, serialized: TensorValue, spec: ListsSpec): TensorValue[] {
  const sparseTypes = cx.list('feature_list_sparse_types').types;
  const denseTypes = cx.list('feature_list_dense_types').types;
  const shapes = cx.list('feature_list_dense_shapes').shapes;
  const batch = serialized.shape;
  const rank = batch === undefined ? undefined : batch.length + 2;
  const all = (types: readonly Dtype[], shape: Shape): OutputSpec[] =>
    types.map((dtype) => ({ dtype, shape }));
  // A scalar's outer splits are a scalar, too.
  const outer = batch === undefined ? undefined : [undefined];
  const longs = (keys: Keys): Dtype[] => keys.map(() => 'int64');
  const outputs = [
    ...all(longs(spec.sparse), [undefined, rank]),
    ...all(sparseTypes, [undefined]),
    ...all(longs(spec.sparse), [rank]),
    ...denseTypes.map((dtype, i) => {
      const inner = shapes[i];
      const known =
        batch === undefined || inner === undefined ? undefined : [...batch, undefined, ...inner];
      return { dtype, shape: known };
    }),
    ...all(longs(spec.dense), batch),
    ...all(spec.raggedTypes, [undefined]),
    ...all(spec.splitTypes, batch?.length === 0 ? [] : outer),
    ...all(spec.splitTypes, [undefined]),
  ];
  return cx.custom('ParseFeatureLists', [serialized], outputs, {
    sparse_keys: netstrings(spec.sparse),
    sparse_types: typeNumbers(sparseTypes),
    dense_keys: netstrings(spec.dense),
    dense_types: typeNumbers(denseTypes),
    dense_shapes: { ints: denseShapes(cx, shapes) },
    ragged_keys: netstrings(spec.ragged),
    ragged_types: typeNumbers(spec.raggedTypes),
    ragged_split_types: typeNumbers(spec.splitTypes),
    missing_assumed_empty: { ints: spec.mayMiss },
  });
}

const parseSequence: Lowering = (cx) => {
  const serialized = cx.tensor(0);
  const keys = (name: string): Keys => cx.list(name).bytes;
  const context = parse(cx, {
    serialized,
    sparse: keys('context_sparse_keys'),
    sparseTypes: cx.list('context_sparse_types').types,
    dense: keys('context_dense_keys'),
    denseShapes: cx.list('context_dense_shapes').shapes,
    defaults: cx.tensors(2),
    ...NO_RAGGED,
  });
  const dense = keys('feature_list_dense_keys');
  const text = (key: Uint8Array): string => Buffer.from(key).toString('latin1');
  const mayMiss = new Set(keys('feature_list_dense_missing_assumed_empty').map(text));
  return [
    ...context,
    ...parseLists(cx, serialized, {
      sparse: keys('feature_list_sparse_keys'),
      dense,
      ...NO_RAGGED,
      mayMiss: dense.map((key) => (mayMiss.has(text(key)) ? 1 : 0)),
    }),
  ];
};

const parseSequenceV2: Lowering = (cx) => {
  const serialized = cx.tensor(0);
  const context = parse(cx, {
    serialized,
    sparse: requireStrings(cx, 2, 'context_sparse_keys'),
    sparseTypes: cx.list('context_sparse_types').types,
    dense: requireStrings(cx, 3, 'context_dense_keys'),
    denseShapes: cx.list('context_dense_shapes').shapes,
    defaults: cx.tensors(9),
    ragged: requireStrings(cx, 4, 'context_ragged_keys'),
    raggedTypes: cx.list('context_ragged_value_types').types,
    splitTypes: cx.list('context_ragged_split_types').types,
  });
  return [
    ...context,
    ...parseLists(cx, serialized, {
      sparse: requireStrings(cx, 5, 'feature_list_sparse_keys'),
      dense: requireStrings(cx, 6, 'feature_list_dense_keys'),
      ragged: requireStrings(cx, 7, 'feature_list_ragged_keys'),
      raggedTypes: cx.list('feature_list_ragged_value_types').types,
      splitTypes: cx.list('feature_list_ragged_split_types').types,
      mayMiss: cx.requireNumbers(8, 'feature_list_dense_missing_assumed_empty'),
    }),
  ];
};

const FEATURES = 'string in; float, int64, string out';

export const SEQUENCES: Operators = {
  ParseSequenceExample: { lower: parseSequence, dtypes: FEATURES },
  ParseSequenceExampleV2: { lower: parseSequenceV2, dtypes: FEATURES },
};
