// Constants shared by graphs: stored once, in their file or in the blob, and bounded.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { numbersTensor } from '../../../../../ts/importers/tensorflow/lower/tensors.js';
import { WeightStore } from '../../../../../ts/importers/tensorflow/lower/weights.js';
import type { Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder, tempFolder } from '../../../temp-folder.js';
import { invalid } from '../messages.js';

function store(t: TestContext): { path: string; weights: WeightStore } {
  const path = join(tempFolder(t), 'weights.bin');
  const weights = new WeightStore(path);
  t.after(() => weights.close());
  return { path, weights };
}

const filled = (shape: readonly number[], element: Uint8Array): Tensor => ({
  dtype: 'float',
  shape,
  data: { kind: 'fill', element },
});

test('a constant in a file stays there, with its checksum; no blob is made', (t) => {
  const { path, weights } = store(t);
  const data = {
    kind: 'file',
    path: '/model/data',
    offset: 12,
    byteLength: 8,
    maskedCrc32c: 7,
  } as const;
  const tensor: Tensor = { dtype: 'int64', shape: [1], data };
  assert.equal(weights.add(tensor), 0);
  assert.equal(weights.add({ ...tensor }), 0, 'the same place');
  assert.equal(weights.add({ ...tensor, shape: [] }), 1, 'another shape');
  const { kind: _, ...place } = data;
  assert.deepEqual(weights.weights[0], { name: 'weight0', dtype: 'int64', shape: [1], ...place });
  weights.close();
  assert.ok(!existsSync(path));
});

test('bytes go to the blob, aligned, once however often and as whatever shape', (t) => {
  const { path, weights } = store(t);
  const one = numbersTensor('float', [3], [1, 2, 3]);
  const two = numbersTensor('int8', [2], [4, 5]);
  assert.deepEqual(
    [one, two, one].map((tensor) => weights.add(tensor)),
    [0, 1, 0],
  );
  const shaped = weights.add({ ...one, shape: [3, 1] });
  assert.deepEqual(
    weights.weights.map(({ offset, byteLength }) => [offset, byteLength]),
    [
      [0, 12],
      [64, 2],
      [0, 12],
    ],
  );
  assert.equal(shaped, 2);
  weights.close();
  const blob = readFileSync(path);
  assert.equal(blob.length, 66);
  assert.deepEqual([...blob.subarray(64)], [4, 5]);
});

test('a blob for others has all constants, those in files too', (t) => {
  const folder = filledFolder(t, { data: Uint8Array.from([0, 0, 1, 2, 3, 4]) });
  const path = join(folder, 'model.data');
  const weights = new WeightStore(path, 'model.data', true);
  weights.add({
    dtype: 'uint8',
    shape: [4],
    data: { kind: 'file', path: join(folder, 'data'), offset: 2, byteLength: 4 },
  });
  weights.close();
  assert.deepEqual([...readFileSync(path)], [1, 2, 3, 4]);
  assert.equal(weights.weights[0]?.path, path);
});

test('repeated elements are written once for all constants of that size', (t) => {
  const { path, weights } = store(t);
  const element = new Uint8Array(new Float32Array([1.5]).buffer);
  for (const shape of [[300], [300], [3, 100]]) weights.add(filled(shape, element));
  weights.add(filled([300], new Uint8Array(4)));
  assert.equal(weights.weights.length, 3);
  weights.close();
  assert.equal(readFileSync(path).length, 1216 + 1200);
});

test('bounds what a few bytes of a file may allocate, each and in total', (t) => {
  const { weights } = store(t);
  const element = new Uint8Array(4);
  for (const shape of [[2 ** 31], [2 ** 40, 2 ** 40], [2 ** 25 + 1]]) {
    assert.match(
      invalid(() => weights.add(filled(shape, element))),
      /repeats? one element: expected at most \d+ bytes( in total)?, got/,
    );
  }
});

test('a constant that cannot be written is an error of the file system', (t) => {
  const weights = new WeightStore(join(tempFolder(t), 'none', 'weights.bin'));
  assert.throws(() => weights.add(numbersTensor('float', [1], [1])), /ENOENT/);
});
