// XGBoost's own model document, out of JSON or UBJ. Importer's worker thread; pure.
import type { Booster, BoosterTree } from './booster.js';

/** Errors: RangeError saying what is missing or not supported. */
export function readDocument(document: unknown): Booster {
  const learner = member(document, 'learner');
  const parameters = member(learner, 'learner_model_param');
  const objective = member(member(learner, 'objective'), 'name');
  const gradient = member(learner, 'gradient_booster');
  const name = member(gradient, 'name');
  if (name !== 'gbtree' && name !== 'dart') {
    throw new RangeError(`the booster '${String(name)}' is not supported`);
  }
  const model = member(name === 'dart' ? member(gradient, 'gbtree') : gradient, 'model');
  const trees = list(member(model, 'trees')).map((tree, i) => treeOf(tree, i));
  const read = {
    objective: String(objective),
    baseScore: baseScoreOf(member(parameters, 'base_score')),
    numClass: Number(member(parameters, 'num_class')),
    trees,
    groups: numbers(member(model, 'tree_info')),
  };
  if (read.groups.length !== trees.length)
    throw new RangeError('tree_info: expected an entry for each tree');
  const best = bestTreesOf(learner, model);
  const found = best === undefined ? read : { ...read, bestTrees: best };
  if (name === 'gbtree') return found;
  return { ...found, weights: numbers(member(gradient, 'weight_drop')) };
}

/** The number of trees up to `best_iteration` of "attributes"; undefined without that attribute. */
function bestTreesOf(learner: unknown, model: unknown): number | undefined {
  const { attributes = {} } = learner as { readonly attributes?: unknown };
  const round = (attributes as Readonly<Record<string, unknown>>)['best_iteration'];
  if (round === undefined) return undefined;
  const trees = numbers(member(model, 'iteration_indptr'))[Number(round) + 1];
  if (trees === undefined) throw new RangeError(`round ${String(round)} does not exist`);
  return trees;
}

/** "5E-1"; since 3.0 in brackets. */
function baseScoreOf(written: unknown): number {
  const score = Number(String(written).replace(/^\[(.*)\]$/, '$1'));
  if (!Number.isFinite(score))
    throw new RangeError(`base_score '${String(written)}' is not supported`);
  return Math.fround(score);
}

function treeOf(tree: unknown, index: number): BoosterTree {
  const of = (name: string): readonly number[] => numbers(member(tree, name));
  const made = {
    left: of('left_children'),
    right: of('right_children'),
    feature: of('split_indices'),
    value: of('split_conditions').map(Math.fround),
    defaultLeft: of('default_left'),
  };
  const count = made.left.length;
  if (count === 0 || Object.values(made).some((each) => each.length !== count)) {
    throw new RangeError(`tree ${index}: its lists have different lengths, or it has no nodes`);
  }
  const types = (tree as Readonly<Record<string, unknown>>)['split_type'];
  if (types !== undefined && numbers(types).some((type) => type !== 0)) {
    throw new RangeError(`tree ${index}: categorical splits are not supported`);
  }
  return made;
}

function member(of: unknown, name: string): unknown {
  const value =
    typeof of === 'object' && of !== null
      ? (of as Readonly<Record<string, unknown>>)[name]
      : undefined;
  if (value === undefined) throw new RangeError(`expected '${name}', got none`);
  return value;
}

function list(of: unknown): readonly unknown[] {
  if (Array.isArray(of)) return of;
  throw new RangeError('expected a list');
}

/** true and false count as 1 and 0. */
function numbers(of: unknown): readonly number[] {
  if (of instanceof Float64Array) return Array.from(of);
  return list(of).map((each) => {
    const number = typeof each === 'boolean' ? Number(each) : each;
    if (typeof number === 'number') return number;
    throw new RangeError(`expected a number, got ${JSON.stringify(each)}`);
  });
}
