// The table of data types: lookups in both directions, elements written and read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DATA_TYPES,
  configTypeOf,
  dataTypeOf,
  dataTypeOfOnnx,
  datatypeOfConfig,
  dtypeOfCode,
  isDtype,
  type Dtype,
} from '../../../ts/model/datatype.js';
import { DATA_TYPE } from '../../../ts/protobuf/generated/tensorflow.js';

const ROWS = Object.entries(DATA_TYPES);

test("TensorFlow's numbers are those of its DataType, references included", () => {
  for (const [dtype, { code }] of ROWS) {
    assert.equal(DATA_TYPE.values[`DT_${dtype.toUpperCase()}`], code);
    assert.equal(dtypeOfCode(code), dtype);
    assert.equal(dtypeOfCode(DATA_TYPE.values[`DT_${dtype.toUpperCase()}_REF`] ?? 0), dtype);
  }
  assert.equal(dtypeOfCode(0), undefined);
  assert.equal(dtypeOfCode(DATA_TYPE.values['DT_INT4'] ?? 0), undefined);
  assert.equal(isDtype('constructor'), false);
});

test('names of V2, ONNX and of a configuration lead back to plain types', () => {
  for (const [dtype, row] of ROWS) {
    const { v2, onnx } = row;
    if (v2 === undefined || onnx === undefined || dtype.startsWith('q')) continue;
    assert.equal(dataTypeOf(v2), row);
    assert.equal(dataTypeOfOnnx(onnx), row);
    assert.equal(datatypeOfConfig(configTypeOf(v2)), v2);
  }
  assert.equal(configTypeOf('BYTES'), 'TYPE_STRING');
  assert.equal(datatypeOfConfig('TYPE_INVALID'), undefined);
  assert.equal(datatypeOfConfig('TYPE_BYTES'), undefined);
});

test('elements are read as they were written; the lowest bits stay', () => {
  const view = new DataView(new ArrayBuffer(16));
  for (const [dtype, { bytes, kind, elements }] of ROWS) {
    if (elements === undefined) continue;
    const values = kind === 'bool' ? [0, 1] : [0, 1, 100, ...(kind === 'unsigned' ? [] : [-2])];
    for (const value of values) {
      elements.set(view, 3, value);
      assert.equal(Number(elements.get(view, 3)), value, `${dtype} ${value}`);
    }
    assert.ok(bytes > 0, dtype);
  }
  const kept = (dtype: Dtype, value: number | bigint): unknown => {
    DATA_TYPES[dtype].elements?.set(view, 0, value);
    return DATA_TYPES[dtype].elements?.get(view, 0);
  };
  assert.deepEqual(
    [kept('int8', 300), kept('uint16', -1), kept('uint64', -1n), kept('bool', 7)],
    [44, 65535, 2n ** 64n - 1n, 1],
  );
});
