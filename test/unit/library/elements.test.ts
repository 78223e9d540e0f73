// JavaScript values as tensors: shapes, ranges, and bytes in both directions.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import type { Datatype } from '../../../ts/model/snapshot.js';
import { elementBytes, elementValues } from '../../../ts/library/elements.js';
import { checkedShape, flatten, shapeFor } from '../../../ts/library/flatten.js';
import type { InputInfo, Scalar } from '../../../ts/library/types.js';
import { encodeInputs, tensorAnswer, tensorBody } from '../../../ts/library/tensor-request.js';

const refusal =
  (text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ServalError &&
    error.code === ErrorCode.InvalidArgument &&
    text.test(error.message);

const info = (shape: number[], datatype: Datatype = 'FP32'): InputInfo => ({
  name: 'x',
  datatype,
  shape,
  unknownRank: false,
});

const back = (datatype: Datatype, values: ArrayLike<Scalar>): unknown =>
  elementValues(datatype, elementBytes('x', datatype, values));

describe('elements', () => {
  const kept: readonly (readonly [Datatype, readonly Scalar[], unknown])[] = [
    ['INT8', [-128, 127n], Int8Array.of(-128, 127)],
    ['UINT8', [0, 255], Uint8Array.of(0, 255)],
    ['INT16', [-32768], Int16Array.of(-32768)],
    ['UINT16', [65535], Uint16Array.of(65535)],
    ['INT32', [2 ** 31 - 1], Int32Array.of(2 ** 31 - 1)],
    ['UINT32', [2 ** 32 - 1], Uint32Array.of(2 ** 32 - 1)],
    ['INT64', [-(2n ** 63n), 5], BigInt64Array.of(-(2n ** 63n), 5n)],
    ['UINT64', [2n ** 64n - 1n], BigUint64Array.of(2n ** 64n - 1n)],
    ['FP32', [1.5, Number.NaN, -Infinity, 7n], Float32Array.of(1.5, Number.NaN, -Infinity, 7)],
    ['FP64', [0.1], Float64Array.of(0.1)],
    ['FP16', [0.5, 65504], Float32Array.of(0.5, 65504)],
    ['BF16', [1, -2], Float32Array.of(1, -2)],
    ['BOOL', [true, 0, 1], Uint8Array.of(1, 0, 1)],
    ['BYTES', ['ä', '', Uint8Array.of(255)], ['ä', '', Uint8Array.of(255)]],
  ];
  for (const [datatype, values, expected] of kept) {
    it(`keep their values as ${datatype}`, () => {
      assert.deepEqual(back(datatype, values), expected);
    });
  }

  const refused: readonly (readonly [Datatype, readonly unknown[], RegExp])[] = [
    ['UINT8', [1, 256], /x: element 1: expected a whole number from 0 to 255, got 256/],
    ['INT8', [-129n], /from -128 to 127, got -129/],
    ['INT64', [2n ** 63n], /got 9223372036854775808/],
    ['INT32', [1.5], /got 1.5/],
    ['FP32', [1e39], /a number that FP32 holds, got 1e\+39/],
    ['FP16', [65520], /FP16/],
    ['FP64', [2n ** 53n + 1n], /FP64/],
    ['FP32', ['1'], /got "1"/],
    ['FP32', [null], /got null/],
    ['BOOL', [2], /true, false, 0 or 1/],
    ['BYTES', [1], /text or bytes, got 1/],
  ];
  for (const [datatype, values, text] of refused) {
    it(`are refused as ${datatype}: ${String(values)}`, () => {
      const given = values as ArrayLike<Scalar>;
      assert.throws(() => elementBytes('x', datatype, given), refusal(text));
    });
  }

  it('of their own class are taken as they are, halves as bits', () => {
    const given = Float32Array.of(1, 2, 3).subarray(1);
    const bytes = elementBytes('x', 'FP32', given as unknown as ArrayLike<Scalar>);
    assert.deepEqual([bytes.buffer === given.buffer, bytes.byteOffset], [true, 4]);
    const bits = Uint16Array.of(0x3c00) as unknown as ArrayLike<Scalar>;
    assert.deepEqual(back('FP16', bits), Float32Array.of(1));
    assert.deepEqual(back('BF16', Uint16Array.of(0x3f80) as never), Float32Array.of(1));
  });

  it('of an answer have memory of their own', () => {
    const memory = Buffer.from(Float32Array.of(4).buffer);
    const values = elementValues('FP32', memory) as Float32Array;
    memory.fill(0);
    assert.deepEqual([values[0], values.buffer.byteLength], [4, 4]);
  });
});

describe('shapes', () => {
  it('are those of the lists', () => {
    const rows = [Float32Array.of(1, 2), [3, 4]];
    assert.deepEqual(flatten('x', rows, false), { shape: [2, 2], values: [1, 2, 3, 4] });
    assert.deepEqual(flatten('x', [[], []], false).shape, [2, 0]);
    assert.deepEqual(flatten('x', [Uint8Array.of(1)], true).shape, [1]);
    assert.throws(() => flatten('x', [[1, 2], [3]], false), refusal(/dimension 1: expected 2/));
    assert.throws(
      () => flatten('x', [[1], 2], false),
      refusal(/dimension 1: expected 1 elements, got a value/),
    );
    assert.throws(() => flatten('x', [1, [2]], false), refusal(/dimension 1/));
    let deep: unknown = 1;
    for (let i = 0; i < 100; i += 1) deep = [deep];
    assert.throws(() => flatten('x', deep, false), refusal(/at most 64/));
  });

  it("of what has none are the model's", () => {
    assert.deepEqual(shapeFor('x', info([-1, 3]), 6), [2, 3]);
    assert.deepEqual(shapeFor('x', info([-1, -1]), 1), [1, 1]);
    assert.deepEqual(shapeFor('x', info([]), 1), []);
    assert.deepEqual(shapeFor('x', undefined, 4), [4]);
    assert.throws(() => shapeFor('x', info([-1, 3]), 5), refusal(/the shape \[\?,3\], got 5/));
    assert.throws(() => shapeFor('x', info([-1, -1]), 4), refusal(/say which with/));
    assert.throws(() => shapeFor('x', info([2, 0]), 4), refusal(/\[2,0\]/));
    assert.throws(() => checkedShape('x', [2, 2], 5), refusal(/4 elements, got 5/));
    assert.throws(() => checkedShape('x', [-1], 5), refusal(/a shape of sizes/));
  });
});

describe('requests and answers', () => {
  it('are V2 with binary tensors', () => {
    const tensors = encodeInputs([info([-1])], { x: [1, 2] });
    const { body, jsonBytes } = tensorBody(tensors, {
      outputs: ['y'],
      parameters: { priority: 1 },
    });
    const head = JSON.parse(Buffer.from(body, 0, jsonBytes).toString()) as object;
    assert.deepEqual(head, {
      parameters: { priority: 1, binary_data_output: true },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2], parameters: { binary_data_size: 8 } }],
      outputs: [{ name: 'y' }],
    });
    assert.deepEqual(new Float32Array(body.slice(jsonBytes)), Float32Array.of(1, 2));
  });

  it('may be JSON, and may have any names', () => {
    const text = '{"outputs":[{"name":"__proto__","datatype":"INT64","shape":[1],"data":[7]}]}';
    const outputs = tensorAnswer(Buffer.from(text), 0);
    assert.deepEqual(Object.entries(outputs)[0]?.[1].data, BigInt64Array.of(7n));
  });

  it('name an input that there is none of', () => {
    assert.throws(() => encodeInputs([], { y: 1 }), refusal(/input 'y': the model has no such/));
    const other = { x: { data: 1, datatype: 'INT8' } };
    assert.throws(() => encodeInputs([info([])], other), refusal(/datatype FP32, got INT8/));
  });
});
