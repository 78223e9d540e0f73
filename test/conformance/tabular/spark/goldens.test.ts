// Every kind of stage of Spark ML, fitted, saved and run by Spark itself
// (test/fixtures/tabular/spark): imported, run, and compared with Spark's results.
// SERVAL_SPARK_GOLDENS: the folder of goldens; if it is not set, the fixture script makes it.
// SERVAL_SPARK_CASES: only these, separated by commas.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importSpark } from '../../../../ts/importers/spark/index.js';
import type { Type } from '../../../../ts/importers/plan/generated/plan.js';
import { goldenCases, goldenFolder } from '../../golden-folder.js';
import { days, type GivenColumn, micros, runPlan } from '../../../unit/importers/plan/run-plan.js';

interface Case {
  readonly fields: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
  readonly expected: Readonly<Record<string, readonly unknown[]>>;
  readonly types: Readonly<Record<string, string>>;
}

const NO_GOLDENS = 'no goldens: no Java or Spark to make them with, no SERVAL_SPARK_GOLDENS';
const TOLERANCE = 1e-12;

/** Cosine sums that cancel: each library rounds them differently. */
const ROUNDING: Readonly<Record<string, number>> = { dct: 1e-14, dct_inverse: 1e-14 };
/** Spark returns these items in the order of its partitions. */
const SETS = new Set(['fp_growth.prediction']);

const folder = goldenFolder('spark');
const chosen = process.env['SERVAL_SPARK_CASES']?.split(',');

describe('stages of Spark ML against Spark', { skip: folder === undefined && NO_GOLDENS }, () => {
  if (folder === undefined) return;
  const names = goldenCases(folder);
  test('all are there', () => assert.ok(names.length > 90, `${names.length} cases`));
  for (const name of names) {
    if (chosen !== undefined && !chosen.includes(name)) continue;
    test(name, async () => {
      const path = join(folder, name, 'model');
      await check(name, path, JSON.parse(readFileSync(join(folder, name, 'case.json'), 'utf8')));
    });
  }
});

async function check(name: string, path: string, golden: Case): Promise<void> {
  const { plan } = await importSpark(path);
  const wanted = new Set(plan.fields.map((field) => field.name));
  const given = golden.fields.flatMap(({ name: field, type }, i) =>
    wanted.has(field)
      ? [
          [
            field,
            givenColumn(
              type,
              golden.rows.map((row) => row[i]),
            ),
          ] as const,
        ]
      : [],
  );
  const { columns, types } = runPlan(plan, Object.fromEntries(given), { rows: golden.rows.length });
  for (const [column, expected] of Object.entries(golden.expected)) {
    const got = columns[column];
    if (got === undefined && !isMade(golden, column)) continue;
    assert.ok(got !== undefined, `${column} is not answered`);
    const type = golden.types[column] ?? '';
    const scale = types[column]?.scale ?? 0;
    const isSet = SETS.has(`${name}.${column}`);
    for (const [row, value] of expected.entries()) {
      const where = `${column}, row ${row}`;
      if (isSet) same(sorted(got[row]), sorted(value), where);
      else same(got[row], comparable(value, type, scale), where, ROUNDING[name]);
    }
  }
}

/** True unless the column is one of the request's that a statement passes on. */
function isMade({ fields }: Case, column: string): boolean {
  return fields.every(({ name }) => name !== column);
}

const TYPES: Readonly<Record<string, Type>> = {
  boolean: 'bool',
  tinyint: 'int8',
  smallint: 'int16',
  int: 'int32',
  bigint: 'int64',
  float: 'float',
  double: 'double',
  string: 'string',
  date: 'date',
  timestamp: 'timestamp',
  vector: 'vector',
};

/** Converts JSON values to those that runPlan() accepts and returns. */
function comparable(value: unknown, type: string, scale = 0): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'boolean') return value === true ? 1 : 0;
  if (type === 'date') return days(value as string);
  // Each hash is in its own vector in Spark; here they are in one.
  if (type === 'array<vector>') return (value as readonly unknown[][]).flat();
  if (type === 'timestamp') return micros(value as string);
  if (type.startsWith('decimal')) return unscaled(value as string, scale);
  if (Array.isArray(value)) return value.map((one) => comparable(one, ''));
  const special = typeof value === 'string' && !/string/.test(type) && type !== '';
  return special || value === 'NaN' ? numberOf(value as string) : value;
}

const numberOf = (value: string): unknown =>
  Number.isNaN(Number(value)) && value !== 'NaN' ? value : Number(value);

function unscaled(value: string, scale: number): string {
  const [whole = '', fraction = ''] = Number(value).toFixed(scale).split('.');
  return BigInt(whole + fraction).toString();
}

function givenColumn(type: string, values: readonly unknown[]): GivenColumn {
  const list = /^array<(\w+)>$/.exec(type)?.[1];
  const of = TYPES[list ?? type];
  if (of === undefined) throw new Error(`a field of type ${type}`);
  const cells = values.map((value) => comparable(value, type));
  return list === undefined
    ? { type: of, values: cells }
    : { type: 'list', element: of, values: cells };
}

const sorted = (value: unknown): unknown => [...(value as readonly string[])].sort();

function same(got: unknown, expected: unknown, where: string, rounding = 0): void {
  if (Array.isArray(expected) && Array.isArray(got)) {
    assert.equal(got.length, expected.length, `${where}: ${JSON.stringify(got)}`);
    for (const [i, value] of expected.entries()) same(got[i], value, `${where}[${i}]`, rounding);
  } else if (typeof expected === 'number' && Number.isFinite(expected)) {
    const allowed = TOLERANCE * Math.abs(expected) + rounding;
    const isNear = Math.abs((got as number) - expected) <= allowed;
    assert.ok(isNear, `${where}: got ${String(got)}, expected ${expected}`);
  } else if (typeof expected === 'string' && typeof got === 'number') {
    assert.equal(String(got), expected, where);
  } else {
    assert.deepEqual(got, expected, where);
  }
}
