// XGBoost's own model document, out of JSON or UBJ. Importer's worker thread; pure.
// Source: XGBoost's doc/model.schema; src/tree/io_utils.h, multi_target_tree_model.cc;
// src/data/cat_container.cc.
import type { Booster, BoosterTree, Categories } from './booster.js';
import {
  countOf,
  counts,
  list,
  member,
  numbers,
  numbersAsTyped,
  optional,
  texts,
} from './members.js';

const CATEGORICAL = 1;

/** Errors: RangeError saying what is missing or not supported. */
export function readDocument(document: unknown): Booster {
  const learner = member(document, 'learner');
  const parameters = member(learner, 'learner_model_param');
  const gradient = member(learner, 'gradient_booster');
  const name = member(gradient, 'name');
  const baseScores = baseScoresOf(member(parameters, 'base_score'));
  const base = {
    objective: String(member(member(learner, 'objective'), 'name')),
    baseScore: baseScores[0] ?? 0,
    ...(baseScores.length > 1 ? { baseScores } : {}),
    numClass: countOf(parameters, 'num_class', 0),
    numTarget: countOf(parameters, 'num_target', 1),
    numFeature: countOf(parameters, 'num_feature', 0),
    featureNames: texts(optional(learner, 'feature_names') ?? []),
    featureTypes: texts(optional(learner, 'feature_types') ?? []),
    ...attributesOf(learner, document),
  };
  if (name === 'gblinear') {
    const linear = numbers(member(member(gradient, 'model'), 'weights'));
    return { ...base, trees: [], groups: [], linear: linear.map(Math.fround) };
  }
  if (name !== 'gbtree' && name !== 'dart') {
    throw new RangeError(`the booster '${String(name)}' is not supported`);
  }
  const model = member(name === 'dart' ? member(gradient, 'gbtree') : gradient, 'model');
  const trees = list(member(model, 'trees')).map((tree, i) => treeOf(tree, i));
  const groups = Array.from(numbers(member(model, 'tree_info')));
  if (groups.length !== trees.length)
    throw new RangeError('tree_info: expected an entry for each tree');
  const best = bestTreesOf(learner, model);
  const categories = categoriesOf(optional(model, 'cats'));
  const read = {
    ...base,
    trees,
    groups,
    ...(best === undefined ? {} : { bestTrees: best }),
    ...(categories === undefined ? {} : { categories }),
  };
  if (name === 'gbtree') return read;
  const weights = Array.from(numbers(member(gradient, 'weight_drop')));
  if (weights.length === trees.length) return { ...read, weights };
  throw new RangeError(`weight_drop: expected ${trees.length} weights, got ${weights.length}`);
}

function attributesOf(learner: unknown, document: unknown) {
  const attributes = optional(learner, 'attributes');
  const version = optional(document, 'version');
  return {
    ...(typeof attributes === 'object' && attributes !== null
      ? { attributes: attributes as Readonly<Record<string, unknown>> }
      : {}),
    ...(version === undefined ? {} : { version: list(version).join('.') }),
  };
}

/** The number of trees up to `best_iteration` of "attributes"; undefined without that attribute. */
function bestTreesOf(learner: unknown, model: unknown): number | undefined {
  const round = optional(optional(learner, 'attributes'), 'best_iteration');
  if (round === undefined) return undefined;
  const trees = numbers(member(model, 'iteration_indptr'))[Number(round) + 1];
  if (trees === undefined) throw new RangeError(`round ${String(round)} does not exist`);
  return trees;
}

/** "5E-1"; since 3.0 in brackets, since 3.1 one for each output. */
function baseScoresOf(written: unknown): readonly number[] {
  const parts = String(written)
    .replace(/^\[(.*)\]$/, '$1')
    .split(',');
  const scores = parts.map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (!scores.every(Number.isFinite))
    throw new RangeError(`base_score '${String(written)}' is not supported`);
  return scores.map(Math.fround);
}

