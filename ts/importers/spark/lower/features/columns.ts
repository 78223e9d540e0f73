// Spark's stages that only select columns: SQL statements, and the columns that a formula removes.
// Importer's worker thread. Source: tabular.md 5.2
import { structCell, textCell, textsCell } from '../../read/cells.js';
import { need, StageProblem } from '../../read/problem.js';
import { lowerSql, type SqlDialect } from '../../sql/index.js';
import { ANYTHING, type Variable } from '../frame.js';
import type { Lower, Stage } from '../stage.js';

const lowerSqlTransformer: Lower = (stage) => {
  const { frame, problems } = stage.model;
  const known = new Map(frame.variables.map((variable) => [variable.column, variable]));
  const field = (name: string) => {
    const variable = frame.get(name, ANYTHING);
    known.set(variable.column, variable);
    return variable.column;
  };
  // A statement shows what it reads as well: nothing is used up by it.
  const result = lowerSql(
    stage.plan,
    stage.params.text('statement'),
    {
      names: () => frame.variables.map(({ name }) => name),
      get: (name) => need(frame.find(name), `unknown column '${name}'`).column,
      missing: (name) => (frame.isOpen(name) ? field(name) : undefined),
    },
    problems,
    stage.place,
    dialectOf(stage),
  );
  if (result === undefined) return;
  const variables = result.columns.map(({ name, column }): Variable => {
    const same = known.get(column);
    if (same?.name === name) return same;
    const type = same?.type ?? stage.plan.typeOf(column);
    return { name, column, type, attributes: same?.attributes ?? {}, madeBy: stage.number };
  });
  checkNames(variables);
  if (result.keepsAll) for (const variable of variables) frame.set(variable);
  else frame.keep(variables);
};

/** Spark 4 computes in ANSI mode by default; the model's setting says otherwise. */
function dialectOf({ model, metadata: { sparkVersion } }: Stage): SqlDialect {
  const major = Number.parseInt(sparkVersion, 10);
  return { major, ansi: model.ansi ?? major >= 4 };
}

function checkNames(variables: readonly Variable[]): void {
  const names = new Set<string>();
  for (const { name } of variables) {
    if (names.has(name)) throw new StageProblem(`statement: two columns are named '${name}'`);
    names.add(name);
  }
}

const lowerColumnPruner: Lower = async (stage) => {
  const table = await stage.folder.table();
  stage.model.frame.drop(textsCell(table.column(['columnsToPrune'], 0)[0], 'columnsToPrune'));
};

/** Gives the values of a formula's vector their readable names. */
const lowerAttributeRewriter: Lower = async (stage) => {
  const table = await stage.folder.table();
  const name = textCell(table.column(['vectorCol'], 0)[0], 'vectorCol');
  const prefixes = Object.entries(
    structCell(table.column(['prefixesToRewrite'], 1)[0], 'prefixesToRewrite'),
  ).map(([from, to]) => [from, textCell(to, 'prefixesToRewrite')] as const);
  const { frame } = stage.model;
  const variable = frame.find(name);
  if (variable?.attributes.slots === undefined) return;
  const slots = variable.attributes.slots.map((slot) => {
    const found = prefixes.find(([from]) => slot.name?.startsWith(from) === true);
    if (found === undefined || slot.name === undefined) return slot;
    return { ...slot, name: found[1] + slot.name.slice(found[0].length) };
  });
  frame.set({ ...variable, attributes: { ...variable.attributes, slots } });
};

export const COLUMN_STAGES: Readonly<Record<string, Lower>> = {
  SQLTransformer: lowerSqlTransformer,
  ColumnPruner: lowerColumnPruner,
  VectorAttributeRewriter: lowerAttributeRewriter,
};
