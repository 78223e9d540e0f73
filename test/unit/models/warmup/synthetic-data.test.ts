// Generated warm-up data: its size, its range, and that it is always the same.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Datatype } from '../../../../ts/model/snapshot.js';
import { randomData, zeroData } from '../../../../ts/models/warmup/synthetic-data.js';
import { DATA_TYPES } from '../../../../ts/model/datatype.js';
import { elementBytes } from '../../../../ts/model/infer/tensor.js';

const COUNT = 4096;
const SIZES: readonly [Datatype, number][] = [
  ['BOOL', 1],
  ['UINT8', 1],
  ['INT8', 1],
  ['UINT16', 2],
  ['INT16', 2],
  ['FP16', 2],
  ['BF16', 2],
  ['UINT32', 4],
  ['INT32', 4],
  ['FP32', 4],
  ['UINT64', 8],
  ['INT64', 8],
  ['FP64', 8],
  ['BYTES', 4],
];

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer);

/** The value by definition: sign, 5 bits of exponent, 10 of fraction. */
function halfValue(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
  assert.ok(exponent < 31);
  return bits >> 15 === 0 ? size : -size;
}

function bfloatValue(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, bits);
  return view.getFloat32(0);
}

const FLOATS: readonly [Datatype, (view: DataView, i: number) => number][] = [
  ['FP16', (view, i) => halfValue(view.getUint16(i * 2, true))],
  ['BF16', (view, i) => bfloatValue(view.getUint16(i * 2, true))],
  ['FP32', (view, i) => view.getFloat32(i * 4, true)],
  ['FP64', (view, i) => view.getFloat64(i * 8, true)],
];

describe('synthetic data', () => {
  it('has the size of its elements', () => {
    for (const [datatype, bytes] of SIZES) {
      assert.equal(elementBytes(datatype), bytes);
      assert.deepEqual(zeroData(datatype, 3), new Uint8Array(3 * bytes));
      assert.equal(randomData(datatype, 3, 's').length, 3 * bytes);
      assert.equal(randomData(datatype, 0, 's').length, 0);
    }
    const served = Object.values(DATA_TYPES).flatMap(({ v2 }) => v2 ?? []);
    assert.equal(new Set(served).size, SIZES.length);
  });

  it('is the same for one seed and another for another', () => {
    for (const [datatype] of SIZES.filter(([name]) => name !== 'BYTES')) {
      const data = randomData(datatype, COUNT, 'sample/x');
      assert.deepEqual(randomData(datatype, COUNT, 'sample/x'), data);
      assert.notDeepEqual(randomData(datatype, COUNT, 'sample/y'), data);
    }
  });

  it('holds floats from 0 to below 1, spread over the range', () => {
    for (const [datatype, value] of FLOATS) {
      const view = viewOf(randomData(datatype, COUNT, 'floats'));
      const tenths = new Set<number>();
      for (let i = 0; i < COUNT; i += 1) {
        const one = value(view, i);
        assert.ok(one >= 0 && one < 1, `${datatype} ${one}`);
        tenths.add(Math.floor(one * 10));
      }
      assert.equal(tenths.size, 10, datatype);
    }
  });

  it('holds integers of every size and both signs, and both truth values', () => {
    for (const datatype of [
      'UINT8',
      'INT8',
      'UINT16',
      'INT16',
      'UINT32',
      'INT32',
      'UINT64',
      'INT64',
    ] as const) {
      const data = randomData(datatype, COUNT, 'integers');
      const bytes = elementBytes(datatype);
      for (let place = 0; place < bytes; place += 1) {
        const column = new Set(data.filter((_, at) => at % bytes === place));
        assert.ok(column.size > 250, `${datatype} byte ${place}: ${column.size} values`);
      }
    }
    assert.deepEqual(new Set(randomData('BOOL', COUNT, 's')), new Set([0, 1]));
  });

  it('leaves text empty', () => {
    assert.deepEqual(randomData('BYTES', 5, 's'), new Uint8Array(20));
  });
});
