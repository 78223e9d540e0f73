// The rows about operation: metrics, many models, loads during traffic, overload, health.
import { health } from './health.mjs';
import { idleModels } from './idle-models.mjs';
import { manyModelsRows } from './many-models.mjs';
import { metrics } from './metrics.mjs';
import { onDemand } from './on-demand.mjs';
import { overload } from './overload.mjs';
import { quietLoads } from './quiet-loads.mjs';
import { reload } from './reload.mjs';
import { traces } from './traces.mjs';

export const operation = [
  ...metrics,
  ...traces,
  ...manyModelsRows,
  ...idleModels,
  ...reload,
  ...quietLoads,
  ...onDemand,
  ...overload,
  ...health,
];
