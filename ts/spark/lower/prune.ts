// Takes out of a plan what its default outputs do not need: stages, fields, and the outputs that
// nothing fills any more. Pure; importer's worker thread.
import type { Block, Expression, Plan, Stage } from '../../tabular/generated/plan.js';

export function liveColumns(plan: Plan): Plan {
  const live = new Set<number>();
  for (const { column, extra } of plan.outputs ?? []) if (extra !== true) live.add(column ?? 0);
  const stages = plan.block.stages ?? [];
  const kept: Stage[] = [];
  const filled = new Set<number>();
  for (const stage of stages.toReversed()) {
    if (!(stage.outputs ?? []).some((column) => live.has(column))) continue;
    kept.push(stage);
    for (const column of stage.outputs ?? []) filled.add(column);
    for (const column of readBy(stage)) live.add(column);
  }
  const fields = (plan.fields ?? []).filter(({ column }) => live.has(column ?? 0));
  for (const { column } of fields) filled.add(column ?? 0);
  return {
    ...plan,
    fields,
    block: { ...plan.block, stages: kept.toReversed() },
    outputs: (plan.outputs ?? []).filter(({ column }) => filled.has(column ?? 0)),
  };
}

/** All columns that a stage looks at, in its blocks and expressions too. */
function readBy(stage: Stage): number[] {
  const columns = [...(stage.inputs ?? [])];
  for (const { blocks = [], expressions = [] } of stage.attributes ?? []) {
    columns.push(...blocks.flatMap(readInBlock), ...expressions.flatMap(readInExpression));
  }
  return columns;
}

const readInBlock = ({ stages = [] }: Block): number[] => stages.flatMap(readBy);

function readInExpression({ nodes = [] }: Expression): number[] {
  return nodes.flatMap(({ column }) => (column === undefined || column < 0 ? [] : [column]));
}
