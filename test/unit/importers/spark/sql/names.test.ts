// Names that Spark 4.1 and 3.5 give columns without AS (test/fixtures/tabular/sql/names.json,
// written by make_names.py beside it), compared with a statement's column names.
import { equal, ok } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Sql } from '../../../../../ts/importers/spark/sql/ast.js';
import { parseSelect } from '../../../../../ts/importers/spark/sql/parser.js';
import { nameOf } from '../../../../../ts/importers/spark/sql/print.js';
import { lowered } from './statements.js';

const rows = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'sql', 'names.json'), 'utf8'),
) as readonly (readonly [expression: string, spark4: string | null, spark3: string | null])[];

const isDate = (column: string) => column === 'dt';

for (const [major, place] of [
  [4, 1],
  [3, 2],
] as const) {
  describe(`columns without AS are named as Spark ${major} names them`, () => {
    const known = rows.filter((row) => row[place] !== null);
    test('there are many', () => ok(known.length > 550, `${known.length}`));
    for (const row of known) {
      test(row[0], () => {
        const [item] = parseSelect(`SELECT ${row[0]} FROM __THIS__ x`, major).items;
        equal(item?.name ?? nameOf(item?.value as Sql, { major, isDate }), row[place]);
      });
    }
  });
}

const namesOf = (statement: string, major: number) =>
  lowered(statement, ['s'], { major }).result?.columns.map(({ name }) => name);

test('a column that the statement makes from a date is known to be one', () => {
  const statement = 'SELECT to_date(s) AS day, day + 1, s + 1 FROM __THIS__';
  for (const major of [3, 4])
    equal(namesOf(statement, major)?.join(), 'day,date_add(day, 1),(s + 1)');
});

test('the version of Spark decides', () => {
  equal(namesOf('SELECT s BETWEEN 1 AND 2 FROM __THIS__', 4)?.[0], 'between(s, 1, 2)');
  equal(namesOf('SELECT s BETWEEN 1 AND 2 FROM __THIS__', 3)?.[0], '((s >= 1) AND (s <= 2))');
});

test('two quotes inside of a text are one in Spark 4 and two texts in Spark 3', () => {
  equal(namesOf("SELECT 'it''s' FROM __THIS__", 4)?.[0], "it's");
  equal(namesOf("SELECT 'it''s' FROM __THIS__", 3)?.[0], 'its');
});
