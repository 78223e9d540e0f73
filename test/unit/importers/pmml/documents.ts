// Short PMML documents, and their results. Test time only.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Output, Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { EXPLANATIONS } from '../../../../ts/model/explanation-names.js';
import { type Imported, importPmml } from '../../../../ts/importers/pmml/index.js';
import { type RunAnswer, type RunOptions, runPlan } from '../plan/run-plan.js';

/** A DataDictionary from "x:double y:string(a|b)"; listed values are the valid ones. */
export function dictionary(fields: string): string {
  const made = fields.split(' ').map((field) => {
    const [, name, dataType = '', values] = /^(\w+):(\w+)(?:\((.*)\))?$/.exec(field) ?? [];
    const optype = /^(string|boolean)$/.test(dataType) ? 'categorical' : 'continuous';
    const inner = (values ?? '').split('|').filter((each) => each !== '');
    const listed = inner.map((each) => `<Value value="${each}"/>`).join('');
    return `<DataField name="${name}" optype="${optype}" dataType="${dataType}">${listed}</DataField>`;
  });
  return `<DataDictionary>${made.join('')}</DataDictionary>`;
}

/** A MiningSchema of active fields and, after a '>', the target: "x y > z". */
export function schema(fields: string): string {
  const [active = '', target] = fields.split('>').map((each) => each.trim());
  const made = active
    .split(' ')
    .filter((each) => each !== '')
    .map((each) => `<MiningField name="${each}"/>`);
  if (target !== undefined) made.push(`<MiningField name="${target}" usageType="target"/>`);
  return `<MiningSchema>${made.join('')}</MiningSchema>`;
}

/** The document around a DataDictionary and a model. */
export function document(inner: string, version = '4.4'): string {
  const [major, minor] = version.split('.');
  const namespace = `http://www.dmg.org/PMML-${major}_${minor}`;
  return `<?xml version="1.0"?>\n<PMML xmlns="${namespace}" version="${version}"><Header/>\n${inner}</PMML>\n`;
}

const EXPLAINED: ReadonlySet<string> = new Set(EXPLANATIONS);
/** The outputs but for those that explain trees. */
export const outputsOf = ({ outputs }: Plan): readonly Output[] =>
  outputs.filter(({ name }) => !EXPLAINED.has(name));

/** Imports a text as the file model.pmml. */
export async function importText(text: string | Uint8Array): Promise<Imported> {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pmml-'));
  try {
    const path = join(folder, 'model.pmml');
    writeFileSync(path, text);
    return await importPmml(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The document's results, column by column. */
export async function answers(
  text: string,
  columns: Readonly<Record<string, readonly unknown[]>>,
  options: RunOptions = {},
): Promise<RunAnswer> {
  const { plan } = await importText(text);
  const rows = options.rows ?? Object.values(columns)[0]?.length ?? 1;
  const all = Object.fromEntries(
    plan.fields.map(({ name }) => [name, columns[name] ?? new Array(rows).fill(null)]),
  );
  return runPlan(plan, all, { ...options, rows });
}
