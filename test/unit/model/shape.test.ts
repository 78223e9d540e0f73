// Numbers of elements of shapes: zeros, unknown dimensions, numbers that are too large.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { elementCount, elementCountWithin } from '../../../ts/model/shape.js';

describe('the number of elements of a shape', () => {
  it('is 1 for a scalar and the product of the dimensions else', () => {
    assert.equal(elementCount([]), 1);
    assert.equal(elementCount([2, 3, 4]), 24);
  });
  it('is 0 with a dimension of 0, however large the others are', () => {
    assert.equal(elementCount([1e200, 1e200, 0]), 0);
    assert.equal(elementCountWithin([2 ** 40, 2 ** 40, 0], 10), 0);
  });
  it('is refused above the maximum', () => {
    assert.equal(elementCountWithin([5, 2], 10), 10);
    assert.equal(elementCountWithin([11], 10), undefined);
    const most = Number.MAX_SAFE_INTEGER;
    assert.equal(elementCountWithin([2 ** 30, 2 ** 30], most), undefined);
  });
  it('is refused for dimensions that are unknown or no whole numbers', () => {
    for (const dim of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.equal(elementCountWithin([2, dim], 100), undefined);
    }
  });
});
