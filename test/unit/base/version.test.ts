// Which versions of Node.js are supported.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { NODE_MAJOR_MIN, unsupportedNode } from '../../../ts/base/version.js';

test('names the Node that is needed where the running one is older', () => {
  assert.equal(unsupportedNode('v20.20.2'), 'Serval needs Node.js 22 or newer, this is v20.20.2');
  assert.match(unsupportedNode('v8.0.0') ?? '', /this is v8\.0\.0$/);
  for (const version of ['v22.0.0', 'v24.21.0', 'v100.0.0']) {
    assert.equal(unsupportedNode(version), undefined);
  }
});

test('the oldest supported Node is the one that package.json names', () => {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  const { engines } = JSON.parse(text) as { engines: { node: string } };
  assert.equal(engines.node, `>=${NODE_MAJOR_MIN}`);
});
