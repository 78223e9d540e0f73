// Models of TensorFlow Decision Forests, as loaded from the assets: ONNX's trees find the leaves,
// whose numbers are added in YDF's own order. Importer's worker thread. Source:
// tensorflow_decision_forests/tensorflow/ops/inference/kernel.cc.
import { COLUMN_TYPE, TASK } from '../../../../protobuf/generated/yggdrasil-fields.js';
import type { Ensemble } from '../../../ydf/ensemble.js';
import { linkOf } from '../../../ydf/link.js';
import { isNumerical } from '../../../ydf/messages.js';
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { stringsTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import type { LoadedForest } from '../../types.js';
import { predictions } from './answers.js';
import { type Bank, Columns } from './columns.js';
import { leavesOf } from './leaves.js';
import { sumsOf } from './sums.js';

const FOREST = 'decision forest';
const HANDLE = 6;

const handle: Lowering = (cx) => ({ kind: 'opaque', what: FOREST, data: cx.node.name });

function forestOf(cx: OpContext): LoadedForest {
  const value = cx.input(HANDLE);
  if (value.kind !== 'opaque' || value.what !== FOREST) {
    const given = value.kind === 'opaque' ? value.what : value.kind;
    return cx.fail(`input ${HANDLE} is a ${given}, expected a ${FOREST}`);
  }
  const name = String(value.data);
  return (
    cx.around.state.forests.get(name) ??
    cx.fail(`the model '${name}' was not loaded when the SavedModel was loaded`)
  );
}

/** Input `index`, whose columns are `features`, checked; undefined if there are none. */
function bankOf(cx: OpContext, index: number, name: string, features: readonly number[]): Bank {
  const value = cx.tensor(index);
  const { length } = features;
  const width = value.shape?.[1];
  if (value.shape !== undefined && value.shape.length !== 2) {
    cx.fail(`${name}: expected rank 2, got ${value.shape.length}`);
  }
  if (width !== undefined && width !== length) {
    cx.fail(`${name}: expected ${length} columns, got ${width}`);
  }
  return { features, value: length === 0 ? undefined : value };
}

/** The input's columns by kind, in the order of the model's features. */
function columnsOf(cx: OpContext, { header, columns }: Ensemble): Columns {
  const kinds = { numerical: [] as number[], boolean: [] as number[], categorical: [] as number[] };
  for (const feature of header.features) {
    const spec = columns[feature];
    if (spec === undefined) return cx.fail(`feature ${feature} is not in the data_spec`);
    if (isNumerical(spec)) kinds.numerical.push(feature);
    else if (spec.type === COLUMN_TYPE.BOOLEAN) kinds.boolean.push(feature);
    else if (spec.type === COLUMN_TYPE.CATEGORICAL) kinds.categorical.push(feature);
    else {
      const [type = String(spec.type)] =
        Object.entries(COLUMN_TYPE).find(([, number]) => number === spec.type) ?? [];
      cx.fail(`feature '${spec.name}': features of type ${type} are not supported`);
    }
  }
  return new Columns(cx, columns, {
    numerical: bankOf(cx, 0, 'numerical_features', kinds.numerical),
    boolean: bankOf(cx, 1, 'boolean_features', kinds.boolean),
    categorical: bankOf(cx, 2, 'categorical_int_features', kinds.categorical),
  });
}

/** Runs `make`; what it refuses of the model fails the lowering. */
function refusing<T>(cx: OpContext, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return cx.fail(error.message);
    throw error;
  }
}

/** The names of the predictions' columns. */
function representation({ header, trees, classes }: Ensemble): readonly string[] {
  if (header.task !== TASK.CLASSIFICATION) return [''];
  const isLogit = header.name === 'GRADIENT_BOOSTED_TREES' && trees.outputsLogits;
  if (classes.length === 2 && isLogit) return ['logit'];
  return classes.map((text, i) => text ?? String(i + 1));
}

const predict: Lowering = (cx) => {
  const { ensemble, isGeneral } = forestOf(cx);
  const names = representation(ensemble);
  const width = cx.int('dense_output_dim');
  if (names.length !== width) {
    cx.fail(`dense_output_dim: expected ${names.length}, the outputs of the model, got ${width}`);
  }
  const values = refusing(cx, (): TensorValue => {
    linkOf(ensemble);
    const columns = columnsOf(cx, ensemble);
    const sums = sumsOf(cx, ensemble, isGeneral, leavesOf(cx, ensemble, columns));
    return predictions(cx, ensemble, sums, width);
  });
  return [values, cx.constant(stringsTensor([width], names))];
};

const leaves: Lowering = (cx) => {
  const { ensemble } = forestOf(cx);
  const found = refusing(cx, () => leavesOf(cx, ensemble, columnsOf(cx, ensemble)));
  return cx.cast(found.inTree, 'int32');
};

const note = 'the model from load time; no sets of categories';

export const FORESTS: Operators = {
  SimpleMLCreateModelResource: { lower: handle, dtypes: 'any' },
  SimpleMLInferenceOpWithHandle: { lower: predict, dtypes: 'float', note },
  SimpleMLInferenceLeafIndexOpWithHandle: { lower: leaves, dtypes: 'float', note },
};
