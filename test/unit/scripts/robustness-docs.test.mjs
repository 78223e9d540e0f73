// docs/explanation/robustness.md lists the guarded operators. Test time only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (...path) => readFileSync(join(root, ...path), 'utf8');

test('docs/explanation/robustness.md names the guarded operators, and no others', () => {
  const rows = read('docs', 'explanation', 'robustness.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const documented = rows.flatMap((line) =>
    [...line.split('|')[1].matchAll(/`(\w+)`/g)].map((match) => match[1]),
  );
  const source = read('native', 'backend', 'onnx', 'guards.cc');
  const guarded = [...source.matchAll(/^ +\{"([A-Z]\w+)", \{\d/gm)].map((match) => match[1]);
  assert.ok(guarded.length > 10, `${guarded.length} guarded operators found`);
  assert.deepEqual(documented.sort(), [...guarded, 'Div', 'Mod', 'StringNormalizer'].sort());
});

test('every guarded operator has a rule', () => {
  const source = read('native', 'backend', 'onnx', 'guards.cc');
  const rules = read('native', 'operators', 'guards', 'rules.cc');
  for (const [, name] of source.matchAll(/^ +\{"([A-Z]\w+)", \{\d/gm)) {
    // two of Serval's operators
    if (new RegExp(`op == "${name}"\\) surround`).test(source)) continue;
    assert.ok(rules.includes(`op == "${name}"`), `${name} has no rule`);
  }
});
