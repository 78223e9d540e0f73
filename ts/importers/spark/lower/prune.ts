// Removes stages and fields that no output of a plan needs. Pure; importer's worker thread.
import type { Plan } from '../../plan/generated/plan.js';
import { neededColumns, stagesNeeded } from '../../plan/needs.js';

export function liveColumns(plan: Plan): Plan {
  const live = neededColumns(plan, plan.outputs);
  return {
    ...plan,
    fields: plan.fields.filter(({ column }) => live.has(column)),
    block: { ...plan.block, stages: stagesNeeded(plan, live) },
  };
}
