// The rows about operation: metrics, many models, loads under load, overload.
import { manyModelsRows } from './many-models.mjs';
import { metrics } from './metrics.mjs';
import { overload } from './overload.mjs';
import { reload } from './reload.mjs';

export const operation = [...metrics, ...manyModelsRows, ...reload, ...overload];
