// Operators that only TensorFlow Lite's graphs contain: names of the importer's own. Importer's
// worker thread.
import type { Operators } from '../../lower/context.js';
import { LITE_LAYERS } from './layers.js';
import { LITE_QUANTISED } from './quantised.js';

export const LITE: Operators = { ...LITE_LAYERS, ...LITE_QUANTISED };
