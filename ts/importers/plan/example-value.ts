// An example text for a field of a tabular model, if its plan shows one: a label that is looked up,
// or any text if it is split into words. Used for sample requests. Importer's worker thread; pure.
import type { Block, Field, Plan, Stage } from './generated/plan.js';

/** Stages that look up texts in a list. */
const LOOKUPS = new Set(['string_indexer', 'string_map']);
/** Stages that take any text. */
const ANY_TEXT = new Set(['tokenizer', 'regex_tokenizer', 'feature_hasher']);
const TEXT = 'hello world';

/** Returns a JSON token; undefined: the plan shows none. */
export function exampleValue(plan: Plan, { column, type }: Field): string | undefined {
  if (type !== 'string') return undefined;
  const stages = stagesOf(plan.block);
  const readers = stages.filter(({ inputs }) => inputs.includes(column));
  for (const { kind, attributes } of readers) {
    const [label] = attributes.find(({ name }) => name === 'labels')?.texts ?? [];
    if (LOOKUPS.has(kind) && label !== undefined) return JSON.stringify(label);
  }
  const takesAny = readers.length > 0 && readers.every(({ kind }) => ANY_TEXT.has(kind));
  return takesAny && !stages.some((stage) => asks(stage, column))
    ? JSON.stringify(TEXT)
    : undefined;
}

function stagesOf({ stages }: Block): readonly Stage[] {
  return stages.flatMap((stage) => [
    stage,
    ...stage.attributes.flatMap(({ blocks = [] }) => blocks.flatMap(stagesOf)),
  ]);
}

/** Whether an expression of the stage reads the column. */
function asks({ attributes }: Stage, column: number): boolean {
  return attributes.some(({ expressions = [] }) =>
    expressions.some(({ nodes }) => nodes.some((node) => node.column === column)),
  );
}
