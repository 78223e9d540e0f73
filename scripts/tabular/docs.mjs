// Writes the support tables into docs/reference/tabular.md from dist/: stages of Spark, ops of
// MLeap, functions of SQL, elements and functions of PMML, between two marks. With --check compares
// instead and exits 1 when they are stale. Build time only; needs dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const BEGIN = '<!-- support: written by scripts/tabular/docs.mjs -->';
const END = '<!-- support end -->';

/** Each row: a module of dist/importers/spark/lower, its table, and the subject of the table. */
const SPARK_GROUPS = [
  ['features/strings', 'STRING_STAGES', 'labels and categories'],
  ['features/text', 'TEXT_STAGES', 'text'],
  ['features/scalers', 'SCALING_STAGES', 'scaling'],
  ['features/vectors', 'VECTOR_STAGES', 'vectors'],
  ['features/columns', 'COLUMN_STAGES', 'columns'],
  ['models/linear', 'LINEAR_STAGES', 'linear models'],
  ['models/forest', 'FOREST_STAGES', 'trees'],
  ['models/learned', 'LEARNED_STAGES', 'other models'],
  ['models/xgboost', 'XGBOOST_STAGES', 'XGBoost from Python'],
];

const load = (folder, path) => import(pathToFileURL(join(folder, `${path}.js`)).href);

const words = (names) => names.map((name) => `\`${name}\``).join(', ');
const cell = (text) => text.replaceAll('|', '\\|');

/** Returns rows of two cells below their headings. */
function table(headings, rows) {
  const lines = rows.map((row) => `| ${row.map(cell).join(' | ')} |`);
  return [`| ${headings.join(' | ')} |`, '| --- | --- |', ...lines, ''].join('\n');
}

/**
 * Returns everything that the importers in `folder` (dist/) list. Throws if a stage is in no group.
 */
export async function supported(folder) {
  const { LOWERINGS } = await load(folder, 'spark/lower/kinds');
  const left = new Set(Object.keys(LOWERINGS));
  const groups = [];
  for (const [path, name, title] of SPARK_GROUPS) {
    const stages = Object.keys((await load(folder, `spark/lower/${path}`))[name]).sort();
    for (const stage of stages) left.delete(stage);
    groups.push([title, stages]);
  }
  const reasons = [...left].filter((stage) => typeof LOWERINGS[stage] === 'string');
  const others = [...left].filter((stage) => typeof LOWERINGS[stage] !== 'string');
  if (others.length > 0) groups.push(['meta models', others.sort()]);
  const { MLEAP_OPS, REFUSED_OPS } = await load(folder, 'mleap/ops/index');
  const { SQL_FUNCTIONS, SQL_ALIASES, SQL_TRIES } = await load(folder, 'spark/sql/functions');
  const { INTERNAL_FUNCTIONS, REWRITTEN_FUNCTIONS } = await load(
    folder,
    'spark/sql/tables/composite',
  );
  const { REFUSED_GROUPS } = await load(folder, 'spark/sql/tables/refused');
  const { MODELS } = await load(folder, 'pmml/dispatch');
  const { UNSUPPORTED_MODELS } = await load(folder, 'pmml/model-names');
  const { REFUSED_EXPRESSIONS, TABLES } = await load(folder, 'pmml/expressions/tables');
  const { BUILT_INS } = await load(folder, 'pmml/expressions/functions');
  return {
    spark: groups,
    sparkRefused: reasons.map((stage) => [stage, LOWERINGS[stage]]),
    mleap: [...MLEAP_OPS.keys()].sort(),
    mleapRefused: [...REFUSED_OPS],
    sql: SQL_FUNCTIONS,
    sqlAliases: SQL_ALIASES,
    sqlTries: Object.keys(SQL_TRIES),
    sqlInternal: INTERNAL_FUNCTIONS,
    sqlRewritten: REWRITTEN_FUNCTIONS,
    sqlRefused: REFUSED_GROUPS,
    pmml: Object.keys(MODELS).sort(),
    pmmlRefused: Object.entries(UNSUPPORTED_MODELS).sort(),
    pmmlExpressions: ['Constant', 'FieldRef', 'Apply', ...Object.keys(TABLES)].sort(),
    pmmlExpressionsRefused: Object.entries(REFUSED_EXPRESSIONS),
    pmmlFunctions: Object.keys(BUILT_INS),
  };
}

