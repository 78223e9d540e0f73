// The plan of a booster. Importer's worker thread; plain data.
import type { Plan } from '../plan/generated/plan.js';

export interface Lowered {
  readonly plan: Plan;
  readonly warnings: readonly string[];
}
