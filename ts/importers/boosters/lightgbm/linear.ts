// The sum of linear trees: the leaf of each tree is found first, then its numbers are picked, and
// its terms added in the order of the file. Importer's worker thread; pure. Source: LightGBM's
// include/LightGBM/tree.h: Tree::Predict.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import type { ExplainedForest } from '../../plan/explain.js';
import { addForest, addPick } from '../../plan/forest.js';
import type { LightgbmFields } from './fields.js';
import type { LightgbmTree } from './text.js';
import type { Trees } from './trees.js';

const PLACE = 'booster';

/** `trees` of one class, also as `forest`. The sums are a column of doubles. */
export function linearScore(
  builder: PlanBuilder,
  trees: readonly LightgbmTree[],
  forest: Trees,
  fields: LightgbmFields,
  explained: ExplainedForest[],
): Expression {
  const isOne = trees.length === 1;
  const leaf = isOne ? builder.column('leaf', 'int32') : builder.column('leaves', 'list', 'int32');
  const { covers: _, leafIds, ...arrays } = forest;
  const options = { ...fields.features(), ...arrays };
  addForest(builder, { ...options, leaf }, PLACE);
  explained.push({ options, column: leaf, leafIds });
  let sum: Expression = constant({ type: 'double', real: 0 });
  let before = 0;
  trees.forEach((tree, i) => {
    const found = isOne ? columnRef(leaf) : call('sql.element_at', columnRef(leaf), integer(i + 1));
    const own = call('sql.subtract', found, integer(before));
    const index = builder.derive(`leaf of tree ${i}`, 'int32', own, PLACE);
    before += tree.leaves.length;
    const value = treeValue(builder, tree, index, fields);
    const name = `sum after tree ${i}`;
    sum = columnRef(builder.derive(name, 'double', call('sql.add', sum, value), PLACE));
  });
  return sum;
}

const integer = (value: number): Expression => constant({ type: 'int32', integer: BigInt(value) });

function treeValue(
  builder: PlanBuilder,
  { leaves, linear }: LightgbmTree,
  index: Column,
  fields: LightgbmFields,
): Expression {
  const pick = (reals: Float64Array): Expression => {
    const column = builder.column('number of the leaf', 'double');
    addPick(builder, index, { reals, nan_is_missing: true }, column, PLACE);
    return columnRef(column);
  };
  const plain = pick(leaves);
  if (linear === undefined) return plain;
  let sum = pick(linear.constants);
  let hasNaN: Expression | undefined;
  for (const [feature, factors] of factorsOf(linear, leaves.length)) {
    const value = columnRef(fields.numberOf(feature));
    const factor = pick(factors);
    const has = call('sql.isnotnull', factor);
    const isNaN = call('sql.and', has, call('sql.isnan', value));
    hasNaN = hasNaN === undefined ? isNaN : call('sql.or', hasNaN, isNaN);
    const next = call('sql.add', sum, call('sql.multiply', factor, value));
    const name = `leaf with feature ${feature}`;
    sum = columnRef(builder.derive(name, 'double', call('sql.case', has, next, sum), PLACE));
  }
  return hasNaN === undefined ? sum : call('sql.case', hasNaN, plain, sum);
}

/**
 * By feature, the factor of each leaf; NaN: the leaf does not have the feature. Leaves list their
 * features in ascending order, so one order fits all. Errors: RangeError: one does not.
 */
function factorsOf(
  { offsets, features, factors }: NonNullable<LightgbmTree['linear']>,
  leafCount: number,
): readonly (readonly [number, Float64Array])[] {
  const found = new Map<number, Float64Array>();
  for (let leaf = 0; leaf < leafCount; leaf += 1) {
    let last = -1;
    for (let at = offsets[leaf] ?? 0; at < (offsets[leaf + 1] ?? 0); at += 1) {
      const feature = features[at] ?? 0;
      if (feature <= last) {
        throw new RangeError(`leaf_features: leaf ${leaf}: expected ascending features`);
      }
      last = feature;
      const own = found.get(feature) ?? new Float64Array(leafCount).fill(Number.NaN);
      own[leaf] = factors[at] ?? 0;
      found.set(feature, own);
    }
  }
  return [...found].sort(([a], [b]) => a - b);
}
