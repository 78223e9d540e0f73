// The rounds of a booster that predictions use. Importer's worker thread; pure.
import type { Booster } from './booster.js';

/** The booster with its first trees only. */
export function firstTrees(booster: Booster, count: number): Booster {
  const { trees, groups, weights } = booster;
  return {
    ...booster,
    trees: trees.slice(0, count),
    groups: groups.slice(0, count),
    ...(weights === undefined ? {} : { weights: weights.slice(0, count) }),
  };
}

/**
 * The trees that the saved object's own predict() uses: a model of scikit-learn's interface, which
 * leaves the attribute "scikit_learn", stops at the best iteration; a Booster uses all.
 */
export function boosterWithin(booster: Booster): {
  readonly booster: Booster;
  readonly warning?: string;
} {
  const { bestTrees, attributes = {}, trees } = booster;
  if (bestTrees === undefined || bestTrees === trees.length) return { booster };
  if (Object.hasOwn(attributes, 'scikit_learn')) return { booster: firstTrees(booster, bestTrees) };
  const warning =
    `training stopped early, with ${bestTrees} of ${trees.length} trees at the best iteration; ` +
    'all trees are used, as Booster.predict() does';
  return { booster, warning };
}
