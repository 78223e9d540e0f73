// Decision trees and ensembles of them: their files, and the stage that runs them. Importer's
// worker thread.
// Source: tabular.md 4.1, 4.2
import type { Column, PlanBuilder } from '../../plan/builder.js';
import type { ExplainedForest, Explanation } from '../../plan/explain.js';
import { addForest, type ForestSum } from '../../plan/forest.js';
import type { Bundle, FoundModel } from '../bundle/reader.js';
import { TreeCollector } from '../bundle/trees.js';

export interface Trees {
  readonly trees: TreeCollector;
  /** Weights of an ensemble. */
  readonly weights?: Float64Array;
}

/** Reads the trees of a single tree or an ensemble; `leafOf` as in TreeCollector. */
export async function treesOf(
  bundle: Bundle,
  model: FoundModel,
  width: number,
  leafOf: (values: readonly number[]) => readonly number[],
): Promise<Trees> {
  const { attributes, folder } = model;
  const trees = new TreeCollector(width, leafOf);
  const add = async (from: string): Promise<void> => {
    const file = treeFile(bundle, from);
    trees.add(await bundle.read(file), bundle.extension, file);
  };
  if (!attributes.has('trees')) {
    await add(folder);
    return { trees };
  }
  for (const name of attributes.texts('trees')) await add(`${folder}/${name}`);
  const weights = attributes.optionalNumbers('tree_weights');
  return weights === undefined ? { trees } : { trees, weights };
}

/** MLeap writes `nodes` for classifiers and `tree` for the others. */
function treeFile(bundle: Bundle, folder: string): string {
  const nodes = `${folder}/nodes.${bundle.extension}`;
  return bundle.has(nodes) ? nodes : `${folder}/tree.${bundle.extension}`;
}

export function addTrees(
  builder: PlanBuilder,
  op: {
    readonly trees: TreeCollector;
    readonly features: Column;
    readonly values: Column;
    readonly weights?: Float64Array;
    readonly sum?: ForestSum;
    readonly explained?: boolean;
  },
  size: number | undefined,
  place: string,
): ExplainedForest {
  const { trees, features, values, weights, sum } = op;
  const options = {
    features: size === undefined ? { vector: features } : { vector: features, size },
    nodes: {
      feature: Int32Array.from(trees.feature),
      threshold: Float64Array.from(trees.threshold),
      left: Int32Array.from(trees.left),
      right: Int32Array.from(trees.right),
      test: Uint8Array.from(trees.test),
    },
    roots: Int32Array.from(trees.roots),
    leaves: Float64Array.from(trees.leaves),
    width: trees.width,
    values,
    ...(trees.setMembers.length === 0 && trees.setOffsets.length === 1
      ? {}
      : {
          sets: {
            offsets: Int32Array.from(trees.setOffsets),
            members: Int32Array.from(trees.setMembers),
          },
        }),
    ...(weights === undefined ? {} : { weights }),
    ...(sum === undefined ? {} : { sum }),
    ...(op.explained === true ? { explained: true } : {}),
  };
  addForest(builder, options, place);
  return { options, column: values };
}

/** The explanation of a forest; bundles do not keep how many training rows reached a leaf. */
export const explained = (forest: ExplainedForest, features = 0, scale = 1): Explanation => ({
  forests: [forest],
  features,
  scores: forest.options.width,
  scale,
  coversName: 'impurityStats, which MLeap does not save',
});
