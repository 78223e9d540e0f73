// Pipelines saved by Spark 4.1, beside the checkout: imported, run, and compared with the results
// of Spark's own transform(). INDEX.json lists which input and which results belong together.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importSpark } from '../../../../ts/importers/spark/index.js';
import type { Plan, Type } from '../../../../ts/importers/plan/generated/plan.js';
import { type GivenColumn, runPlan } from '../../../unit/importers/plan/run-plan.js';

interface Entry {
  readonly id: string;
  readonly pipeline: string;
  readonly input: string;
  readonly libsvm: string | null;
  readonly schema: string;
  readonly expected: string | null;
}

const FOLDER = [join('..', 'shared'), join('..', '..', 'shared')]
  .map((shared) => join(shared, 'models', 'spark'))
  .find((folder) => existsSync(join(folder, 'INDEX.json')));
const MISSING = '../../shared/models/spark is not there';
const TOLERANCE = 1e-12;

/** Stages that come from JPMML and not from Spark. */
const NOT_SPARK: Readonly<Record<string, RegExp>> = {
  LogisticRegressionAuditNA:
    /stage 1 .*org\.jpmml\.sparkml\.feature\.CategoricalDomainModel.*; stage 2 .*ContinuousDomain/,
};

describe('pipelines of Spark 4.1', { skip: FOLDER === undefined && MISSING }, () => {
  if (FOLDER === undefined) return;
  const entries = JSON.parse(readFileSync(join(FOLDER, 'INDEX.json'), 'utf8')) as Entry[];
  test('all are there', () => assert.equal(entries.length, 25));
  for (const entry of entries) {
    test(entry.id, async () => {
      const path = join(FOLDER, entry.pipeline);
      const declined = NOT_SPARK[entry.id];
      if (declined !== undefined) return assert.rejects(importSpark(path), declined);
      const { plan, warnings } = await importSpark(path);
      assert.deepEqual(warnings, []);
      const { columns } = runPlan(plan, columnsOf(FOLDER, entry, plan));
      if (entry.expected === null) return checkBaskets(plan, columns);
      compare(readCsv(join(FOLDER, entry.expected)), plan, columns);
    });
  }
});

type Columns = Readonly<Record<string, readonly unknown[]>>;

/** The request's columns, with the types of the schema. */
function columnsOf(folder: string, entry: Entry, plan: Plan): Record<string, GivenColumn> {
  const { fields } = JSON.parse(readFileSync(join(folder, entry.schema), 'utf8')) as {
    readonly fields: readonly { readonly name: string; readonly type: unknown }[];
  };
  if (entry.libsvm !== null) return { features: libsvm(join(folder, entry.libsvm)) };
  const table = readCsv(join(folder, entry.input));
  if (entry.id.startsWith('FPGrowth')) return { items: baskets(table) };
  const types = new Map(fields.map(({ name, type }) => [name, String(type)]));
  const wanted = (plan.fields ?? []).map(({ name }) => name);
  return Object.fromEntries(
    wanted.map((name) => [name, typed(types.get(name) ?? '', table.get(name) ?? [])]),
  );
}

const TYPES: Readonly<Record<string, Type>> = {
  integer: 'int32',
  double: 'double',
  string: 'string',
  boolean: 'bool',
};

function typed(schema: string, cells: readonly string[]): GivenColumn {
  const type = TYPES[schema];
  if (type === undefined) throw new Error(`a field of type '${schema}'`);
  return { type, values: cells.map((cell) => (type === 'string' ? cell : Number(cell))) };
}

function libsvm(path: string): GivenColumn {
  const values = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .slice(1)
        .map((pair) => Number(pair.split(':')[1])),
    );
  return { type: 'vector', values };
}

function baskets(table: ReadonlyMap<string, readonly string[]>): GivenColumn {
  const found = new Map<string, string[]>();
  const items = table.get('item') ?? [];
  for (const [i, transaction] of (table.get('transaction') ?? []).entries()) {
    found.set(transaction, [...(found.get(transaction) ?? []), items[i] ?? '']);
  }
  return { type: 'list', element: 'string', values: [...found.values()] };
}

/** Spark returns sets without the items that are already in the basket. */
function checkBaskets(plan: Plan, { prediction = [] }: Columns): void {
  assert.deepEqual(
    plan.outputs?.map(({ name }) => name),
    ['prediction'],
  );
  assert.equal(prediction.length, 939);
  const suggested = prediction as readonly (readonly string[])[];
  assert.ok(suggested.some((items) => items.length > 0));
  for (const items of suggested) assert.equal(new Set(items).size, items.length);
}

/**
 * The first expected column is the prediction as a label, the others are the probabilities of the
 * classes.
 */
function compare(expected: ReadonlyMap<string, readonly string[]>, plan: Plan, got: Columns): void {
  const [[target, answers] = ['', []], ...rest] = [...expected];
  const classes = rest.map(([name]) => /^probability\((.*)\)$/.exec(name)?.[1] ?? name);
  const outputs = (plan.outputs ?? []).filter(({ extra }) => extra !== true);
  const prediction = got[outputs[0]?.name ?? ''] ?? [];
  const probability = got['probability'];
  assert.equal(prediction.length, answers.length);
  for (const [row, answer] of answers.entries()) {
    const where = `${target}, row ${row}`;
    const of = prediction[row] as number;
    const given = rest.map(([, cells]) => Number(cells[row]));
    if (classes.length === 0) {
      near(of, Number(answer), where);
    } else if (probability === undefined) {
      // A binomial GLM predicts the probability of class 1.
      given.forEach((value, i) => near(i === 1 ? of : 1 - of, value, where));
    } else {
      assert.equal(classes[of], answer, where);
      const values = probability[row] as readonly number[];
      assert.equal(values.length, given.length);
      given.forEach((value, i) => near(values[i] ?? Number.NaN, value, where));
    }
  }
}

function near(got: number, expected: number, where: string): void {
  const difference = Math.abs(got - expected);
  const isNear = difference <= TOLERANCE * Math.abs(expected);
  assert.ok(isNear || Object.is(got, expected), `${where}: got ${got}, expected ${expected}`);
}

function readCsv(path: string): Map<string, string[]> {
  const lines = readFileSync(path, 'utf8').trimEnd().split(/\r?\n/).map(cellsOf);
  const [names = [], ...rows] = lines;
  return new Map(names.map((name, i) => [name, rows.map((row) => row[i] ?? '')]));
}

function cellsOf(line: string): string[] {
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)];
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}