function treeOf(tree: unknown, index: number): BoosterTree {
  const of = (name: string) => numbersAsTyped(member(tree, name));
  const value = of('split_conditions');
  const made = {
    left: of('left_children'),
    right: of('right_children'),
    feature: of('split_indices'),
    value: value instanceof Float32Array ? value : Float32Array.from(value),
    defaultLeft: of('default_left'),
  };
  const count = made.left.length;
  if (count === 0 || Object.values(made).some((each) => each.length !== count)) {
    throw new RangeError(`tree ${index}: its lists have different lengths, or it has no nodes`);
  }
  try {
    const categories = splitsOf(tree, count);
    const vectors = vectorsOf(tree, made);
    const hessians = optional(tree, 'sum_hessian');
    const covers = hessians === undefined ? [] : numbersAsTyped(hessians);
    return {
      ...made,
      ...(covers.length === count ? { covers } : {}),
      ...(categories === undefined ? {} : { categories }),
      ...(vectors === undefined ? {} : { vectors }),
    };
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`tree ${index}: ${error.message}`);
    throw error;
  }
}

/** The categories of the nodes that split by them; undefined: none does. */
function splitsOf(tree: unknown, count: number): BoosterTree['categories'] {
  const given = optional(tree, 'split_type');
  if (given === undefined) return undefined;
  const types = numbers(given);
  if (types.length !== count) throw new RangeError(`split_type: expected ${count} entries`);
  if (types.every((type) => type === 0)) return undefined;
  const of = (name: string): Float64Array => counts(member(tree, name), name);
  const [all, nodes, starts, sizes] = [
    of('categories'),
    of('categories_nodes'),
    of('categories_segments'),
    of('categories_sizes'),
  ];
  const found = new Map<number, Float64Array>();
  nodes.forEach((node, i) => {
    const [start = 0, size = 0] = [starts[i], sizes[i]];
    if (types[node] !== CATEGORICAL || start + size > all.length || found.has(node)) {
      throw new RangeError(`node ${node}: its categories do not exist`);
    }
    found.set(node, all.subarray(start, start + size));
  });
  types.forEach((type, node) => {
    if (type === 0 || (type === CATEGORICAL && found.has(node))) return;
    throw new RangeError(`node ${node}: a split of type ${type} without categories`);
  });
  return found;
}

/** Multi-output trees: since 3.2 the leaves have a list. */
function vectorsOf(tree: unknown, { left, right }: BoosterTree): BoosterTree['vectors'] {
  const size = countOf(optional(tree, 'tree_param'), 'size_leaf_vector', 1);
  if (size < 2) return undefined;
  const apart = optional(tree, 'leaf_weights');
  const values = numbers(apart ?? member(tree, 'base_weights')).map(Math.fround);
  const at = Array.from(left, (child, node) => {
    const row = apart === undefined ? node : (right[node] ?? -1);
    if (child >= 0 || (Number.isInteger(row) && row >= 0 && (row + 1) * size <= values.length)) {
      return row;
    }
    throw new RangeError(`node ${node}: its leaf does not exist`);
  });
  return { size, values, at };
}

/** Since 3.1: the categories of a data frame's columns; undefined: no column has any. */
function categoriesOf(cats: unknown): Booster['categories'] {
  if (cats === undefined) return undefined;
  const found = list(member(cats, 'enc')).map(encodingOf);
  return found.some((each) => each !== undefined) ? found : undefined;
}

function encodingOf(encoding: unknown): Categories | undefined {
  const offsets = optional(encoding, 'offsets');
  if (offsets === undefined) return numbers(member(encoding, 'values'));
  // Bytes of UTF-8, as signed numbers.
  const bytes = Uint8Array.from(Int8Array.from(numbers(member(encoding, 'values'))));
  const ends = counts(offsets, 'offsets of categories');
  if (ends.length === 0) return undefined;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return Array.from(ends.subarray(1), (end, i) => {
    const start = ends[i] ?? 0;
    if (end >= start && end <= bytes.length) return decoder.decode(bytes.subarray(start, end));
    throw new RangeError(`the text of category ${i} does not exist`);
  });
}
