// The dependencies of a plan's outputs: columns, and with them stages and fields. The engine
// computes the same when it loads a lazy plan (native/tabular/lazy/needs.h). Pure; importer's
// worker thread.
import type { Block, Expression, Field, Output, Plan, Stage } from './generated/plan.js';

/** The columns of the outputs, and all that they are computed from. */
export function neededColumns(plan: Plan, outputs: readonly Output[]): ReadonlySet<number> {
  const live = new Set(outputs.map(({ column }) => column));
  for (const stage of plan.block.stages.toReversed()) {
    if (!stage.outputs.some((column) => live.has(column))) continue;
    for (const column of readBy(stage)) live.add(column);
  }
  return live;
}

/** The stages of the plan's outermost block that fill any of the columns. */
export function stagesNeeded(plan: Plan, live: ReadonlySet<number>): readonly Stage[] {
  return plan.block.stages.filter(({ outputs }) => outputs.some((column) => live.has(column)));
}

/** Whether a request for the default outputs may leave the field out. */
export function mayBeLeftOut(plan: Plan): (field: Field) => boolean {
  const needed = plan.lazy === true ? neededColumns(plan, defaultsOf(plan)) : undefined;
  return ({ column, optional }) =>
    optional === true || (needed !== undefined && !needed.has(column));
}

const defaultsOf = ({ outputs }: Plan): readonly Output[] =>
  outputs.filter(({ extra }) => extra !== true);

/** All columns that a stage reads, including its blocks and expressions. */
function readBy(stage: Stage): readonly number[] {
  const columns = [...stage.inputs];
  for (const { blocks = [], expressions = [] } of stage.attributes) {
    for (const block of blocks) columns.push(...readInBlock(block));
    for (const expression of expressions) columns.push(...readInExpression(expression));
  }
  return columns;
}

const readInBlock = ({ stages }: Block): number[] => stages.flatMap(readBy);

function readInExpression({ nodes }: Expression): number[] {
  return nodes.flatMap(({ column }) => (column === undefined || column < 0 ? [] : [column]));
}
