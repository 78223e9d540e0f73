// `serval inspect` of a tabular model: its fields, outputs and stages. Control plane, main thread.
// Imports the model, serves nothing.
import { rm } from 'node:fs/promises';
import { importInThread } from '../../importers/run/import-thread.js';
import { tabularFormat } from '../../importers/run/model-files.js';
import {
  tabularSettingsOf,
  type FoundModel,
  type FoundVersion,
} from '../../models/registry/sources/scan.js';
import type {
  ImportedColumn,
  ImportedTabular,
  ImportedFormat,
} from '../../importers/plan/imported.js';
import { servalVersion } from '../../base/version.js';

/** Output of `--json`. */
export interface TabularReport extends Omit<ImportedTabular, 'plan' | 'verification'> {
  readonly name: string;
  readonly version: string;
  readonly versions: readonly string[];
  readonly path: string;
  /** "" = none. */
  readonly schema: string;
}

const FORMATS: Readonly<Record<ImportedFormat, string>> = {
  spark: 'Spark ML model',
  mleap: 'MLeap bundle',
  pmml: 'PMML document',
  xgboost: 'XGBoost model',
  lightgbm: 'LightGBM model',
  catboost: 'CatBoost model',
  ydf: 'YDF model',
  sklearn: 'scikit-learn model',
};

/**
 * Calls `use` with a version's import and returns its result; the plan's file exists until then.
 * Errors: those of the import and of `use`.
 */
export async function withImported<T>(
  model: FoundModel,
  version: FoundVersion,
  use: (table: ImportedTabular) => T,
): Promise<T> {
  const format = tabularFormat(version.format) ?? 'archive';
  const { verification: _, ...settings } = tabularSettingsOf(model, version);
  const { model: table, temporaryFolder } = await importInThread(
    { format, path: version.path, ...settings, cacheFolder: '' },
    { programVersion: servalVersion() },
  );
  try {
    return use(table);
  } finally {
    if (temporaryFolder !== '') await rm(temporaryFolder, { recursive: true, force: true });
  }
}

/** Errors: those of the import. */
export function tabularReport(model: FoundModel, version: FoundVersion): Promise<TabularReport> {
  return withImported(model, version, ({ plan: _, verification: __, ...table }) => ({
    name: model.name,
    version: version.version,
    versions: model.versions.map((one) => one.version),
    path: version.path,
    schema: tabularSettingsOf(model, version).schema,
    ...table,
  }));
}

/** The report for people; with a final newline. Pure. */
export function tabularText(report: TabularReport): string {
  const rows: [string, string][] = [
    ['model', report.name],
    ['version', `${report.version} of ${report.versions.join(', ')}`],
    ['path', report.path],
    ['format', FORMATS[report.format]],
    ['written by', report.producer],
    ['schema', report.schema],
    ['timezone', report.timezone],
    ['plan', `${report.planBytes} bytes`],
    ...report.warnings.map((warning): [string, string] => ['warning', warning]),
  ];
  const shown = rows.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([key]) => key.length)) + 2;
  const head = shown.map(([key, value]) => `${key.padEnd(width)}${value}\n`).join('');
  const outputs = report.outputs.filter((one) => !one.optional);
  const extra = report.outputs.filter((one) => one.optional);
  const stages = report.stages.map(({ kind, count }) => [kind, String(count)]);
  return (
    head +
    block('fields', report.fields.map(fieldRow)) +
    block('outputs', outputs.map(columnRow)) +
    (extra.length === 0 ? '' : block('returned on request', extra.map(columnRow))) +
    block('stages', stages)
  );
}

const columnRow = ({ name, datatype, shape, type }: ImportedColumn): string[] => [
  name,
  datatype,
  `[${shape.join(',')}]`,
  type,
];

const fieldRow = (field: ImportedColumn): string[] => {
  const notes = [field.optional ? 'optional' : '', field.about];
  return [...columnRow(field), notes.filter((note) => note !== '').join('; ')];
};

/** Rows in columns below a title. */
function block(title: string, rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) => {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return `  ${cells.join('  ').trimEnd()}\n`;
  });
  return `${title}\n${lines.join('') || '  none\n'}`;
}
