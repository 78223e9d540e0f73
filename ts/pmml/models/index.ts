// The PMML model elements that are lowered by a file of this folder, by name. Importer's worker
// thread.
import type { ModelTable } from '../context.js';

/** By element name. */
export const LEAF_MODELS: ModelTable = {};
