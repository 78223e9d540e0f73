// The leaf of each tree that a row reaches, found by ONNX's TreeEnsembleRegressor: each tree has
// its own target, to which a leaf adds its number. Importer's worker thread.
import { FOREST_DEPTH_MAX } from '../../../../base/limits.js';
import type { Ensemble } from '../../../ydf/ensemble.js';
import type { GrownTrees } from '../../../ydf/nodes.js';
import type { OpContext } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import { numbersTensor } from '../../lower/tensors.js';
import type { TensorValue } from '../../lower/values.js';
import type { Columns, Split } from './columns.js';

export interface FoundLeaves {
  readonly rows: TensorValue;
  /** float [rows, trees]: leaves by their number in their tree. */
  readonly inTree: TensorValue;
  /** int64 [rows, trees]: leaves by their number in the model. */
  readonly inModel: TensorValue;
}

const ML_DOMAIN = 'ai.onnx.ml';
/** The greatest number of leaves that floats count exactly. */
const LEAVES_MAX = 2 ** 24;

/** Errors: RangeError: a condition does not fit its feature, a tree is too deep or too large. */
export function leavesOf(cx: OpContext, { grown }: Ensemble, columns: Columns): FoundLeaves {
  const { rows } = columns;
  const trees = grown.roots.length;
  const shape = [rows.shape?.[0], trees];
  checkDepths(grown);
  const numbers = grown.conditions.map((condition) => columns.add(condition));
  const { table, splits } = columns.finish();
  const attributes = attributesOf(grown, numbers, splits);
  const [inTree = cx.fail('the trees have no output')] = cx.builder.add(
    'TreeEnsembleRegressor',
    [table],
    [{ dtype: 'float', shape }],
    attributes,
    ML_DOMAIN,
  );
  const starts = cx.constant(numbersTensor('int64', [trees], grown.leafStarts.slice(0, trees)));
  const inModel = cx.op('Add', [cx.cast(inTree, 'int64'), starts], { shape });
  return { rows, inTree, inModel };
}

/** ONNX Runtime reads trees by recursion. */
function checkDepths({ roots, passed, failed, leafStarts }: GrownTrees): void {
  roots.forEach((root, tree) => {
    const leaves = (leafStarts[tree + 1] ?? 0) - (leafStarts[tree] ?? 0);
    if (leaves > LEAVES_MAX) throw new RangeError(`tree ${tree}: more than ${LEAVES_MAX} leaves`);
    let level = root < 0 ? [] : [root];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth >= FOREST_DEPTH_MAX) {
        throw new RangeError(`tree ${tree}: expected at most ${FOREST_DEPTH_MAX} levels, got more`);
      }
      level = level
        .flatMap((node) => [passed[node] ?? -1, failed[node] ?? -1])
        .filter((child) => child >= 0);
    }
  });
}

function attributesOf(
  grown: GrownTrees,
  numbers: readonly number[],
  splits: readonly Split[],
): OnnxAttributes {
  const made = new Attributes();
  grown.roots.forEach((_, tree) => {
    const [first = 0, end = 0] = grown.nodeStarts.slice(tree, tree + 2);
    const [leaf = 0, leavesEnd = 0] = grown.leafStarts.slice(tree, tree + 2);
    /** Nodes of a tree: its conditions, then its leaves. */
    const idOf = (child = -1): number => (child >= 0 ? child - first : end - first + ~child - leaf);
    for (let at = first; at < end; at += 1) {
      const { column, threshold } = splits[numbers[at] ?? -1] ?? { column: 0, threshold: 0 };
      if (Number.isNaN(threshold)) throw new RangeError('a threshold is NaN');
      const passesMissing = grown.conditions[at]?.passesMissing === true;
      made.node(tree, at - first, { column, threshold }, passesMissing);
      made.children(idOf(grown.passed[at]), idOf(grown.failed[at]));
    }
    for (let at = leaf; at < leavesEnd; at += 1)
      made.leaf(tree, end - first + at - leaf, at - leaf);
  });
  return made.finish(grown.roots.length);
}

class Attributes {
  readonly #trees: number[] = [];
  readonly #ids: number[] = [];
  readonly #features: number[] = [];
  readonly #modes: string[] = [];
  readonly #thresholds: number[] = [];
  readonly #trueChildren: number[] = [];
  readonly #falseChildren: number[] = [];
  readonly #passMissing: number[] = [];
  readonly #leafTrees: number[] = [];
  readonly #leafIds: number[] = [];
  readonly #weights: number[] = [];

  node(tree: number, id: number, split: Split, passesMissing: boolean, mode = 'BRANCH_GTE'): void {
    this.#trees.push(tree);
    this.#ids.push(id);
    this.#features.push(split.column);
    this.#thresholds.push(split.threshold);
    this.#modes.push(mode);
    this.#passMissing.push(passesMissing ? 1 : 0);
  }

  children(passed: number, failed: number): void {
    this.#trueChildren.push(passed);
    this.#falseChildren.push(failed);
  }

  leaf(tree: number, id: number, weight: number): void {
    this.node(tree, id, { column: 0, threshold: 0 }, false, 'LEAF');
    this.children(0, 0);
    this.#leafTrees.push(tree);
    this.#leafIds.push(id);
    this.#weights.push(weight);
  }

  finish(trees: number): OnnxAttributes {
    return {
      n_targets: { int: trees },
      nodes_treeids: { ints: this.#trees },
      nodes_nodeids: { ints: this.#ids },
      nodes_featureids: { ints: this.#features },
      nodes_modes: { strings: this.#modes },
      nodes_values: { floats: this.#thresholds },
      nodes_truenodeids: { ints: this.#trueChildren },
      nodes_falsenodeids: { ints: this.#falseChildren },
      nodes_missing_value_tracks_true: { ints: this.#passMissing },
      target_treeids: { ints: this.#leafTrees },
      target_nodeids: { ints: this.#leafIds },
      target_ids: { ints: this.#leafTrees },
      target_weights: { floats: this.#weights },
    };
  }
}
