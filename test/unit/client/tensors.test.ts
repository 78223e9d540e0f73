// Values as tensors: shapes, datatypes, bytes and back, and the errors of wrong values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBytes, fromJson, toBytes } from '../../../ts/client/core/elements.js';
import { MetadataCache, needsMetadata, tensorsOf } from '../../../ts/client/core/tensors.js';
import type { Scalar, TensorInfo, TensorInput, Values } from '../../../ts/client/core/types.js';
import { ClientError } from '../../../ts/client/core/errors.js';

const info = (datatype: string, shape: readonly number[], name = 'x'): TensorInfo => ({
  name,
  datatype,
  shape,
});
const one = (x: Values | TensorInput, infos: readonly TensorInfo[] = []) => {
  const [tensor] = tensorsOf({ x }, infos);
  assert.ok(tensor !== undefined);
  const { datatype, shape, values } = tensor;
  return { datatype, shape, values: Array.from(values) };
};
const wrong = (message: string) => ({ name: 'ClientError', code: 'INVALID_ARGUMENT', message });

test('infers the datatype from the values when the model is unknown', () => {
  const cases: readonly (readonly [Values, string, readonly number[]])[] = [
    [Float32Array.of(1, 2), 'FP32', [2]],
    [BigInt64Array.of(1n), 'INT64', [1]],
    [BigUint64Array.of(1n), 'UINT64', [1]],
    [Uint8ClampedArray.of(1), 'UINT8', [1]],
    [Buffer.from([1]), 'UINT8', [1]],
    [[Float64Array.of(1), Float64Array.of(2)], 'FP64', [2, 1]],
    [[[true], [false]], 'BOOL', [2, 1]],
    [[1n, 2n], 'INT64', [2]],
    [['a', 'b'], 'BYTES', [2]],
    ['a', 'BYTES', []],
  ];
  for (const [value, datatype, shape] of cases) {
    const found = one(value);
    assert.equal(found.datatype, datatype);
    assert.deepEqual(found.shape, shape, datatype);
  }
  const why = "input 'x': expected a datatype, as the model's metadata is not available, ";
  assert.throws(() => one([1, 2]), wrong(`${why}got numbers without one: pass {data, datatype}`));
});

