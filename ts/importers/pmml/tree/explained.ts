// The explanations of trees: their features are the fields of requests if the trees test nothing
// else, otherwise the columns that they test. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../../plan/builder.js';
import { addForest, type ForestOptions } from '../../plan/forest.js';
import type { PmmlExplanation } from '../context.js';
import type { Context } from '../lower.js';
import type { XmlElement } from '../xml/reader.js';
import { placeOf } from '../document.js';
import { ForestNodes } from './forest-nodes.js';
import type { TreeTable } from './table.js';

/** The explanation of what the forest fills. */
export function explainedForest(
  builder: PlanBuilder,
  nodes: ForestNodes,
  options: ForestOptions & { readonly features: readonly Column[]; readonly values: Column },
): PmmlExplanation {
  const { covers } = nodes;
  const tested = options.features.map((column) => builder.nameOf(column));
  const fields = builder.fieldNames;
  const areFields = tested.every((name) => fields.includes(name));
  const features = areFields ? fields.filter((name) => tested.includes(name)) : tested;
  const forest = {
    options,
    column: options.values,
    sources: tested.map((name, i) => [areFields ? features.indexOf(name) : i]),
    ...(covers === undefined ? {} : { covers }),
  };
  const scores = options.width;
  const of = { forests: [forest], features: features.length, scores, coversName: 'recordCount' };
  return { of, features };
}

/**
 * The explanation of a tree that another stage runs. `leaf`: the values of a node. undefined: a
 * node tests several fields, or has no values.
 */
export function explainedTree(
  model: XmlElement,
  table: TreeTable,
  context: Context,
  width: number,
  leaf: (node: number) => readonly number[] | undefined,
): PmmlExplanation | undefined {
  const nodes = new ForestNodes(width);
  if (width < 1 || !nodes.add(table, context, leaf)) return undefined;
  const { plan } = context;
  const values = plan.column('explained tree', width === 1 ? 'double' : 'vector');
  const options = { ...nodes.finish(), nanIsLargest: true, values, explained: true } as const;
  addForest(plan, options, placeOf(model));
  return explainedForest(plan, nodes, options);
}
