// The failures that the fuzz target onnx_cases detects. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../fuzz/onnx/onnx-cases.mjs';

const known = new Set(['test_b']);

test('a case that died, and one that answers otherwise without being known, are failures', () => {
  const output =
    'ran test_a\nwrong test_a\nran test_b\nwrong test_b\n' +
    'died test_c: Aborted, input 0 dim 0 = 0\nslow test_d: input 0 all 1\n3 cases\n';
  assert.deepEqual(judge(output, known), [
    'died test_c: Aborted, input 0 dim 0 = 0',
    'test_a answers otherwise than the suite',
  ]);
});

test('a known case that is right is stale, unless it did not run', () => {
  assert.deepEqual(judge('ran test_b\n', known), ['test_b is right: not KNOWN any more']);
  assert.deepEqual(judge('ran test_a\n', known), []);
});
