// Reads the JSON documents that CatBoost saves. Importer's worker thread; pure.
// Source: CatBoost's catboost/libs/model/model_export/json_model_helpers.cpp.
import { readCtrs } from './ctrs.js';
import {
  list,
  member,
  numberOf,
  numbers,
  optional,
  texts,
  within,
} from '../../plan/xgboost/members.js';
import {
  type CatboostModel,
  type CategoricalFeature,
  checkFlat,
  checkFloat,
  checkLeaves,
  checkOneHot,
  checkScale,
  type FloatFeature,
  type OneHot,
  refuseFeature,
  splitCount,
} from './model.js';
import { TreeGrower } from './trees.js';

/** Errors: RangeError saying what of it is broken, or not supported. */
export function readDocument(text: string): CatboostModel {
  const document = JSON.parse(text) as unknown;
  const features = member(document, 'features_info');
  const categoricals = within('categorical_features', () =>
    listOf(features, 'categorical_features').map(categoricalOf),
  );
  refuseOthers(features);
  const floats = within('float_features', () =>
    listOf(features, 'float_features').map((feature) => floatOf(feature)),
  );
  const words = within('cat_features_hash', () => wordsOf(features));
  const oneHots = within('categorical_features', () =>
    listOf(features, 'categorical_features').flatMap((feature) => oneHotOf(feature, words)),
  );
  const ctrs = readCtrs(listOf(features, 'ctrs'), optional(document, 'ctr_data'));
  const grower = new TreeGrower(splitCount({ floats, oneHots, ctrs }));
  const leaves = new Leaves();
  const symmetric = optional(document, 'oblivious_trees');
  if (symmetric !== undefined) growSymmetric(grower, leaves, symmetric);
  else for (const tree of listOf(document, 'trees')) growNodes(grower, leaves, tree);
  const { scale, bias } = scaleOf(optional(document, 'scale_and_bias'), leaves.width);
  const width = leaves.width ?? bias.length;
  checkScale(scale, bias, width);
  const covers = Float64Array.from(leaves.covers);
  const info = new Map(Object.entries(Object(optional(document, 'model_info') ?? {})));
  return {
    ...{ floats, categoricals, oneHots, ctrs, words },
    ...{ trees: grower, width, scale, bias, info },
    leaves: checkLeaves(Float64Array.from(leaves.values), width),
    ...(covers.length === leaves.count ? { covers } : {}),
  };
}

/** CatBoost writes a list without items as null, or leaves it out. */
function listOf(of: unknown, name: string): readonly unknown[] {
  const found = optional(of, name);
  return found === undefined || found === null ? [] : list(found);
}

function nameOf(feature: unknown, flat: number): string {
  const name = optional(feature, 'feature_id') || optional(feature, 'feature_name');
  return typeof name === 'string' && name !== '' ? name : String(flat);
}

function floatOf(feature: unknown): FloatFeature {
  const flat = numberOf(feature, 'flat_feature_index');
  const hasMissing = optional(feature, 'has_nans') === true;
  return checkFloat({
    index: numberOf(feature, 'feature_index'),
    flat,
    name: nameOf(feature, flat),
    borders: numbers(listOf(feature, 'borders')).map(Math.fround),
    passesMissing: hasMissing && optional(feature, 'nan_value_treatment') === 'AsTrue',
  });
}

function categoricalOf(feature: unknown): CategoricalFeature {
  const flat = numberOf(feature, 'flat_feature_index');
  const name = nameOf(feature, flat);
  checkFlat(flat, name);
  return { index: numberOf(feature, 'feature_index'), flat, name };
}

/** Texts by their hashes, which models have that were saved with their training data. */
function wordsOf(features: unknown): ReadonlyMap<number, string> {
  return new Map(
    listOf(features, 'cat_features_hash').map((entry) => {
      const [word = ''] = texts([member(entry, 'value')]);
      return [numberOf(entry, 'hash') | 0, word];
    }),
  );
}

