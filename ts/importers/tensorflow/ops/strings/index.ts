// All string operators. Importer's worker thread.
import type { Operators } from '../../lower/context.js';
import { STRING_ELEMENTS } from './elements.js';
import { STRING_JOIN } from './join.js';
import { STRING_NUMBERS } from './numbers.js';

export const STRINGS: Operators = { ...STRING_ELEMENTS, ...STRING_JOIN, ...STRING_NUMBERS };
