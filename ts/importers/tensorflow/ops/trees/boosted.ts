// Boosted trees of estimators (TensorFlow 1.15 to 2.8): ensembles and buckets as loaded, by
// Serval's own operators. Source: tensorflow/core/kernels/boosted_trees. Importer's worker thread.
import { ServalError } from '../../../../base/errors.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OpaqueValue } from '../../lower/values.js';
import { type Ensemble, readEnsemble } from './ensemble.js';

type Resource = 'tree ensemble' | 'stream of quantiles';

const handle =
  (what: Resource): Lowering =>
  (cx) => ({ kind: 'opaque', what, data: cx.node.name });

/** The contents of input 0. */
function resource<T>(cx: OpContext, what: Resource, from: ReadonlyMap<string, T>): T {
  const value = cx.input(0);
  const given = value.kind === 'opaque' ? (value as OpaqueValue).what : value.kind;
  if (given !== what) return cx.fail(`input 0 is a ${given}, expected a ${what}`);
  const name = String((value as OpaqueValue).data);
  return (
    from.get(name) ?? cx.fail(`the ${what} '${name}' was not initialised when the model was loaded`)
  );
}

function ensembleOf(cx: OpContext): Ensemble {
  const bytes = resource(cx, 'tree ensemble', cx.around.state.blobs);
  try {
    return readEnsemble(bytes);
  } catch (error) {
    if (error instanceof ServalError) return cx.fail(error.message);
    throw error;
  }
}

const predict: Lowering = (cx) => {
  const width = cx.int('logits_dimension');
  const trees = ensembleOf(cx);
  const odd = trees.leaves.findIndex((values) => values.length !== width);
  if (odd >= 0) {
    cx.fail(`leaf ${odd} has ${trees.leaves[odd]?.length} values, expected ${width}`);
  }
  const features = cx.tensors(1).map((feature) => cx.cast(feature, 'int32'));
  const rows = features.find(({ shape }) => shape?.[0] !== undefined)?.shape?.[0];
  return cx.custom('BoostedTreesPredict', features, [{ dtype: 'float', shape: [rows, width] }], {
    logits_dimension: { int: width },
    tree_sizes: { ints: trees.treeSizes },
    tree_weights: { floats: trees.treeWeights },
    kinds: { ints: trees.kinds },
    features: { ints: trees.features },
    dimensions: { ints: trees.dimensions },
    values: { ints: trees.values },
    lefts: { ints: trees.lefts },
    rights: { ints: trees.rights },
    leaves: { floats: trees.leaves.flat() },
  });
};

const bucketize: Lowering = (cx) => {
  const count = cx.int('num_features');
  const [values, boundaries] = [cx.tensors(0, count), cx.tensors(count)];
  return values.flatMap((value, i) =>
    cx.custom(
      'BoostedTreesBucketize',
      [value, boundaries[i]],
      [{ dtype: 'int32', shape: [value.shape?.[0]] }],
    ),
  );
};

const boundaries: Lowering = (cx) => {
  const found = resource(cx, 'stream of quantiles', cx.around.state.quantiles);
  const count = cx.int('num_features');
  if (found.length !== count) {
    cx.fail(`num_features: expected ${found.length}, the features of the stream, got ${count}`);
  }
  return found.map((one) => cx.constant(one));
};

/** Whether a resource exists: always, because the load checks it. */
const initialised: Lowering = (cx) => cx.scalar('bool', 1);

const note = 'the contents from load time';

export const BOOSTED_TREES: Operators = {
  BoostedTreesEnsembleResourceHandleOp: { lower: handle('tree ensemble'), dtypes: 'any' },
  BoostedTreesQuantileStreamResourceHandleOp: {
    lower: handle('stream of quantiles'),
    dtypes: 'any',
  },
  IsBoostedTreesEnsembleInitialized: { lower: initialised, dtypes: 'any' },
  IsBoostedTreesQuantileStreamResourceInitialized: { lower: initialised, dtypes: 'any' },
  BoostedTreesPredict: { lower: predict, dtypes: 'int32', note },
  BoostedTreesBucketize: { lower: bucketize, dtypes: 'float' },
  BoostedTreesQuantileStreamResourceGetBucketBoundaries: {
    lower: boundaries,
    dtypes: 'any',
    note,
  },
};
