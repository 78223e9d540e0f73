// Removes stages and fields that no output of a plan needs. Pure; importer's worker thread.
import type { Column } from '../../plan/builder.js';
import type { Plan } from '../../plan/generated/plan.js';
import { neededColumns, stagesNeeded } from '../../plan/needs.js';

/** `kept`: columns whose stages stay, though no output reads them. */
export function liveColumns(plan: Plan, kept: readonly Column[] = []): Plan {
  const live = new Set([...neededColumns(plan, plan.outputs), ...kept]);
  return {
    ...plan,
    fields: plan.fields.filter(({ column }) => live.has(column)),
    block: { ...plan.block, stages: stagesNeeded(plan, live) },
  };
}
