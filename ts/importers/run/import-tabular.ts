// Imports a tabular model: determines its format, lowers it, applies the schema, writes the plan's
// file. Importer's worker thread.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MLEAP_FILE, SKOPS_SCHEMA, ydfPrefix } from '../../base/file-names.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { TabularRequest } from './importer.js';
import { PLAN_FILE } from './model-cache.js';
import { type ModelFiles, openModelFiles } from '../plan/archive/index.js';
import { encodePlan } from '../plan/builder.js';
import type { Plan } from '../plan/generated/plan.js';
import {
  describePlan,
  type ImportedTabular,
  type ImportedFormat,
  type TabularSettings,
} from '../plan/imported.js';
import { explainedFields, readBackground, withBackground } from '../plan/background.js';
import { applySchema, readSchema } from '../plan/schema.js';
import type { Verification } from '../plan/verification.js';
import { boosterAt, foreignFile } from './foreign-files.js';
import { TABULAR_IMPORTERS } from './tabular-importers.js';

/** The result of one format's importer. */
export interface Lowered {
  readonly plan: Plan;
  readonly warnings: readonly string[];
  readonly verification?: Verification;
  /** ImportedColumn.example by name, if the document says more than the plan. */
  readonly examples?: Readonly<Record<string, string>>;
  /** The features that Shapley values are of, if they are not the fields. */
  readonly features?: readonly string[];
}

/**
 * Imports a folder, a file or an archive, given as `opened` if it is already open: its owner closes
 * it. Errors: ModelInvalid with everything that is not supported.
 */
export type TabularImporter = (
  path: string,
  settings: TabularSettings,
  opened?: ModelFiles,
) => Promise<Lowered>;

export type TabularImporters = Readonly<Record<ImportedFormat, () => Promise<TabularImporter>>>;

const SPARK_METADATA = 'metadata/';

/** Errors: ModelInvalid: all problems found by the format's importer or the schema. */
export async function importTabular(
  request: TabularRequest,
  workFolder: string,
  importers: TabularImporters = TABULAR_IMPORTERS,
): Promise<ImportedTabular> {
  const { schema, background } = request;
  const lowered = await lower(request, importers);
  const { format, plan, warnings, verification, examples, features } = lowered;
  const fitted =
    schema === '' ? { plan, warnings: [] } : applySchema(plan, await readSchema(schema), schema);
  const { plan: fit } = fitted;
  const made =
    background === undefined
      ? fit
      : withBackground(fit, await readBackground(background), background);
  const bytes = encodePlan(made);
  const file = join(workFolder, PLAN_FILE);
  writeFileSync(file, bytes);
  return {
    format,
    ...describePlan(made, examples),
    plan: file,
    planBytes: bytes.byteLength,
    warnings: [...warnings, ...fitted.warnings, ...unusedSettings(format, request)],
    ...(verification === undefined ? {} : { verification }),
    ...(features === undefined ? {} : { features }),
    ...explainedBy(made),
  };
}

/** The fields that Shapley values need, if there are such values and they do not need all. */
function explainedBy(plan: Plan): Pick<ImportedTabular, 'explained'> {
  const fields = explainedFields(plan);
  if (fields === undefined || fields.length === plan.fields.length) return {};
  return { explained: fields.map(({ name }) => name) };
}

async function lower(
  { format, path, timezone, ansi, answer }: TabularRequest,
  importers: TabularImporters,
): Promise<Lowered & { format: ImportedFormat }> {
  const settings = { timezone, ansi, ...(answer === undefined ? {} : { answer }) };
  if (format === 'booster') {
    const found = (await boosterAt(path)) ?? (await notABooster(path));
    const importer = await importers[found]();
    return { format: found, ...(await importer(path, settings)) };
  }
  if (format !== 'archive') {
    const importer = await importers[format]();
    return { format, ...(await importer(path, settings)) };
  }
  const files = await openModelFiles(path);
  try {
    const found = formatOf(files, path);
    const importer = await importers[found]();
    return { format: found, ...(await importer(path, settings, files)) };
  } finally {
    await files.close();
  }
}

/** Errors: ModelInvalid: always, with what the file is. */
async function notABooster(path: string): Promise<never> {
  const expected = 'expected a model that XGBoost, LightGBM or CatBoost has saved';
  const what = (await foreignFile(path)) ?? expected;
  throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${what}`);
}

/** Only Spark's times are instants, and only its SQL has an ANSI mode. */
function unusedSettings(
  format: ImportedFormat,
  { timezone, ansi }: TabularSettings,
): readonly string[] {
  if (format === 'spark') return [];
  const given = [
    ['timezone', timezone],
    ['spark.ansi', ansi],
  ].filter(([, value]) => value !== '');
  return given.map(([name, value]) => `${name} '${value}': it has no effect on ${format} models`);
}

/** Errors: ModelInvalid: neither a Spark model nor a bundle nor a YDF model. */
function formatOf({ names }: ModelFiles, path: string): ImportedFormat {
  if (names.includes(MLEAP_FILE)) return 'mleap';
  if (names.some((name) => name.startsWith(SPARK_METADATA))) return 'spark';
  if (ydfPrefix(names) !== undefined) return 'ydf';
  if (names.includes(SKOPS_SCHEMA)) return 'sklearn';
  const shown = names.slice(0, 5).join(', ');
  throw new ServalError(
    ErrorCode.ModelInvalid,
    `${path}: expected a model that Spark has saved (metadata/, stages/), an MLeap bundle ` +
      `(${MLEAP_FILE}, root/), a YDF model (data_spec.pb, header.pb) or a .skops file ` +
      `(${SKOPS_SCHEMA}), got ${names.length} files: ${shown}`,
  );
}
