// Which function lowers which PMML model element. Importer's worker thread.
import type { LowerModel, ModelTable } from './context.js';
import { LEAF_MODELS } from './models/index.js';

/** Elements that PMML has and that are not lowered, with the reason. */
export const UNSUPPORTED_MODELS: Readonly<Record<string, string>> = {
  TextModel: 'text models are not supported',
  BaselineModel: 'baseline models are not supported',
  BayesianNetworkModel: 'Bayesian networks are not supported',
  SequenceModel: 'sequence models are not supported',
};

const MODELS: ModelTable = { ...LEAF_MODELS };

/** Is this the name of a model element? */
export function isModel(name: string): boolean {
  return Object.hasOwn(MODELS, name) || Object.hasOwn(UNSUPPORTED_MODELS, name);
}

/** The function for an element; undefined: none. */
export function lowerFunction(name: string): LowerModel | undefined {
  return Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
}
