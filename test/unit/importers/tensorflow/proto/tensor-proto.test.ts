// TensorProto: typed values, raw content, data that stays in the file, and limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  EXPANDED_BYTES_MAX,
  ReadContext,
} from '../../../../../ts/importers/tensorflow/proto/read-context.js';
import { readTensor } from '../../../../../ts/importers/tensorflow/proto/tensor-proto.js';
import type { Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { invalid, message, readOf, readerOf, shape, textOf } from '../messages.js';
import type { Fill } from '../messages.js';

const tensor =
  (code: number, dims: readonly number[], values: Fill): Fill =>
  (writer) => {
    writer.varint(1, code).message(2, shape(dims));
    values(writer);
  };

function read(code: number, dims: readonly number[], values: Fill): Tensor | undefined {
  return readOf(readTensor, tensor(code, dims, values));
}

/** The bytes in hex. */
function bytesOf(found: Tensor | undefined): string {
  assert.ok(found?.data.kind === 'bytes', `expected bytes, got ${found?.data.kind}`);
  return Buffer.from(found.data.bytes).toString('hex');
}

const fixed =
  (field: number, ...hex: readonly string[]): Fill =>
  (writer) =>
    writer.bytes(field, Buffer.from(hex.join(''), 'hex'));
const numbers =
  (field: number, ...values: readonly (number | bigint)[]): Fill =>
  (writer) => {
    for (const value of values) writer.varint(field, value);
  };

test('typed values of every dtype, little-endian', () => {
  const cases: readonly (readonly [code: number, values: Fill, expected: string])[] = [
    [1, (writer) => writer.float(5, 1).float(5, -2), '0000803f000000c0'],
    [1, fixed(5, '0000803f', '000000c0'), '0000803f000000c0'],
    [2, fixed(6, '000000000000f03f', '0000000000000040'), '000000000000f03f0000000000000040'],
    [3, numbers(7, 7, -1), '07000000ffffffff'],
    [4, numbers(7, 255, 1), 'ff01'],
    [5, numbers(7, -2, 258), 'feff0201'],
    [6, numbers(7, -128, 127), '807f'],
    [
      8,
      fixed(9, '0000803f', '00000040', '00004040', '00008040'),
      '0000803f000000400000404000008040',
    ],
    [9, numbers(10, -1n, 2n ** 40n), 'ffffffffffffffff0000000000010000'],
    [10, numbers(11, 1, 0), '0100'],
    [10, numbers(11, 2n ** 40n, 0), '0100'],
    [11, numbers(7, -1, 1), 'ff01'],
    [12, numbers(7, 200, 1), 'c801'],
    [13, numbers(7, -1, 1), 'ffffffff01000000'],
    [14, numbers(13, 0x3f80, 0xffff), '803fffff'],
    [15, numbers(7, -1, 1), 'ffff0100'],
    [16, numbers(7, 65535, 1), 'ffff0100'],
    [17, numbers(7, 65535, 1), 'ffff0100'],
    [
      18,
      fixed(12, '000000000000f03f', '0000000000000040', '00'.repeat(16)),
      `000000000000f03f0000000000000040${'00'.repeat(16)}`,
    ],
    [19, numbers(13, 0x3c00, 0x8000), '003c0080'],
    [22, numbers(16, 4294967295, 1), 'ffffffff01000000'],
    [23, numbers(17, 18446744073709551615n, 1), 'ffffffffffffffff0100000000000000'],
  ];
  for (const [code, values, expected] of cases) {
    assert.equal(bytesOf(read(code, [2], values)), expected, `dtype ${code}`);
  }
});

test('packed and unpacked values are the same', () => {
  assert.equal(
    bytesOf(read(9, [3], fixed(10, '01', '8002', '03'))),
    bytesOf(read(9, [3], numbers(10, 1, 256, 3))),
  );
});

test('a reference type is its plain type; an unknown type is no tensor', () => {
  assert.equal(read(101, [1], numbers(7))?.dtype, 'float');
  assert.equal(read(0, [1], numbers(7)), undefined);
  assert.equal(read(29, [1], numbers(7)), undefined);
});

test('the last value repeats, surplus values are passed over, none are zeros', () => {
  assert.equal(bytesOf(read(3, [4], numbers(7, 5, 6))), '05000000060000000600000006000000');
  assert.equal(bytesOf(read(4, [2], numbers(7, 1, 2, 3))), '0102');
  assert.equal(bytesOf(read(4, [3], numbers(7))), '000000');
  assert.equal(bytesOf(read(4, [3], numbers(7, 9))), '090909');
  assert.equal(bytesOf(read(4, [0, 5], numbers(7, 9))), '');
  assert.equal(bytesOf(read(1, [], fixed(5, '0000803f'))), '0000803f');
  const long = bytesOf(read(5, [1000], numbers(7, 1, 2, 3)));
  assert.equal(long, `01000200${'0300'.repeat(998)}`);
});

test('large uniform tensors stay one element', () => {
  const found = read(1, [1_000_000, 1_000_000], fixed(5, '0000803f'));
  assert.deepEqual(found?.data, { kind: 'fill', element: Uint8Array.of(0, 0, 0x80, 0x3f) });
  assert.deepEqual(read(9, [1000], numbers(10))?.data, {
    kind: 'fill',
    element: new Uint8Array(8),
  });
});

test('values that repeat into more memory than the limit are refused', () => {
  const elements = EXPANDED_BYTES_MAX / 4;
  assert.match(
    invalid(() => read(3, [elements + 3], numbers(7, 1, 2))),
    /int32\[67108867\]: expected repeated values of at most 268435456 bytes/,
  );
  const context = new ReadContext();
  context.expand(EXPANDED_BYTES_MAX, 'others');
  const bytes = message(tensor(3, [1000], numbers(7, 1, 2)));
  assert.match(
    invalid(() => readTensor(readerOf(bytes), context)),
    /in all tensors, got/,
  );
  // Small ones count as well: many of them equal one large one.
  const small = message(tensor(4, [1000], numbers(7)));
  const most = new ReadContext();
  most.expand(EXPANDED_BYTES_MAX - 1500, 'others');
  readTensor(readerOf(small), most);
  assert.match(
    invalid(() => readTensor(readerOf(small), most)),
    /uint8\[1000\]: expected repeat/,
  );
  assert.match(
    invalid(() => read(7, [2 ** 40], numbers(8))),
    /string\[1099511627776\]/,
  );
});

test('strings: typed values and lengths with content', () => {
  const strings = (found: Tensor | undefined): readonly string[] => {
    assert.ok(found?.data.kind === 'strings');
    return found.data.values.map(textOf);
  };
  assert.deepEqual(strings(read(7, [2], (writer) => writer.string(8, 'a').string(8, 'b\0'))), [
    'a',
    'b\0',
  ]);
  assert.deepEqual(strings(read(7, [3], (writer) => writer.string(8, 'a'))), ['a', 'a', 'a']);
  assert.deepEqual(strings(read(7, [2], () => undefined)), ['', '']);
  assert.deepEqual(strings(read(7, [3], fixed(4, '010002', '616263'))), ['a', '', 'bc']);
  for (const content of ['0101', '01020361', 'ffffffffffff', '010161']) {
    assert.match(
      invalid(() => read(7, [3], fixed(4, content))),
      /3 lengths and the same number of strings/,
    );
  }
});

test('content must be as long as dtype and shape say', () => {
  assert.equal(bytesOf(read(3, [1], fixed(4, '01020304'))), '01020304');
  assert.match(
    invalid(() => read(3, [2], fixed(4, '01020304'))),
    /tensor_content: expected 8 bytes for int32\[2\], got 4/,
  );
});

test('shapes: unknown, negative and huge ones are refused', () => {
  assert.match(
    invalid(() => read(1, [-1], numbers(5))),
    /full shape, got \[-1\]/,
  );
  assert.match(
    invalid(() => read(1, [2 ** 30, 2 ** 30], numbers(5))),
    /too many elements/,
  );
  assert.match(
    invalid(() =>
      readOf(readTensor, (writer) => writer.varint(1, 1).message(2, (inner) => inner.varint(3, 1))),
    ),
    /unknown rank/,
  );
  assert.match(
    invalid(() =>
      read(
        1,
        Array.from({ length: 255 }, () => 1),
        numbers(5),
      ),
    ),
    /at most 254 dimensions/,
  );
  assert.match(
    invalid(() => read(1, [2 ** 54], numbers(5))),
    /full shape/,
  );
});

test('pairs of complex numbers must be whole', () => {
  assert.match(
    invalid(() => read(8, [2], fixed(9, '0000803f'))),
    /pairs of numbers/,
  );
});

test('resources and variants have no bytes', () => {
  const found = read(21, [2], (writer) => writer.message(15, (inner) => inner.string(1, 'x')));
  assert.deepEqual(found, {
    dtype: 'variant',
    shape: [2],
    data: { kind: 'bytes', bytes: new Uint8Array(0) },
  });
});

test('large raw elements stay in their file, small ones are copied out of it', () => {
  const content = Buffer.alloc(1024, 7);
  const inFile = (fill: Fill): { found: Tensor | undefined; file: Uint8Array } => {
    // The message does not start at the file's beginning.
    const inner = message(fill);
    const file = new Uint8Array(Buffer.concat([Buffer.alloc(100), inner]));
    const context = new ReadContext({ path: '/m/f.pb', bytes: file });
    return { found: readTensor(readerOf(file.subarray(100)), context), file };
  };
  for (const [code, field] of [
    [4, 4],
    [1, 5],
    [8, 9],
  ] as const) {
    const count = code === 4 ? 1024 : code === 1 ? 256 : 128;
    const { found, file } = inFile(tensor(code, [count], (writer) => writer.bytes(field, content)));
    assert.ok(found?.data.kind === 'file', `field ${field}: ${found?.data.kind}`);
    const { path, offset, byteLength } = found.data;
    assert.deepEqual([path, byteLength], ['/m/f.pb', 1024]);
    assert.deepEqual(Buffer.from(file.subarray(offset, offset + byteLength)), content);
  }
  const { found, file } = inFile(tensor(4, [2], fixed(4, '0102')));
  assert.ok(found?.data.kind === 'bytes');
  assert.notEqual(found.data.bytes.buffer, file.buffer);
});