test('completes missing facts from the metadata', () => {
  assert.deepEqual(one([1, 2], [info('INT32', [-1])]).datatype, 'INT32');
  assert.deepEqual(one(Float32Array.of(1, 2, 3, 4), [info('FP32', [-1, 2])]).shape, [2, 2]);
  assert.deepEqual(one(Float32Array.of(1, 2), [info('FP32', [1, 2])]).shape, [1, 2]);
  assert.deepEqual(one(5, [info('FP32', [-1, 1])]).shape, [1, 1]);
  assert.deepEqual(one(5, [info('FP32', [])]).shape, []);
  assert.deepEqual(one(Uint8Array.of(1), [info('BYTES', [-1])]).values, [Uint8Array.of(1)]);
  assert.deepEqual(
    one({ data: [1, 2, 3, 4], shape: [2, 2] }, [info('FP32', [-1, 2])]).shape,
    [2, 2],
  );
  const fit = "input 'x': expected values that fit the model's shape [-1,2], ";
  const odd = () => one(Float32Array.of(1, 2, 3), [info('FP32', [-1, 2])]);
  assert.throws(odd, wrong(`${fit}got 3 elements without a shape`));
  const two = () => one(Float32Array.of(1, 2), [info('FP32', [-1, -1])]);
  assert.throws(two, /fit the model's shape \[-1,-1\]/);
  const unknown = () => one([1], [info('FP32', [1], 'a'), info('FP32', [1], 'b')]);
  const names = "input 'x': expected an input of the model (a, b), got an unknown name";
  assert.throws(unknown, wrong(names));
});

test('needs metadata only for facts that a value leaves open', () => {
  const full = { data: [1], datatype: 'FP32' };
  assert.equal(needsMetadata({ x: full }), false);
  assert.equal(
    needsMetadata({ x: { data: Float32Array.of(1), datatype: 'FP32', shape: [1] } }),
    false,
  );
  assert.equal(needsMetadata({ x: { data: Float32Array.of(1), datatype: 'FP32' } }), true);
  assert.equal(needsMetadata({ x: full, y: [1] }), true);
});

test('names the place of lists that do not fit', () => {
  const known = [info('FP32', [-1, 2])];
  const cases: readonly (readonly [Values | TensorInput, string])[] = [
    [[[1, 2], [3]], "input 'x'[1]: expected a list of 2, got a list of 1"],
    [[[1, 2], 3], "input 'x'[1]: expected a list of 2, got 3"],
    [
      [
        [1, 2],
        [3, [4]],
      ],
      "input 'x'[1][1]: expected an element, got a list of 1",
    ],
    [{ data: [[1, 2]], shape: [2, 1] }, "input 'x': expected lists of shape [2,1], got [1,2]"],
    [{ data: [1, 2], shape: [3] }, "input 'x': expected 3 elements for shape [3], got 2"],
    [{ data: [1], shape: [1.5] }, "input 'x': expected a shape of whole numbers, got [1.5]"],
    [{ data: undefined as never, shape: [1] }, "input 'x': expected values, got undefined"],
  ];
  for (const [value, message] of cases) assert.throws(() => one(value, known), wrong(message));
  assert.deepEqual(one([], known).shape, [0]);
  assert.deepEqual(one([[], []], known).shape, [2, 0]);
});

test('writes every datatype exactly, and names elements that it cannot hold', () => {
  const bytes = (datatype: string, ...values: Scalar[]) => [...toBytes('t', datatype, values)];
  assert.deepEqual(bytes('INT8', -128, 127n), [128, 127]);
  assert.deepEqual(bytes('UINT64', 2n ** 64n - 1n), Array(8).fill(255));
  assert.deepEqual(bytes('FP16', 1, -0, 65519), [0, 60, 0, 128, 255, 123]);
  assert.deepEqual(bytes('BF16', 1), [128, 63]);
  assert.deepEqual(bytes('BOOL', true, 0, 1, false), [1, 0, 1, 0]);
  assert.deepEqual(bytes('FP32', 2n ** 60n), [0, 0, 128, 93]);
  assert.deepEqual(bytes('BYTES', 'é', Uint8Array.of(9)), [2, 0, 0, 0, 195, 169, 1, 0, 0, 0, 9]);
  const bad: readonly (readonly [string, Scalar])[] = [
    ...([300, -1, 1.5, '1', null, true, 2n ** 70n, NaN] as const).map((x) => ['UINT8', x] as const),
    ...([2n ** 63n, 2 ** 63, 0.5, Infinity] as const).map((x) => ['INT64', x] as const),
    ...([1e300, 2n ** 200n, '1', null, true] as const).map((x) => ['FP32', x] as const),
    ...([65520, 1e6] as const).map((x) => ['FP16', x] as const),
    ...([2n ** 53n + 1n, 10n ** 400n] as const).map((x) => ['FP64', x] as const),
    ...([2, 'true', null, 1n] as const).map((x) => ['BOOL', x] as const),
    ...([1, true, null] as const).map((x) => ['BYTES', x] as const),
  ];
  for (const [datatype, value] of bad) {
    const expected = datatype === 'BYTES' ? 'a string or a Uint8Array' : `a value of ${datatype}`;
    const shown = typeof value === 'string' ? JSON.stringify(value) : String(value).slice(0, 60);
    assert.throws(
      () => toBytes("input 'x'", datatype, [value]),
      (error: ClientError) =>
        error.message.startsWith(`input 'x': element 0: expected ${expected}, got ${shown}`),
      `${datatype} ${String(value)}`,
    );
  }
});

test('copies no typed array of the datatype, and no aligned bytes', () => {
  const values = Float32Array.of(1, 2);
  assert.equal(toBytes('t', 'FP32', values as ArrayLike<number>).buffer, values.buffer);
  const bytes = new Uint8Array(values.buffer);
  assert.equal((fromBytes('t', 'FP32', bytes, 2) as Float32Array).buffer, values.buffer);
  const shifted = new Uint8Array(9);
  shifted.set(bytes, 1);
  assert.deepEqual(fromBytes('t', 'FP32', shifted.subarray(1), 2), values);
  assert.deepEqual(fromBytes('t', 'FP32', Buffer.from(shifted).subarray(1), 2), values);
});

test('rejects responses whose bytes do not fit', () => {
  const read = (datatype: string, bytes: Uint8Array, count: number) => () =>
    fromBytes("output 'y'", datatype, bytes, count);
  const invalid = "output 'y': the response is invalid: expected ";
  assert.throws(read('FP32', new Uint8Array(7), 2), {
    message: `${invalid}8 bytes of FP32, got 7`,
  });
  assert.throws(read('WHAT', new Uint8Array(7), 2), /a datatype of V2, got "WHAT"/);
  assert.throws(
    read('BYTES', Uint8Array.of(9, 0, 0, 0, 1), 1),
    /1 elements of BYTES, got 0 in 0 of 5/,
  );
  assert.throws(
    read('BYTES', Uint8Array.of(0, 0, 0, 0), 2),
    /2 elements of BYTES, got 1 in 4 of 4/,
  );
  assert.throws(() => fromJson("output 'y'", 'INT8', [300]), /element 0: expected a value of INT8/);
  assert.deepEqual(fromJson('y', 'INT64', [1, 2n ** 60n]), BigInt64Array.of(1n, 2n ** 60n));
  assert.deepEqual(fromJson('y', 'FP64', [1, null]), [1, null]);
  assert.deepEqual(fromJson('y', 'VECTOR', [[1], [2, 3]]), [[1], [2, 3]]);
});

test('shares one request for metadata, and forgets it after a rejected call', async () => {
  const cache = new MetadataCache<number>();
  let loads = 0;
  const load = () => Promise.resolve((loads += 1));
  assert.deepEqual(await Promise.all([cache.get('m', load), cache.get('m', load)]), [1, 1]);
  const busy = new ClientError('UNAVAILABLE', 'busy', { status: 503 });
  await assert.rejects(cache.forgetOnError('m', Promise.reject(busy)));
  assert.equal(await cache.get('m', load), 1);
  const invalid = new ClientError('INVALID_ARGUMENT', 'replaced', { status: 400 });
  await assert.rejects(cache.forgetOnError('m', Promise.reject(invalid)));
  assert.equal(await cache.get('m', load), 2);
  const cancelled = Promise.reject(new ClientError('CANCELLED', 'by another caller'));
  cancelled.catch(() => undefined);
  const first = cache.get('n', () => cancelled);
  const second = cache.get('n', load);
  await assert.rejects(first, { code: 'CANCELLED' });
  assert.equal(await second, 3);
});
