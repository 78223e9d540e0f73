// All builtin operators of TensorFlow Lite that are lowered, by their name in the schema.
// Importer's worker thread; pure.
import type { LiteOperators } from '../op.js';
import { CONTROL_FLOW } from './control-flow.js';
import { ELEMENTWISE } from './elementwise.js';
import { LAYERS } from './layers.js';
import { RECURRENT_LAYERS } from './recurrent.js';
import { REDUCTIONS } from './reductions.js';
import { SHAPES } from './shapes.js';

export const LITE_OPERATORS: LiteOperators = {
  ...CONTROL_FLOW,
  ...ELEMENTWISE,
  ...LAYERS,
  ...RECURRENT_LAYERS,
  ...REDUCTIONS,
  ...SHAPES,
};
