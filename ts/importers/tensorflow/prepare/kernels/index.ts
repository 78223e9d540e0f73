// All operators that are run while a model is loaded. Importer's worker thread.
import type { Kernels } from '../interpreter.js';
import { ARRAY_KERNELS } from './arrays.js';
import { CONTROL_FLOW_KERNELS } from './control-flow.js';
import { FOREST_KERNELS } from './forests.js';
import { MATH_KERNELS } from './math.js';
import { RANDOM_KERNELS } from './random.js';
import { RESTORE_KERNELS } from './restore.js';
import { STRING_KERNELS } from './strings.js';
import { TABLE_KERNELS } from './tables.js';
import { TREE_KERNELS } from './trees.js';
import { VARIABLE_KERNELS } from './variables.js';

export const KERNELS: Kernels = {
  ...ARRAY_KERNELS,
  ...CONTROL_FLOW_KERNELS,
  ...FOREST_KERNELS,
  ...MATH_KERNELS,
  ...RANDOM_KERNELS,
  ...RESTORE_KERNELS,
  ...STRING_KERNELS,
  ...TABLE_KERNELS,
  ...TREE_KERNELS,
  ...VARIABLE_KERNELS,
};
