// Every rule of tabular.md 2.1 and every error of its section 2.3 has a test in this folder that
// names it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../../../ts/base/package-files.js';

const root = packageRoot();
const FOLDER = join(root, 'test', 'conformance', 'tabular', 'rules');
const page = readFileSync(join(root, 'docs', 'spec', 'tabular.md'), 'utf8');
const section = (number: string): string =>
  page.slice(page.indexOf(`### ${number} `), page.indexOf('\n##', page.indexOf(`### ${number} `)));

const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.test.ts'))
  .flatMap((file) =>
    [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/\btest\(['`"]([^'`"]*)/g)].map(
      ([, name = '']) => name,
    ),
  );

test('each rule has a test of its name', () => {
  const rules = [...section('2.1').matchAll(/^\| (X\d+) \|/gm)].map(([, rule = '']) => rule);
  assert.equal(rules.length, 30);
  const without = rules.filter((rule) => !names.some((name) => name.startsWith(`${rule}: `)));
  assert.deepEqual(without, []);
});

test('each error has a test of its name', () => {
  const [list = ''] = section('2.3').split('Server side');
  const errors = [...list.matchAll(/`([a-z][a-z0-9_]+)(?:\([^)]*\))?`/g)].map(
    ([, one = '']) => one,
  );
  assert.ok(errors.length >= 30, `${errors.length} errors`);
  const cases = readFileSync(join(FOLDER, 'refusals.test.ts'), 'utf8');
  const without = errors.filter((error) => !cases.includes(`'${error}'`));
  assert.deepEqual(without, []);
});
