// PMML documents of several producers give their producers' or JPMML's results. The documents are
// beside the checkout (shared/models/pmml); without them the suite is skipped.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { importPmml } from '../../../ts/importers/pmml/index.js';
import type { Plan } from '../../../ts/importers/plan/generated/plan.js';
import { runPlan } from '../../unit/importers/plan/run-plan.js';

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

// For these documents, of the tool's own columns only those that the document's Output names are
// compared (INDEX.json's note); `Species` differs in case there.
const ONLY_OUTPUTS = new Set(['sas-LogisticRegressionIris']);

// Results in which JPMML-Evaluator 1.7.6 differs from pmml4s, the source of the cases: the
// cumulative hazard, and no reason code beyond the existing ones.
const JPMML: Readonly<Record<string, readonly unknown[]>> = {
  'dmg-general-cox': [2.333626826088635],
  'dmg-scorecard-example': [29, 'RC2', 'RC1', null],
};

// Documents whose out_by_position means other outputs than the plan's first ones.
const POSITIONS: Readonly<Record<string, readonly string[]>> = {
  'dmg-scorecard-example': ['Final Score', 'Reason Code 1', 'Reason Code 2', 'Reason Code 3'],
  'dmg-naive-bayes': [
    'amount of claims',
    'probability(500)',
    'probability(100)',
    'probability(500)',
    'probability(1000)',
    'probability(5000)',
    'probability(10000)',
  ],
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
  let compared = 0;
  for (const [at, name] of expected.header.entries()) {
    if (entry.exclude?.includes(name)) continue;
    const own = plan.outputs.some((output) => output.name === name) && name !== 'Species';
    if (ONLY_OUTPUTS.has(entry.id) && !own) continue;
    const got = answer.columns[name];
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
    const names = POSITIONS[entry.id] ?? plan.outputs.map((output) => output.name);
    // An OutputField of dataType float is rounded to float; the expected value is not.
    const float = new Set(plan.outputs.filter((o) => o.type === 'float').map((o) => o.name));
    const within = (name: string) => (float.has(name) ? 6e-8 : entry.tolerance);
    const got = (name: string) => answer.columns[name]?.[0];
    const corrected = JPMML[entry.id];
    for (const [at, value] of (corrected ?? []).entries()) {
      close(got(names[at] ?? ''), value, entry.tolerance, `case ${i}, output ${at}`);
    }
    if (corrected !== undefined) continue;
    for (const [name, value] of Object.entries(each.out ?? {})) {
      const own = name.replace(/^predicted_/, '');
      const labelled = `confidence(${String(got(names[0] ?? ''))})`;
      const known = [name, own, labelled].find((one) => names.includes(one)) ?? names[0] ?? '';
      close(got(known), value, within(known), `case ${i}, ${name}`);
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

// A row is a transaction: the list of its items.
async function transactionGolden(folder: string, entry: Entry): Promise<void> {
  const { plan } = await importPmml(join(folder, entry.model));
  const input = csv(readFileSync(join(folder, entry.input ?? ''), 'utf8'));
  const expected = csv(readFileSync(join(folder, entry.expected ?? ''), 'utf8'));
  const items = new Map<string, string[]>();
  for (const [transaction = '', item = ''] of input.rows) {
    items.set(transaction, [...(items.get(transaction) ?? []), item]);
  }
  const columns = Object.fromEntries(plan.fields.map(({ name }) => [name, [...items.values()]]));
  const answer = runPlan(plan, columns, { rows: items.size });
  const missing = new Set(entry.missing_tokens ?? []);
  assert.equal(expected.rows.length, items.size);
  for (const [at, name] of expected.header.entries()) {
    for (const [r, row] of expected.rows.entries()) {
      const got = answer.columns[name]?.[r];
      const wanted = row[at] ?? '';
      if (missing.has(wanted)) assert.ok(got === null, `${name}, row ${r}: ${String(got)}`);
      else close(got, wanted, entry.tolerance, `${name}, row ${r}`);
    }
  }
}

if (FOLDER === undefined) {
  test('PMML goldens', { skip: 'shared/models/pmml is not there' }, () => {});
} else {
  const index = JSON.parse(readFileSync(join(FOLDER, 'INDEX.json'), 'utf8')) as Entry[];
  for (const entry of index) {
    const plain = entry.input === undefined ? caseGolden : csvGolden;
    const run = entry.id.includes('Association') ? transactionGolden : plain;
    test(entry.id, () => run(FOLDER, entry));
  }
}
