// All operators on sparse, ragged and hashed features. Importer's worker thread.
import type { Operators } from '../../lower/context.js';
import { COUNTS } from './counts.js';
import { EXAMPLES } from './examples.js';
import { HASHES } from './hashes.js';
import { RAGGED } from './ragged.js';
import { SCATTER } from './scatter.js';
import { SEARCH } from './search.js';
import { SEGMENTS } from './segments.js';
import { SELECTION } from './selection.js';
import { SEQUENCES } from './sequences.js';
import { SPARSE } from './sparse.js';
import { SPARSE_MATH } from './sparse-math.js';
import { TABLES } from './tables.js';

export const FEATURES: Operators = {
  ...COUNTS,
  ...EXAMPLES,
  ...HASHES,
  ...RAGGED,
  ...SCATTER,
  ...SEARCH,
  ...SEGMENTS,
  ...SELECTION,
  ...SEQUENCES,
  ...SPARSE,
  ...SPARSE_MATH,
  ...TABLES,
};
