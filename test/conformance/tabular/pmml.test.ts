// PMML documents of several producers answer as their producers, or JPMML, did. The documents lie
// beside the checkout (shared/models/pmml); without them the suite is skipped.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { importPmml } from '../../../ts/pmml/index.js';
import type { Plan } from '../../../ts/tabular/generated/plan.js';
import { runPlan } from '../../unit/tabular/run-plan.js';

interface Entry {
  readonly id: string;
  readonly model: string;
  readonly input?: string;
  readonly expected?: string;
  readonly cases?: string;
  readonly tolerance: number;
  readonly exclude?: readonly string[];
  readonly missing_tokens?: readonly string[];
}

interface Case {
  readonly in?: Readonly<Record<string, unknown>>;
  readonly in_by_position?: readonly unknown[];
  readonly out?: Readonly<Record<string, unknown>>;
  readonly out_by_position?: readonly unknown[];
  readonly out_by_selection_method?: Readonly<Record<string, readonly unknown[]>>;
}

const FOLDER = ['shared', '../shared', '../../shared']
  .map((each) => join(process.cwd(), each, 'models', 'pmml'))
  .find(existsSync);

// Fields in the expected answers that are not the model's own names.
const PICKED: Readonly<Record<string, readonly string[]>> = {
  'sas-LogisticRegressionIris': [],
};

function csv(text: string): { header: string[]; rows: string[][] } {
  const lines = text.split(/\r?\n/).filter((each) => each !== '');
  const cut = (line: string) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
    );
  const [first = '', ...rest] = lines;
  return { header: cut(first), rows: rest.map(cut) };
}

const NUMBERS = new Set(['double', 'float', 'int32', 'int64']);

function typed(text: string, type: string): unknown {
  if (NUMBERS.has(type)) return Number(text);
  if (type === 'bool') return text === 'true' || text === '1';
  return text;
}

function columnsOf(plan: Plan, header: string[], rows: string[][], missing: ReadonlySet<string>) {
  const columns: Record<string, unknown[]> = {};
  for (const field of plan.fields) {
    const at = header.indexOf(field.name);
    if (at < 0) continue;
    columns[field.name] = rows.map((row) => {
      const text = row[at] ?? '';
      return missing.has(text) ? null : typed(text, field.type);
    });
  }
  return columns;
}

function close(got: unknown, expected: unknown, tolerance: number, where: string): void {
  if (typeof got === 'number') {
    const wanted = typeof expected === 'boolean' ? Number(expected) : Number(expected);
    const size = Math.max(Math.abs(wanted), 1);
    const ok = Math.abs(got - wanted) <= tolerance * size || Object.is(got, wanted);
    assert.ok(ok, `${where}: got ${got}, expected ${String(expected)}`);
    return;
  }
  assert.equal(String(got), String(expected), where);
}

async function csvGolden(folder: string, entry: Entry): Promise<void> {
  const { plan } = await importPmml(join(folder, entry.model));
  const missing = new Set(entry.missing_tokens ?? []);
  const input = csv(readFileSync(join(folder, entry.input ?? ''), 'utf8'));
  const expected = csv(readFileSync(join(folder, entry.expected ?? ''), 'utf8'));
  const columns = columnsOf(plan, input.header, input.rows, missing);
  const answer = runPlan(plan, columns, { rows: input.rows.length });
  const only = PICKED[entry.id];
  let compared = 0;
  for (const [at, name] of expected.header.entries()) {
    if (entry.exclude?.includes(name)) continue;
    const got = answer.columns[name];
    if (got === undefined && only !== undefined) continue;
    assert.ok(got !== undefined, `no output '${name}', but ${Object.keys(answer.columns)}`);
    compared += 1;
    for (const [r, row] of expected.rows.entries()) {
      const wanted = row[at] ?? '';
      if (missing.has(wanted) && got[r] === null) continue;
      close(got[r], wanted, entry.tolerance, `${name}, row ${r}`);
    }
  }
  assert.ok(compared > 0, 'no column was compared');
}

async function caseGolden(folder: string, entry: Entry): Promise<void> {
  const { plan } = await importPmml(join(folder, entry.model));
  const cases = JSON.parse(
    readFileSync(join(folder, dirname(entry.model), 'cases.json'), 'utf8'),
  ) as Case[];
  for (const [i, each] of cases.entries()) {
    const columns: Record<string, unknown[]> = {};
    for (const [f, field] of plan.fields.entries()) {
      const value = each.in?.[field.name] ?? each.in_by_position?.[f] ?? null;
      columns[field.name] = [field.type === 'string' && value !== null ? String(value) : value];
    }
    const answer = runPlan(plan, columns, { rows: 1 });
    const names = plan.outputs.map((output) => output.name);
    const got = (name: string) => answer.columns[name]?.[0];
    for (const [name, value] of Object.entries(each.out ?? {})) {
      const own = name.replace(/^predicted_/, '');
      const labelled = `confidence(${String(got(names[0] ?? ''))})`;
      const known = [name, own, labelled].find((one) => names.includes(one)) ?? names[0] ?? '';
      close(got(known), value, entry.tolerance, `case ${i}, ${name}`);
    }
    for (const [at, value] of (each.out_by_position ?? []).entries()) {
      close(got(names[at] ?? ''), value, entry.tolerance, `case ${i}, output ${at} of ${names}`);
    }
    const [method] = Object.values(each.out_by_selection_method ?? {});
    if (method !== undefined) {
      const score = String(got(names[0] ?? ''));
      assert.equal(score, method[0]);
      close(got(`confidence(${score})`), method[1], entry.tolerance, `case ${i}, confidence`);
    }
  }
}

if (FOLDER === undefined) {
  test('PMML goldens', { skip: 'shared/models/pmml is not there' }, () => {});
} else {
  const index = JSON.parse(readFileSync(join(FOLDER, 'INDEX.json'), 'utf8')) as Entry[];
  for (const entry of index) {
    if (entry.id.includes('Association')) continue; // by transaction: see association.test.ts
    test(entry.id, () => {
      const run = entry.input === undefined ? caseGolden : csvGolden;
      return run(FOLDER, entry);
    });
  }
}
