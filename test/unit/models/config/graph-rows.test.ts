// The batch sizes for which CUDA graphs are made, according to config.pbtxt.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineSettings } from '../../../../ts/models/config/engine-settings.js';
import { usualGraphRows } from '../../../../ts/models/config/graph-rows.js';
import { parseTritonConfig } from '../../../../ts/models/config/triton-config.js';

const parsed = (text: string) => parseTritonConfig(`backend: "onnxruntime" ${text}`, 'f');
const settings = (text: string) => {
  const { config, problems } = parsed(text);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return engineSettings(config, new Map());
};
const problems = (text: string): readonly string[] =>
  parsed(text).problems.map(({ message }) => message);
const graphs = (specs: string): string => `optimization { cuda { graphs: true ${specs} } }`;
const sizes = (...of: readonly number[]): string =>
  of.map((size) => `graph_spec { batch_size: ${size} }`).join(' ');

test('a configuration that does not mention graphs leaves them to the server', () => {
  assert.equal(settings('max_batch_size: 8').graphRows, undefined);
  assert.equal(settings('max_batch_size: 8 optimization { cuda { } }').graphRows, undefined);
});

test('graphs: false turns them off', () => {
  const off = settings('max_batch_size: 8 optimization { cuda { graphs: false } }');
  assert.deepEqual(off.graphRows, []);
});

test('they are of the sizes of graph_spec and of the largest', () => {
  const batching = 'max_batch_size: 16 dynamic_batching { }';
  const { graphRows, batch } = settings(`${batching} ${graphs(sizes(4, 1, 4))}`);
  assert.deepEqual(graphRows, [1, 4, 16]);
  assert.deepEqual(batch?.allowedRows, [], 'the engine pads to the sizes that have a graph');
  const own = 'parameters { key: "serval.allowed_rows" value { string_value: "8,16" } }';
  assert.deepEqual(settings(`${batching} ${graphs(sizes(4))} ${own}`).batch?.allowedRows, [8, 16]);
});

test('without graph_spec they are of the powers of two and of the preferred sizes', () => {
  const text = 'max_batch_size: 12 dynamic_batching { preferred_batch_size: [ 6, 4 ] }';
  assert.deepEqual(settings(`${text} ${graphs('')}`).graphRows, [1, 2, 4, 6, 8, 12]);
  assert.deepEqual(usualGraphRows(1), [1]);
  assert.deepEqual(usualGraphRows(6), [1, 2, 4, 6]);
  assert.ok(usualGraphRows(2 ** 31 - 1).length <= 31);
});

test('a model without a batch has one of its shapes', () => {
  assert.deepEqual(settings(graphs('')).graphRows, [0]);
  assert.deepEqual(settings(`max_batch_size: 0 ${graphs('')}`).graphRows, [0]);
  assert.deepEqual(usualGraphRows(0), [0]);
});

test('a size that no batch can have is an error with its place', () => {
  for (const size of [0, -1, 9]) {
    const [message] = problems(`max_batch_size: 8 ${graphs(sizes(size))}`);
    assert.match(message ?? '', new RegExp(`expected 1 to 8, max_batch_size, got ${size}`));
  }
  assert.match(
    problems(graphs(sizes(2)))[0] ?? '',
    /expected 0, as there is no max_batch_size, got 2/,
  );
  const many = Array.from({ length: 32 }, (_, i) => i + 1);
  assert.match(
    problems(`max_batch_size: 64 ${graphs(sizes(...many))}`)[0] ?? '',
    /at most 31, got 32/,
  );
});

test('reports settings without effect', () => {
  const text =
    'graph_spec { batch_size: 2 graph_lower_bound { batch_size: 1 } } busy_wait_events: true';
  const { warnings } = parsed(`max_batch_size: 8 ${graphs(text)}`);
  const all = warnings.map(({ message }) => message).join('\n');
  assert.match(all, /graph_lower_bound: batches are padded up to the next size that has a graph/);
  assert.match(all, /busy_wait_events: an instance sleeps/);
  const off = parsed(`max_batch_size: 8 optimization { cuda { ${sizes(2)} } }`).warnings;
  assert.match(
    off.map(({ message }) => message).join(),
    /graph_spec: no effect without graphs: true/,
  );
});
