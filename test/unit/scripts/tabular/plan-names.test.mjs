// The rule about names of tabular plans. Test time only.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { planNames } from '../../../tidy/rules/plan.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

const spelt = (text) =>
  planNames({ root, files: [{ path: 'native/tabular/x.cc', text }] }).filter(
    ({ path }) => path !== 'proto/stages',
  );

test('reports attributes and functions that are spelt as strings', () => {
  const [attribute, call, ...rest] = spelt('\nspec.real("p");\nfind("sql.add");\n');
  assert.deepEqual([attribute.line, call.line, rest], [2, 3, []]);
  assert.match(attribute.message, /spells a name that native\/tabular\/generated has/);
  assert.deepEqual(spelt('spec.real(stages::normalizer::p); spec.fail("no p"); fn::sql_add;'), []);
});

test('reports declared attributes and kinds that native/tabular never reads', () => {
  const text = 'spec.real(stages::normalizer::p); {stages::normalizer::kind, make};';
  const messages = planNames({ root, files: [{ path: 'native/tabular/x.cc', text }] }).map(
    ({ message }) => message,
  );
  assert.ok(messages.includes("native/tabular never reads 'shift' of scale"));
  assert.ok(messages.includes("native/tabular never reads 'kind' of scale"));
  assert.ok(!messages.some((each) => each.endsWith('of normalizer')));
});