/** Maps group -> function names, in the order of their first function. */
export function sqlGroups(functions) {
  const groups = new Map();
  for (const [name, { group }] of functions)
    groups.set(group, [...(groups.get(group) ?? []), name]);
  return groups;
}

const refusals = (rows) => rows.map(([name, why]) => `\`${name}\`: ${why}`).join('; ');

/** Returns the Markdown of all tables. Pure. */
export function supportText(all) {
  const aliases = Object.entries(all.sqlAliases).map(
    ([name, other]) => `\`${name}\` = \`${other}\``,
  );
  const sections = [
    '### Spark stages',
    '',
    table(
      ['about', 'classes'],
      all.spark.map(([title, names]) => [title, words(names)]),
    ),
    'Pipelines can be nested. A tuned model (`CrossValidatorModel`, `TrainValidationSplitModel`) is served as its best',
    'model. A single stage can be a model.',
    '',
    `Not supported: ${refusals(all.sparkRefused)}.`,
    '',
    '### Functions of SQLTransformer',
    '',
    '`SELECT` lists over `__THIS__`, with operators, `CASE`, `CAST`, `BETWEEN`, `IN`, `LIKE`, `RLIKE` and `IS NULL`.',
    'A column without `AS` gets the name that it has in the Spark version that saved the model.',
    '',
    table(
      ['about', 'functions'],
      [...sqlGroups(all.sql)].map(([title, names]) => [
        title,
        words(names.filter((name) => !all.sqlInternal.has(name))),
      ]),
    ),
    `These return a missing value for what is an error in [ANSI mode](#ansi-mode): \`try_cast\`, ${words(all.sqlTries)}.`,
    '',
    `Aliases: ${aliases.join(', ')}.`,
    '',
    `Also supported: ${words(all.sqlRewritten)}, and type names as casts.`,
    '',
    'Functions of Spark 4.1 that are not supported:',
    '',
    table(
      ['reason', 'functions'],
      all.sqlRefused.map(([reason, names]) => [reason, words(names)]),
    ),
    '### MLeap ops',
    '',
    `${words(all.mleap)}.`,
    '',
    `Not supported: ${refusals(all.mleapRefused)}.`,
    '',
    '### PMML',
    '',
    `Models: ${words(all.pmml)}.`,
    '',
    `Not supported: ${refusals(all.pmmlRefused)}.`,
    '',
    `Expressions: ${words(all.pmmlExpressions)}.`,
    '',
    'A field that an `Aggregate` reads, and the items of an `AssociationModel` with a group field, are a list per row:',
    '`[R,D]`, or `[R,1,-1]` with its shape tensor.',
    '',
    `Not supported: ${refusals(all.pmmlExpressionsRefused)}; tables outside of the document (\`TableLocator\`).`,
    '',
    `Functions: ${words(all.pmmlFunctions)}.`,
    '',
  ];
  return sections.join('\n');
}

/** Returns the text with the part between the marks replaced. Throws if a mark is missing. */
export function withSupport(text, tables) {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`docs/reference/tabular.md has no "${BEGIN}" ... "${END}"`);
  return `${text.slice(0, from)}${BEGIN}\n${tables}\n${text.slice(to)}`;
}

async function main(check) {
  const path = join(root, 'docs', 'reference', 'tabular.md');
  const text = readFileSync(path, 'utf8');
  const wanted = withSupport(text, supportText(await supported(join(root, 'dist', 'importers'))));
  if (wanted === text) return 0;
  if (!check) writeFileSync(path, wanted);
  else
    process.stderr.write(
      'docs/reference/tabular.md: stale tables: node scripts/tabular/docs.mjs\n',
    );
  return check ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(await main(process.argv.includes('--check')));
}
