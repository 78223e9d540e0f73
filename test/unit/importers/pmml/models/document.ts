// Documents that a test writes, run through the importer and the engine. Test time only.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importPmml } from '../../../../../ts/importers/pmml/index.js';
import type { Plan } from '../../../../../ts/importers/plan/generated/plan.js';
import { type RunAnswer, type RunOptions, runPlan } from '../../plan/run-plan.js';

/** Fields are "x", a double; "c:string"; "n:integer"; "y:string=a,b", categorical with values. */
export function dictionary(...fields: readonly string[]): string {
  const made = fields.map((field) => {
    const [, name, dataType = 'double', listed = ''] =
      /^([^:=]+)(?::([^=]+))?(?:=(.*))?$/.exec(field) ?? [];
    const optype = dataType === 'string' || listed !== '' ? 'categorical' : 'continuous';
    const values = listed.split(',').filter((each) => each !== '');
    const inside = values.map((each) => `<Value value="${each}"/>`).join('');
    return `<DataField name="${name}" optype="${optype}" dataType="${dataType}">${inside}</DataField>`;
  });
  return `<DataDictionary>${made.join('')}</DataDictionary>`;
}

/** Active fields, and after a bar the targets: "x c | y". */
export function schema(fields: string): string {
  const [active = '', targets = ''] = fields.split('|');
  const names = (text: string) => text.split(' ').filter((each) => each !== '');
  const field = (name: string, use: string) => `<MiningField name="${name}" usageType="${use}"/>`;
  const all = [
    ...names(active).map((name) => field(name, 'active')),
    ...names(targets).map((name) => field(name, 'target')),
  ];
  return `<MiningSchema>${all.join('')}</MiningSchema>`;
}

/** The plan of a document with that dictionary and model. */
export async function planOf(dataDictionary: string, model: string): Promise<Plan> {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pmml-'));
  try {
    const path = join(folder, 'model.pmml');
    const head = '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>';
    writeFileSync(path, `${head}${dataDictionary}${model}</PMML>`);
    return (await importPmml(path)).plan;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The document's results. */
export async function answer(
  dataDictionary: string,
  model: string,
  columns: Readonly<Record<string, readonly unknown[]>>,
  options?: RunOptions,
): Promise<RunAnswer['columns']> {
  return runPlan(await planOf(dataDictionary, model), columns, options).columns;
}

/** The reasons why the document cannot be imported; '' if it can. */
export async function problems(dataDictionary: string, model: string): Promise<string> {
  try {
    await planOf(dataDictionary, model);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
