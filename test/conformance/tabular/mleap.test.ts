// MLeap bundles: those beside the checkout, with the results of an independent evaluation, and
// those that MLeap's own runtime writes with its results (test/fixtures/tabular/goldens.sh), one
// for every operator and in both serializations. They are imported, run, and compared.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { importMleap } from '../../../ts/importers/mleap/index.js';
import type { Plan } from '../../../ts/importers/plan/generated/plan.js';
import { goldenCases, goldenFolder } from '../golden-folder.js';
import { type GivenColumn, runPlan } from '../../unit/importers/plan/run-plan.js';

const TOLERANCE = 1e-12;
/** Absolute tolerance for values computed from numbers of about 1. */
const FLOOR = 1e-13;

type FieldType = string | { readonly type: string; readonly base?: string };
type Rows = readonly (readonly unknown[])[];

interface LeapFrame {
  readonly schema: {
    readonly fields: readonly { readonly name: string; readonly type: FieldType }[];
  };
  readonly rows: Rows;
}

interface Tensor {
  readonly values: readonly number[];
  readonly indices?: readonly (readonly number[])[];
  readonly dimensions: readonly number[];
}

const isTensor = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && 'dimensions' in value;

/** Converts to runPlan's values: Bools are 0 and 1. */
function plain(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (!isTensor(value)) return value;
  const { values, indices, dimensions } = value;
  if (indices === undefined) return values;
  const dense = new Array<number>(dimensions[0] ?? 0).fill(0);
  indices.forEach(([index = -1], i) => {
    dense[index] = values[i] ?? Number.NaN;
  });
  return dense;
}

function columnsOf({ schema, rows }: LeapFrame): Map<string, readonly unknown[]> {
  return new Map(schema.fields.map(({ name }, i) => [name, rows.map((row) => plain(row[i]))]));
}

function request(plan: Plan, frame: LeapFrame): Record<string, GivenColumn> {
  const columns = columnsOf(frame);
  return Object.fromEntries(
    (plan.fields ?? []).map(({ name }) => [name, { values: columns.get(name) ?? [] }]),
  );
}

function compare(got: unknown, expected: unknown, where: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(got), `${where}: got ${JSON.stringify(got)}, expected a list`);
    assert.equal(got.length, expected.length, where);
    expected.forEach((each, i) => compare(got[i], each, `${where}[${i}]`));
  } else if (typeof expected === 'number') {
    assert.equal(typeof got, 'number', where);
    const difference = Math.abs((got as number) - expected);
    const isNear = difference <= TOLERANCE * Math.abs(expected) || difference <= FLOOR;
    assert.ok(isNear || Object.is(got, expected), `${where}: got ${got}, expected ${expected}`);
  } else {
    // JSON has no NaN and no infinity: MLeap writes null.
    const isNoNumber = expected === null && typeof got === 'number' && !Number.isFinite(got);
    if (!isNoNumber) assert.deepEqual(got, expected, where);
  }
}

const SHARED = [join('..', 'shared'), join('..', '..', 'shared')]
  .map((shared) => join(shared, 'models', 'mleap'))
  .find((folder) => existsSync(join(folder, 'INDEX.json')));

interface Entry {
  readonly id: string;
  readonly bundle: string;
  readonly frame: string;
  readonly expected: string;
}

describe('MLeap bundles', {
  skip: SHARED === undefined && '../shared/models/mleap is not there',
}, () => {
  if (SHARED === undefined) return;
  const read = (name: string): unknown => JSON.parse(readFileSync(join(SHARED, name), 'utf8'));
  const entries = read('INDEX.json') as readonly Entry[];
  test('all are there', () => assert.equal(entries.length, 3));
  for (const { id, bundle, frame, expected } of entries) {
    test(id, async () => {
      const { plan } = await importMleap(join(SHARED, bundle));
      const { columns } = runPlan(plan, request(plan, read(frame) as LeapFrame));
      (read(expected) as readonly Readonly<Record<string, unknown>>[]).forEach((row, i) => {
        for (const [name, value] of Object.entries(row)) {
          compare(columns[name]?.[i], value, `${name}, row ${i}`);
        }
      });
    });
  }
  test('the last predicting node answers, the others where they are asked for', async () => {
    const { plan } = await importMleap(join(SHARED, 'airbnb.model.lr.zip'));
    const outputs = plan.outputs ?? [];
    const defaults = outputs.filter(({ extra }) => extra !== true).map(({ name }) => name);
    assert.deepEqual(defaults, ['price_prediction']);
    assert.ok(outputs.some(({ name, size }) => name === 'features_lr' && size === 27));
    assert.equal(plan.fields?.length, 13);
  });
});

const GOLDENS = goldenFolder('mleap');
const NO_GOLDENS = 'no goldens: no Java to make them with, no SERVAL_MLEAP_GOLDENS';

describe('operators as MLeap runs them', {
  skip: GOLDENS === undefined && NO_GOLDENS,
}, () => {
  if (GOLDENS === undefined) return;
  const cases = goldenCases(GOLDENS);
  test('there are many', () => assert.ok(cases.length >= 50, `${cases.length}`));
  for (const name of cases) {
    for (const form of ['json', 'protobuf']) {
      test(`${name}, ${form}`, async () => {
        const { frame, expected } = JSON.parse(
          readFileSync(join(GOLDENS, name, 'case.json'), 'utf8'),
        ) as { readonly frame: LeapFrame; readonly expected: LeapFrame };
        const { plan } = await importMleap(join(GOLDENS, name, `${form}.zip`));
        const { columns } = runPlan(plan, request(plan, frame));
        for (const [output, values] of columnsOf(expected)) {
          compare(columns[output], values, output);
        }
      });
    }
  }
});
