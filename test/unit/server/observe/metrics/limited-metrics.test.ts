// Metrics as a key that is limited to some models sees them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitedMetrics } from '../../../../../ts/server/observe/metrics/limited-metrics.js';

test('metrics leave out other models and other keys', () => {
  const kept = [
    '# HELP nv_inference_count x',
    'nv_inference_count{model="a",version="1"} 3',
    ':tensorflow:serving:request_count{model_name="a",status="OK"} 1',
    'serval_isolated_up{models="a,ab"} 1',
    'serval_key_requests_in_flight{key="ci"} 0',
    'serval_memory_limit_bytes 5',
    'x{model="a\\"b"} 1',
    '',
  ];
  const left = [
    'nv_inference_count{model="b",version="1"} 3',
    ':tensorflow:serving:request_count{status="OK",model_name="b"} 1',
    'serval_isolated_up{models="a,b"} 1',
    'serval_key_requests_limited_total{key="ops",limit="max_in_flight"} 0',
    'x{model="b\\"a"} 1',
  ];
  const text = [...left, ...kept].join('\n');
  assert.equal(limitedMetrics(text, ['a*'], 'ci'), kept.join('\n'));
});
