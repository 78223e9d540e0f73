// The messages of the TensorFlow rows, peak memory, and the rows from wire_tf_bench.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peakBytes, residentBytes } from '../machine.mjs';
import {
  classifyRequest,
  classifyScores,
  exampleOf,
  predictOutput,
  predictRequest,
} from '../tensorflow/messages.mjs';
import { wireRow } from '../workloads/tensorflow/messages.mjs';

test('a PredictRequest follows the protocol', () => {
  const message = predictRequest('m', 'x', [1, 2], Float32Array.of(1, 2));
  // model_spec{name}, inputs{key, value{dtype, tensor_shape{dim, dim}, tensor_content}}
  const tensor = '0801' + '1208' + '12020801' + '12020802' + '2208' + '0000803f' + '00000040';
  assert.equal(message.toString('hex'), '0a030a016d' + '121b' + '0a0178' + '1216' + tensor);
});

test('outputs are read from both forms of a tensor', () => {
  const of = (tensor) =>
    Buffer.from(`0a${hex(tensor.length / 2 + 5)}0a017912${hex(tensor.length / 2)}${tensor}`, 'hex');
  assert.deepEqual([...predictOutput(of('080122040000803f'))], [1]);
  assert.deepEqual([...predictOutput(of('08012a080000803f00000040'))], [1, 2]);
  assert.throws(() => predictOutput(Buffer.alloc(0)), /0 outputs, expected 1/);
});

const hex = (byte) => byte.toString(16).padStart(2, '0');

test('Examples are encoded, and the scores of their classes are read', () => {
  const example = exampleOf({ a: 1 });
  assert.equal(example.toString('hex'), '0a0f0a0d0a0161120812060a040000803f');
  const request = classifyRequest('m', [example, example]);
  assert.equal(request.toString('hex').slice(0, 18), '0a030a016d12280a26');
  const classes = '0a05150000803f' + '0a051500000040';
  const response = Buffer.from(`0a100a0e${classes}`, 'hex');
  assert.deepEqual([...classifyScores(response)], [1, 2]);
  assert.deepEqual([...classifyScores(Buffer.alloc(0))], []);
});

test('the worst of several alignments counts; without protobuf there is no row', () => {
  const line = (name, ns, reference) => ({ name, ns, reference, reference_ns: 100 });
  const kind = { id: 'i', prefix: 'decode floats', what: 'w' };
  const row = wireRow(kind, [
    line('decode floats at offset 0', 10, 'protobuf parse'),
    line('decode floats at offset 1', 50, 'protobuf parse'),
    line('other', 900, 'protobuf parse'),
  ]);
  assert.deepEqual([row.got, row.ok, row.spread], [0.5, true, { min: 0.1, max: 0.5 }]);
  assert.throws(() => wireRow(kind, [line('decode floats', 1, 'memcpy')]), /without protobuf/);
  assert.throws(() => wireRow(kind, []), /no 'decode floats'/);
});

test('the peak of memory is at least the resident memory', () => {
  assert.ok(peakBytes(process.pid) >= residentBytes(process.pid) / 2);
  assert.throws(() => peakBytes('none'), /ENOENT/);
});
