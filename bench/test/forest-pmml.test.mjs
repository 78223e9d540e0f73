// The generated forests: well-formed, the same in every run, with the requested size.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SaxesParser } from 'saxes';
import { fieldNames, writeForestPmml } from '../tabular/make_forest_pmml.mjs';

function made(t, options) {
  const folder = mkdtempSync(join(tmpdir(), 'serval-forest-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'forest.pmml');
  return { file, counts: writeForestPmml(file, options) };
}

// Counts each element.
function elementsOf(file) {
  const found = {};
  const parser = new SaxesParser({ fragment: false });
  parser.on('error', (error) => assert.fail(error));
  parser.on('opentag', ({ name }) => {
    found[name] = (found[name] ?? 0) + 1;
  });
  parser.write(readFileSync(file, 'utf8')).close();
  return found;
}

test('a forest has the requested number of trees and nodes', (t) => {
  const { file, counts } = made(t, { trees: 3, depth: 4, features: 5 });
  assert.deepEqual(counts, { trees: 3, nodes: 3 * 31, bytes: statSync(file).size });
  const found = elementsOf(file);
  assert.equal(found.TreeModel, 3);
  assert.equal(found.Node, 93);
  assert.equal(found.SimplePredicate, 90);
  assert.equal(found.DataField, 6);
  const text = readFileSync(file, 'utf8');
  for (const name of fieldNames(5)) assert.ok(text.includes(`field="${name}"`), name);
  const leaves = [...text.matchAll(/ score="([^"]+)"/g)].map(([, value]) => Number(value));
  assert.equal(leaves.length, 48);
  assert.ok(leaves.every((value) => value > 0 && value < Math.PI));
});

test('leaves of classifiers have distributions and the most frequent label', (t) => {
  const { file } = made(t, { trees: 2, depth: 3, kind: 'classification' });
  assert.equal(elementsOf(file).ScoreDistribution, 2 * 8 * 3);
  const nodes = readFileSync(file, 'utf8').matchAll(
    /score="(\w+)" recordCount="(\d+)">(.*?)<\/Node>/gs,
  );
  for (const [, score, total, inside] of nodes) {
    const shares = [...inside.matchAll(/value="(\w+)" recordCount="(\d+)"/g)];
    const counts = shares.map(([, , count]) => Number(count));
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      Number(total),
    );
    assert.equal(shares[counts.indexOf(Math.max(...counts))][1], score);
  }
});

test('a document exceeds its size by at most one tree; two runs make the same file', (t) => {
  const [one, two] = [1, 2].map(() => made(t, { megabytes: 1 }));
  const { bytes, trees } = one.counts;
  assert.ok(bytes >= 2 ** 20 && bytes < 2 ** 20 + bytes / (trees - 1), `${bytes}`);
  assert.ok(readFileSync(one.file).equals(readFileSync(two.file)));
  assert.throws(() => made(t, { trees: 1, kind: 'ranking' }), /--kind: expected regression/);
});
