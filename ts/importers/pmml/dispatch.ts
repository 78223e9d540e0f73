// Which function lowers which PMML model element. Importer's worker thread.
import type { LowerModel, ModelLowerings } from './context.js';
import { lowerMining } from './ensemble/mining.js';
import { LEAF_MODELS } from './models/index.js';
import { lowerRuleSet } from './rules/rule-set.js';
import { lowerScorecard } from './rules/scorecard.js';
import { lowerTree } from './tree/tree.js';

/** By element name. */
export const MODELS: ModelLowerings = {
  ...LEAF_MODELS,
  MiningModel: lowerMining,
  RuleSetModel: lowerRuleSet,
  Scorecard: lowerScorecard,
  TreeModel: lowerTree,
};

/** The function for an element; undefined: none. */
export function lowerFunction(name: string): LowerModel | undefined {
  return Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
}
