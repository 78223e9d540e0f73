// Every function that Spark 3.5 and 4.1 list is either supported or refused with a reason, and the
// importer matches the table.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  INTERNAL_FUNCTIONS,
  REWRITTEN_FUNCTIONS,
} from '../../../../../../ts/importers/spark/sql/tables/composite.js';
import {
  SQL_ALIASES,
  SQL_FUNCTIONS,
  SQL_TRIES,
} from '../../../../../../ts/importers/spark/sql/functions.js';
import { REFUSED_FUNCTIONS } from '../../../../../../ts/importers/spark/sql/tables/refused.js';
import { lowered } from '../statements.js';

const PATH = join('test', 'fixtures', 'tabular', 'functions', 'functions.json');
/** Function name -> the versions that have it. */
const spark = JSON.parse(readFileSync(PATH, 'utf8')) as Readonly<Record<string, string>>;
const CASTS = new Set(
  'bigint binary boolean cast date decimal double float int smallint string timestamp tinyint'.split(
    ' ',
  ),
);
/** Names in Spark's grammar that are not in its list. */
const GRAMMAR = new Set(['timestampadd', 'timestampdiff', 'iff']);

const callable = new Set([
  ...[...SQL_FUNCTIONS.keys()].filter((name) => !INTERNAL_FUNCTIONS.has(name)),
  ...Object.keys(SQL_ALIASES),
  ...Object.keys(SQL_TRIES),
  ...REWRITTEN_FUNCTIONS,
  ...CASTS,
]);

test("Spark's functions are callable or refused with a reason, and never both", () => {
  const names = Object.keys(spark).filter((name) => /^[a-z]/.test(name));
  assert.ok(names.length > 480, `${names.length}`);
  const unknown = names.filter((name) => callable.has(name) === REFUSED_FUNCTIONS.has(name));
  assert.deepEqual(unknown, []);
});

test('the tables name no functions that Spark has not', () => {
  const known = (name: string) => spark[name] !== undefined || GRAMMAR.has(name);
  assert.deepEqual(
    [...callable].filter((name) => !known(name)),
    [],
  );
  assert.deepEqual(
    [...REFUSED_FUNCTIONS.keys()].filter((name) => !known(name)),
    [],
  );
});

/** The importer's problems for a call with `count` arguments. */
const problemsOf = (name: string, count: number): string =>
  lowered(
    `SELECT ${name}(${Array(count).fill("'1'").join(', ')}) AS x FROM __THIS__`,
    [],
  ).problems.join('; ');

test('the importer refuses what the table refuses, with its reason', () => {
  for (const [name, reason] of REFUSED_FUNCTIONS) {
    // EXISTS is a keyword of the grammar.
    if (name === 'exists') continue;
    const problems = problemsOf(name, 2);
    assert.ok(problems.includes(`the function ${name}() is not supported: ${reason}`), problems);
  }
});

test('the importer knows what the table names', () => {
  const special = new Set([
    'cast',
    'case',
    'in',
    'and',
    'or',
    'not',
    'date_part',
    'datepart',
    'extract',
  ]);
  for (const name of callable) {
    if (special.has(name)) continue;
    const problems = [1, 2, 3].map((count) => problemsOf(name, count));
    const isKnown = problems.some((each) => !each.includes('is not supported'));
    assert.ok(isKnown, `${name}: ${problems.join(' | ')}`);
  }
});

test('operators are not functions', () => {
  for (const name of ['add', 'item', 'null_safe_equal']) {
    assert.match(problemsOf(name, 2), new RegExp(`the function ${name}\\(\\) is not supported`));
  }
});
