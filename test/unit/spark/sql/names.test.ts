// What Spark 4.1.0 names columns without AS (test/fixtures/tabular/sql/names.json, written by
// make_names.py beside it), and what a statement's columns are called.
import { equal, ok } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseSelect } from '../../../../ts/spark/sql/parser.js';

const names = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'sql', 'names.json'), 'utf8'),
) as readonly (readonly [expression: string, name: string])[];

/** Named otherwise: Spark's grammar of TRIM and EXTRACT, and what only the types of columns say. */
const OTHERS = new RegExp(
  '^(trim\\(.*FROM|btrim|extract|datepart|dt [+-] 1|.*BETWEEN|.*ESCAPE|s ILIKE|div|' +
    'substr\\(s FROM|position\\(.a. IN|try_cast)',
);

describe('columns without AS are named as Spark names them', () => {
  test('there are many', () => ok(names.length > 250, `${names.length}`));
  for (const [expression, name] of names) {
    if (OTHERS.test(expression)) continue;
    test(expression, () => {
      equal(parseSelect(`SELECT ${expression} FROM __THIS__ x`).items[0]?.name, name);
    });
  }
});
