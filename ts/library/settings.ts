// The settings of a model without a server. Data only.
import { SERVE_FLAGS } from '../config/flags.js';

/** The settings of `serval serve` that the library has too, by flag name. */
export const MODEL_SETTINGS: readonly string[] = SERVE_FLAGS.filter(
  (row) => row.ofModels === true,
).map((row) => row.name);
