// X4: Spark 3.5.5's results in time zones with skipped and repeated hours
// (test/fixtures/tabular/sql/zones.json, written by make_answers.py beside it), compared with a
// plan's. Values are compared as the text that CAST gives.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { days, micros, runPlan } from '../../plan/run-plan.js';
import { lowered } from './statements.js';

interface Answers {
  readonly zone: string;
  /** Local time and seconds. */
  readonly rows: readonly (readonly [string, number])[];
  readonly answers: readonly {
    readonly expression: string;
    readonly values: readonly (string | null)[];
  }[];
}

const ZONES = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'sql', 'zones.json'), 'utf8'),
) as readonly Answers[];

for (const { zone, rows, answers } of ZONES) {
  describe(`X4: expressions in ${zone}`, () => {
    const items = answers.map(({ expression }, i) => `CAST((${expression}) AS STRING) AS c${i}`);
    const names = ['s', 'l', 'ts', 'dt'];
    const { plan, problems } = lowered(`SELECT ${items.join(', ')} FROM __THIS__`, names, {
      timezone: zone,
    });
    test('there are many, and all are there', () => {
      assert.ok(answers.length > 50, `${answers.length}`);
      assert.deepEqual(problems, []);
    });
    const walls = rows.map(([wall]) => wall);
    const { columns } = runPlan(plan, {
      s: { type: 'string', values: walls },
      l: { type: 'int64', values: rows.map(([, seconds]) => seconds) },
      ts: { type: 'timestamp', values: walls.map(micros) },
      dt: { type: 'date', values: walls.map((wall) => days(wall.slice(0, 10))) },
    });
    for (const [i, { expression, values }] of answers.entries()) {
      test(expression, () => {
        assert.deepEqual(columns[`c${i}`], values);
      });
    }
  });
}

test('X4: requests and answers have the wall clock', () => {
  const { plan } = lowered('SELECT *, ts AS same, l AS other FROM __THIS__', ['ts', 'l'], {
    timezone: 'Europe/Berlin',
  });
  const ts = ['2024-07-01 12:00:00', '2024-03-31 02:30:00', '2024-01-01 00:00:00'].map(micros);
  const { columns } = runPlan(plan, {
    ts: { type: 'timestamp', values: ts },
    l: { type: 'int64', values: [1, 2, 3] },
  });
  // Half past two did not exist on that day.
  const shown = [ts[0], micros('2024-03-31 03:30:00'), ts[2]].map(Number);
  assert.deepEqual([columns['ts'], columns['same'], columns['other']], [shown, shown, [1, 2, 3]]);
});
