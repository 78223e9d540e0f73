// The plan of a booster. Plain data.
import type { Plan } from '../plan/generated/plan.js';

export interface Lowered {
  readonly plan: Plan;
  readonly warnings: readonly string[];
}
