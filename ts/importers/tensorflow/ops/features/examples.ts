// Parsing of tf.train.Example: ParseExample in its three forms, by one of Serval's own operators.
// Names of examples (for error texts only) are not passed on. Importer's worker thread. Source:
// tensorflow/core/ops/parsing_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OutputSpec } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype, Shape } from '../../types.js';
import { netstrings, requireStrings, typeNumbers } from './attributes.js';

export type Keys = readonly Uint8Array[];

/** The requested features of the examples. */
export interface ParseSpec {
  readonly serialized: TensorValue;
  readonly sparse: Keys;
  readonly sparseTypes: readonly Dtype[];
  readonly dense: Keys;
  readonly denseShapes: readonly Shape[];
  readonly defaults: readonly TensorValue[];
  readonly ragged: Keys;
  readonly raggedTypes: readonly Dtype[];
  readonly splitTypes: readonly Dtype[];
}

/** Rank and dims of each: -1 if the first one is dynamic. */
export function denseShapes(cx: OpContext, shapes: readonly Shape[]): number[] {
  return shapes.flatMap((shape) => {
    if (shape === undefined) return cx.fail('a dense shape of unknown rank');
    if (shape.slice(1).includes(undefined))
      return cx.fail('a dense shape with a dynamic inner dimension');
    return [shape.length, ...shape.map((dim) => dim ?? -1)];
  });
}

function checkCounts(cx: OpContext, spec: ParseSpec): void {
  const pairs: [string, number, number][] = [
    ['sparse', spec.sparse.length, spec.sparseTypes.length],
    ['dense', spec.dense.length, spec.denseShapes.length],
    ['dense', spec.dense.length, spec.defaults.length],
    ['ragged', spec.ragged.length, spec.raggedTypes.length],
    ['ragged', spec.ragged.length, spec.splitTypes.length],
  ];
  for (const [word, keys, types] of pairs) {
    if (keys !== types) cx.fail(`${keys} ${word} keys, but ${types} types, shapes or defaults`);
  }
}

/** Indices, values and shapes of the sparse ones; the dense ones; values and row splits of the
 * ragged ones. */
export function parse(cx: OpContext, spec: ParseSpec): TensorValue[] {
  checkCounts(cx, spec);
  const { serialized } = spec;
  const batch = serialized.shape;
  const rank = batch === undefined ? undefined : batch.length + 1;
  const all = (types: readonly Dtype[], shape: Shape): OutputSpec[] =>
    types.map((dtype) => ({ dtype, shape }));
  const denseSpec = (value: TensorValue, i: number): OutputSpec => {
    const shape = spec.denseShapes[i];
    const known = batch === undefined || shape === undefined ? undefined : [...batch, ...shape];
    return { dtype: value.dtype, shape: known };
  };
  const longs = spec.sparse.map((): Dtype => 'int64');
  const outputs = [
    ...all(longs, [undefined, rank]),
    ...all(spec.sparseTypes, [undefined]),
    ...all(longs, [rank]),
    ...spec.defaults.map(denseSpec),
    ...all(spec.raggedTypes, [undefined]),
    ...all(spec.splitTypes, [undefined]),
  ];
  return cx.custom('ParseExample', [serialized, ...spec.defaults], outputs, {
    sparse_keys: netstrings(spec.sparse),
    sparse_types: typeNumbers(spec.sparseTypes),
    dense_keys: netstrings(spec.dense),
    dense_types: typeNumbers(spec.defaults.map(({ dtype }) => dtype)),
    dense_shapes: { ints: denseShapes(cx, spec.denseShapes) },
    ragged_keys: netstrings(spec.ragged),
    ragged_types: typeNumbers(spec.raggedTypes),
    ragged_split_types: typeNumbers(spec.splitTypes),
  });
}

export const NO_RAGGED = { ragged: [], raggedTypes: [], splitTypes: [] } as const;

const parseExample: Lowering = (cx) => {
  const sparseCount = cx.int('Nsparse');
  const denseCount = cx.int('Ndense');
  const keys = (from: number, count: number): Keys =>
    Array.from({ length: count }, (_, i) => requireStrings(cx, from + i, 'a key')).flat();
  const defaultsAt = 2 + sparseCount + denseCount;
  return parse(cx, {
    serialized: cx.tensor(0),
    sparse: keys(2, sparseCount),
    sparseTypes: cx.list('sparse_types').types,
    dense: keys(2 + sparseCount, denseCount),
    denseShapes: cx.list('dense_shapes').shapes,
    defaults: cx.tensors(defaultsAt, defaultsAt + denseCount),
    ...NO_RAGGED,
  });
};

const parseExampleV2: Lowering = (cx) =>
  parse(cx, {
    serialized: cx.tensor(0),
    sparse: requireStrings(cx, 2, 'sparse_keys'),
    sparseTypes: cx.list('sparse_types').types,
    dense: requireStrings(cx, 3, 'dense_keys'),
    denseShapes: cx.list('dense_shapes').shapes,
    ragged: requireStrings(cx, 4, 'ragged_keys'),
    defaults: cx.tensors(5),
    raggedTypes: cx.list('ragged_value_types').types,
    splitTypes: cx.list('ragged_split_types').types,
  });

const parseSingleExample: Lowering = (cx) =>
  parse(cx, {
    serialized: cx.tensor(0),
    sparse: cx.list('sparse_keys').bytes,
    sparseTypes: cx.list('sparse_types').types,
    dense: cx.list('dense_keys').bytes,
    denseShapes: cx.list('dense_shapes').shapes,
    defaults: cx.tensors(1),
    ...NO_RAGGED,
  });

const FEATURES = 'string in; float, int64, string out';

export const EXAMPLES: Operators = {
  ParseExample: { lower: parseExample, dtypes: FEATURES },
  ParseExampleV2: { lower: parseExampleV2, dtypes: FEATURES },
  ParseSingleExample: { lower: parseSingleExample, dtypes: FEATURES },
};