function oneHotOf(feature: unknown, words: ReadonlyMap<number, string>): readonly OneHot[] {
  const hashes = Int32Array.from(numbers(listOf(feature, 'values')));
  if (hashes.length === 0) return [];
  const own = texts(listOf(feature, 'string_values'));
  const known = Array.from(hashes, (hash) => words.get(hash));
  const found = known.filter((word) => word !== undefined);
  const isKnown = own.length === 0 && found.length === known.length;
  const index = numberOf(feature, 'feature_index');
  return [checkOneHot({ index, hashes, texts: isKnown ? found : own })];
}

/** Errors: RangeError: always, if the model has features that plans cannot compute. */
function refuseOthers(features: unknown): void {
  const [text] = listOf(features, 'text_features');
  if (text !== undefined) refuseFeature('text', nameOf(text, -1));
  const [embedding] = listOf(features, 'embedding_features');
  if (embedding !== undefined) refuseFeature('embedding', nameOf(embedding, -1));
}

/** The leaves of all trees that are read. */
class Leaves {
  readonly values: number[] = [];
  /** The weights of leaves that have one. */
  readonly covers: number[] = [];
  /** Values of each leaf; undefined: no leaf is read. */
  width: number | undefined;

  get count(): number {
    return this.values.length / (this.width ?? 1);
  }

  /** Errors: RangeError: leaves have different numbers of values. */
  add(values: Float64Array, leaves: number, place: string, weights: unknown): void {
    this.width ??= values.length / leaves;
    const expected = this.width * leaves;
    if (!Number.isInteger(this.width) || this.width < 1 || values.length !== expected) {
      throw new RangeError(
        `${place}: expected ${expected} values for ${leaves} leaves, got ${values.length}`,
      );
    }
    for (const value of values) this.values.push(value);
    const covers = Array.isArray(weights) ? weights : [weights];
    for (const cover of covers) if (typeof cover === 'number') this.covers.push(cover);
  }
}

function growSymmetric(grower: TreeGrower, leaves: Leaves, trees: unknown): void {
  if (trees === null) return;
  for (const tree of list(trees)) {
    const { place } = grower;
    const splits = within(place, () =>
      listOf(tree, 'splits').map((split) => numberOf(split, 'split_index')),
    );
    const first = leaves.count;
    const count = grower.symmetric(splits, first);
    leaves.add(
      within(place, () => numbers(member(tree, 'leaf_values'))),
      count,
      place,
      optional(tree, 'leaf_weights'),
    );
  }
}

/** A tree of nested nodes, by its own stack, because trees may nest deeper than calls. */
function growNodes(grower: TreeGrower, leaves: Leaves, tree: unknown): void {
  const { place } = grower;
  const grow = (node: unknown): { readonly number: number; readonly isLeaf: boolean } => {
    const value = optional(node, 'value');
    if (value === undefined) {
      const split = within(place, () => numberOf(member(node, 'split'), 'split_index'));
      return { number: grower.node(split), isLeaf: false };
    }
    const number = ~leaves.count;
    const values = within(place, () => numbers(Array.isArray(value) ? value : [value]));
    leaves.add(values, 1, place, optional(node, 'weight'));
    return { number, isLeaf: true };
  };
  const root = grow(tree);
  const waiting = root.isLeaf ? [] : [{ node: tree, number: root.number }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, number } = next;
    for (const side of ['left', 'right'] as const) {
      const child = within(place, () => member(node, side));
      const grown = grow(child);
      grower[side][number] = grown.number;
      if (!grown.isLeaf) waiting.push({ node: child, number: grown.number });
    }
  }
  grower.roots.push(root.number);
}

/** [scale, [bias of each score]]; before 1.0, [scale, bias]; absent: 1 and 0. */
function scaleOf(
  given: unknown,
  width: number | undefined,
): { readonly scale: number; readonly bias: readonly number[] } {
  if (given === undefined) return { scale: 1, bias: new Array<number>(width ?? 1).fill(0) };
  return within('scale_and_bias', () => {
    const [scale, bias] = list(given);
    const [factor = Number.NaN] = numbers([scale]);
    const biases = Array.from(numbers(Array.isArray(bias) ? bias : [bias]));
    return { scale: factor, bias: biases };
  });
}
