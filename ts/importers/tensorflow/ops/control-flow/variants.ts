// Ragged tensors that TensorFlow encodes as variants (map_fn over and to ragged tensors), and lists
// of them: each part is a list whose items differ in shape. Importer's worker thread. Source:
// tensorflow/core/kernels/ragged_tensor_to_variant_op.cc, ragged_tensor_from_variant_op.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { ListValue, TensorValue, VariantsValue, VariantValue } from '../../lower/values.js';
import { joinedVaried, noItems, noteVaried, variedItem, withVariedItem } from './varied-lists.js';

const ALL = Number.MAX_SAFE_INTEGER;

/** A new list of `length` variants, whose parts are known from the second attempt on. */
export function newVariants(cx: OpContext, length: TensorValue): VariantsValue {
  const origin = cx.node.name;
  const parts = cx.builder.model.varied.get(origin);
  const lists = parts?.map(
    ({ dtype, rank }): ListValue => ({
      kind: 'list',
      dtype,
      elementShape: undefined,
      length,
      items: undefined,
      varied: noItems(cx, { dtype, length }, rank),
    }),
  );
  return { kind: 'variants', origin, length, lists };
}

/** The input as variants; undefined if it is something else. */
export function variantsInput(cx: OpContext, index: number): VariantsValue | undefined {
  const value = cx.input(index);
  return value.kind === 'variants' ? value : undefined;
}

export function variantAt(cx: OpContext, from: VariantsValue, index: TensorValue): VariantValue {
  const { lists } = from;
  if (lists === undefined) return cx.fail('the list is read while it is empty');
  const parts = lists.map(({ varied, elementShape }) =>
    varied === undefined
      ? cx.fail('the list contains no ragged tensors')
      : variedItem(cx, varied, index, elementShape),
  );
  return { kind: 'variant', parts };
}

export function withVariant(
  cx: OpContext,
  into: VariantsValue,
  index: TensorValue,
  item: VariantValue,
  isGrowing: boolean,
): VariantsValue {
  const { lists } = into;
  if (lists?.length !== item.parts.length) {
    const parts = item.parts.map((one) => ({ dtype: one.dtype, rank: cx.rank(one, 'an item') }));
    noteVaried(cx, into.origin, parts);
    return cx.fail('the kind of its items is not known yet');
  }
  const set = lists.map((one, i) =>
    one.varied === undefined
      ? cx.fail('the list contains no ragged tensors')
      : withVariedItem(cx, one, one.varied, index, item.parts[i] as TensorValue, isGrowing),
  );
  return { ...into, lists: set, length: set[0]?.length ?? into.length };
}

/** Differences of consecutive numbers of a vector: from splits to lengths. */
function differences(cx: OpContext, splits: TensorValue): TensorValue {
  const after = cx.slice(splits, [1], [ALL], [0]);
  const before = cx.slice(splits, [0], [-1], [0]);
  return cx.op('Sub', [after, before], { shape: [undefined] });
}

/** From lengths to splits: 0, and the cumulative sums. */
function sums(cx: OpContext, lengths: TensorValue): TensorValue {
  const ends = cx.op('CumSum', [lengths, cx.scalar('int64', 0)], { shape: [undefined] });
  return cx.concat([cx.int64s([0]), ends], 0);
}

const toVariant: Lowering = (cx) => {
  const given = cx.tensors();
  const values = given.pop() ?? cx.fail('it has no values');
  const splits = given.map((one) => cx.cast(one, 'int64'));
  if (!cx.bool('batched_input')) {
    return { kind: 'variant', parts: [...splits.map((one) => differences(cx, one)), values] };
  }
  return batched(cx, splits, values);
};

/** A vector of the rows: each part's elements stay in place. */
function batched(
  cx: OpContext,
  splits: readonly TensorValue[],
  values: TensorValue,
): VariantsValue {
  const [first, ...inner] = splits;
  if (first === undefined) {
    return cx.fail('ragged rows without splits are not supported');
  }
  let bounds = first;
  const lists: ListValue[] = [];
  const length = cx.op('Sub', [cx.reshape(cx.shapeOf(first), [], []), cx.scalar('int64', 1)], {
    shape: [],
  });
  for (const level of inner) {
    const dims = cx.unsqueeze(differences(cx, bounds), [1]);
    lists.push(listOf(differences(cx, level), { ...dims, shape: [undefined, 1] }, length));
    bounds = cx.op('Gather', [level, bounds], {
      shape: [undefined],
      attributes: { axis: { int: 0 } },
    });
  }
  const rank = cx.rank(values, 'its values');
  const rows = cx.unsqueeze(differences(cx, bounds), [1]);
  const rest = cx.slice(cx.shapeOf(values), [1], [ALL], [0]);
  const target = cx.concat([cx.reshape(length, [1]), cx.int64s([rank - 1])], 0);
  const others = cx.op('Expand', [rest, target], { shape: [undefined, rank - 1] });
  const dims = rank === 1 ? rows : cx.concat([rows, others], 1);
  const element = values.shape?.map((dim, axis) => (axis === 0 ? undefined : dim));
  const flat = cx.reshape(values, [-1], [undefined]);
  const list = listOf(flat, { ...dims, shape: [undefined, rank] }, length);
  return { kind: 'variants', length, lists: [...lists, { ...list, elementShape: element }] };
}

const listOf = (flat: TensorValue, dims: TensorValue, length: TensorValue): ListValue => ({
  kind: 'list',
  dtype: flat.dtype,
  elementShape: undefined,
  length,
  items: undefined,
  varied: { flat, dims },
});

const fromVariant: Lowering = (cx) => {
  const value = cx.input(0);
  const splitsType = cx.type('Tsplits', 'int64');
  const rank = cx.int('output_ragged_rank');
  const made = (lengths: readonly TensorValue[], values: TensorValue): TensorValue[] => {
    if (lengths.length !== rank) {
      cx.fail(
        `output_ragged_rank: expected ${lengths.length}, the levels of the tensor, got ${rank}`,
      );
    }
    return [...lengths.map((one) => cx.cast(sums(cx, one), splitsType)), values];
  };
  if (value.kind === 'variant') {
    const values = value.parts.at(-1) ?? cx.fail('it has no values');
    return made(value.parts.slice(0, -1), values);
  }
  if (value.kind !== 'variants') return cx.fail(`input 0 is a ${value.kind}, not a ragged tensor`);
  const { lists } = value;
  if (lists === undefined) return cx.fail('the list never receives an item');
  // The number of rows of an item, then the concatenated lengths of each level and the values.
  const joined = lists.map(({ varied, elementShape }) =>
    varied === undefined
      ? cx.fail('the list contains no ragged tensors')
      : joinedVaried(cx, varied, elementShape),
  );
  const counts = joined[0]?.[1] ?? cx.fail('it has no values');
  const values = joined.at(-1)?.[0] ?? cx.fail('it has no values');
  return made([counts, ...joined.slice(0, -1).map(([lengths]) => lengths)], values);
};

export const VARIANTS: Operators = {
  RaggedTensorToVariant: { lower: toVariant, dtypes: 'any', note: 'the rank must be known' },
  RaggedTensorFromVariant: { lower: fromVariant, dtypes: 'any' },
};
