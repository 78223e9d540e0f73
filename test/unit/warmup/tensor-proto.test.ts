// TensorProto to raw tensors: every dtype in both forms, and everything that is not allowed.
// Source: tfserving.md 2, "TensorProto reading rules".
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTensorProto } from '../../../ts/warmup/tensor-proto.js';
import { WireReader } from '../../../ts/warmup/wire-reader.js';
import { encodeMessage, errorOf, hex, hexOf } from './support.js';

const shaped = (...sizes: number[]): object => ({
  tensor_shape: { dim: sizes.map((size) => ({ size })) },
});

/** "DATATYPE [shape] raw in hex" of the merged messages. */
function read(...messages: Buffer[]): string {
  const readers = messages.map((bytes) => new WireReader(bytes, 'TensorProto'));
  const { name, datatype, shape, raw } = readTensorProto(readers, 'x');
  assert.equal(name, 'x');
  return `${datatype} [${shape.join(',')}] ${hexOf(raw)}`;
}

const proto = (object: object): Buffer => encodeMessage('TensorProto', object);
const readProto = (object: object): string => read(proto(object));

/** dtype, V2 datatype, field of typed values, three values, their raw bytes. */
const DTYPES: readonly [number, string, string, unknown[], string][] = [
  [1, 'FP32', 'float_val', [1, -0.5, 1e-45], '0000803f000000bf01000000'],
  [2, 'FP64', 'double_val', [1, -0.5, 5e-324],
    '000000000000f03f000000000000e0bf0100000000000000'],
  [3, 'INT32', 'int_val', [1, -2, -2147483648], '01000000feffffff00000080'],
  [4, 'UINT8', 'int_val', [0, 255, 300], '00ff2c'],
  [5, 'INT16', 'int_val', [1, -2, -32768], '0100feff0080'],
  [6, 'INT8', 'int_val', [127, -1, -128], '7fff80'],
  [7, 'BYTES', 'string_val', [Buffer.from('ab'), Buffer.from(''), Buffer.from([0, 255])],
    '0200000061620000000002000000 00ff'],
  [9, 'INT64', 'int64_val', [1, '-2', '-9223372036854775808'],
    '0100000000000000feffffffffffffff0000000000000080'],
  [10, 'BOOL', 'bool_val', [true, false, true], '010001'],
  [14, 'BF16', 'half_val', [0x3f80, 0xbf00, 0x7fc0], '803f00bfc07f'],
  [17, 'UINT16', 'int_val', [1, 65535, 65537], '0100ffff0100'],
  [19, 'FP16', 'half_val', [0x3c00, 0xb800, 0x7e00], '003c00b8007e'],
  [22, 'UINT32', 'uint32_val', [1, 4294967295, 0], '01000000ffffffff00000000'],
  [23, 'UINT64', 'uint64_val', [1, '18446744073709551615', '4294967296'],
    '0100000000000000ffffffffffffffff0000000001000000'],
];

const elementHex = (datatype: string, raw: string, at: number): string => {
  if (datatype === 'BYTES') return ['020000006162', '00000000', '0200000000ff'][at] ?? '';
  const digits = raw.length / 3;
  return raw.slice(at * digits, (at + 1) * digits);
};

describe('TensorProto, every dtype', () => {
  for (const [dtype, datatype, field, values, spaced] of DTYPES) {
    const raw = spaced.replaceAll(' ', '');
    const given = (count: number, ...sizes: number[]): string => (
      readProto({ dtype, ...shaped(...sizes), [field]: values.slice(0, count) }));
    const element = (at: number): string => elementHex(datatype, raw, at);

    it(`${datatype}: as many values as elements`, () => {
      assert.equal(given(3, 3), `${datatype} [3] ${raw}`);
      assert.equal(given(3, 1, 3, 1), `${datatype} [1,3,1] ${raw}`);
    });

    it(`${datatype}: the last value repeats, none is zeros, surplus is dropped`, () => {
      assert.equal(given(1, 4), `${datatype} [4] ${element(0).repeat(4)}`);
      assert.equal(given(2, 2, 3), `${datatype} [2,3] ${element(0)}${element(1).repeat(5)}`);
      const zero = '0'.repeat(datatype === 'BYTES' ? 8 : element(0).length);
      assert.equal(given(0, 3), `${datatype} [3] ${zero.repeat(3)}`);
      assert.equal(given(3, 2), `${datatype} [2] ${element(0)}${element(1)}`);
      assert.equal(given(3, 0), `${datatype} [0] `);
      assert.equal(given(1), `${datatype} [] ${element(0)}`);
    });

    it(`${datatype}: tensor_content wins`, async () => {
      const content = hex(datatype === 'BYTES' ? '020002 6162 00ff' : raw);
      const other = { dtype, ...shaped(3), [field]: [values[0]], tensor_content: content };
      assert.equal(readProto(other), `${datatype} [3] ${raw}`);
      const short = { ...other, tensor_content: content.subarray(0, -1) };
      assert.match(await errorOf(() => readProto(short)),
        /^INVALID_ARGUMENT: tensor parsing error: x: tensor_content: expected /);
      const long = { ...other, tensor_content: Buffer.concat([content, Buffer.alloc(1)]) };
      assert.match(await errorOf(() => readProto(long)), /tensor_content: expected .* got \d+ by/);
    });

    it(`${datatype}: values of another field do not count`, () => {
      const field2 = field === 'int_val' ? 'half_val' : 'int_val';
      const mixed = { dtype, ...shaped(1), [field2]: [7], [field]: values.slice(0, 1) };
      assert.equal(readProto(mixed), `${datatype} [1] ${element(0)}`);
    });
  }
});

describe('TensorProto, forms on the wire', () => {
  const int32 = '0803 1204 12020803';

  it('takes packed, unpacked and mixed lists, and fields in any order', () => {
    const expected = 'INT32 [3] 010000000200000003000000';
    assert.equal(read(hex(`${int32} 3a03010203`)), expected);
    assert.equal(read(hex(`${int32} 3801 3802 3803`)), expected);
    assert.equal(read(hex(`${int32} 3801 3a020203`)), expected);
    assert.equal(read(hex('3a0101 3802 1204 12020803 3803 0803')), expected);
    assert.equal(read(hex('0801 1204 12020802 2d0000803f 2a0400000040')),
      'FP32 [2] 0000803f00000040');
  });

  it('merges what comes twice', () => {
    const parts = [hex('0801 1204 12020802 3801'), hex('0803 3802')];
    assert.equal(read(...parts), 'INT32 [2] 0100000002000000');
    assert.equal(read(Buffer.concat(parts)), 'INT32 [2] 0100000002000000');
    assert.equal(read(hex('0803 12041202 0801 1204 12020802 3805')),
      'INT32 [1,2] 0500000005000000');
    assert.equal(read(hex('0804 12041202 0801 2201aa 2201bb')), 'UINT8 [1] bb');
  });

  it('keeps the low bits of numbers that are too wide, and passes over unknown fields', () => {
    assert.equal(read(hex('0804 12041202 0801 38ffffffffffffffffff01')), 'UINT8 [1] ff');
    assert.equal(read(hex('080a 12041202 0802 5a0b 80808080808080808001 00')), 'BOOL [2] 0100');
    assert.equal(read(hex('0804 f2070161 12041202 0801 9b0108019c01 3809')), 'UINT8 [1] 09');
  });

  it('reads long strings of tensor_content, and empty ones', () => {
    const text = 'a'.repeat(300);
    const content = Buffer.concat([hex('ac02 00'), Buffer.from(text)]);
    assert.equal(readProto({ dtype: 7, ...shaped(2), tensor_content: content }),
      `BYTES [2] 2c010000${Buffer.from(text).toString('hex')}00000000`);
  });
});

describe('TensorProto, refused', () => {
  const refuse = async (object: object, error: string): Promise<void> => {
    assert.equal(await errorOf(() => readProto(object)), error);
  };

  it('shapes that are not full', async () => {
    const parsing = 'INVALID_ARGUMENT: tensor parsing error: x: ';
    await refuse({ dtype: 1, ...shaped(2, -1) }, `${parsing}expected a full shape, got [2,-1]`);
    await refuse({ dtype: 1, tensor_shape: { unknown_rank: true } },
      `${parsing}expected a full shape, got unknown rank`);
    assert.equal(await errorOf(() => read(hex('0801 1207 18808080808001'))),
      `${parsing}expected a full shape, got unknown rank`);
    await refuse({ dtype: 1, ...shaped(...Array.from({ length: 255 }, () => 1)) },
      `${parsing}expected at most 254 dimensions, got 255`);
  });

  it('dtypes that the V2 protocol does not have', async () => {
    for (const dtype of [0, 8, 11, 12, 13, 15, 16, 18, 20, 21, 24, 29, 101, 103]) {
      await refuse({ dtype, ...shaped(1) }, 'UNIMPLEMENTED: tensor parsing error: x: '
        + `tensorflow.DataType ${dtype} has no V2 datatype`);
    }
  });

  it('tensors that no request could carry', async () => {
    const most = 'expected at most 2147483647 bytes, got';
    const parsing = 'INVALID_ARGUMENT: tensor parsing error: x: ';
    await refuse({ dtype: 1, ...shaped(65536, 65536), float_val: [1] },
      `${parsing}FP32 of shape [65536,65536]: ${most} 17179869184`);
    await refuse({ dtype: 7, ...shaped(2 ** 30), string_val: [Buffer.from('a')] },
      `${parsing}BYTES of shape [1073741824]: ${most} 4294967296`);
    await refuse({ dtype: 7, ...shaped(2 ** 28), string_val: [Buffer.from('abcdef')] },
      `${parsing}BYTES of shape [268435456]: ${most} 2684354560`);
    const huge = shaped(...Array.from({ length: 254 }, () => 2 ** 52));
    assert.match(await errorOf(() => readProto({ dtype: 1, ...huge })), /bytes, got Infinity$/);
    assert.equal(readProto({ dtype: 1, ...shaped(2 ** 52, 0, 2 ** 52) }),
      'FP32 [4503599627370496,0,4503599627370496] ');
    const none = [...Array.from({ length: 100 }, () => 2 ** 52), 0];
    assert.equal(readProto({ dtype: 1, ...shaped(...none) }), `FP32 [${none.join(',')}] `);
  });

  it('tensor_content of another length', async () => {
    await refuse({ dtype: 1, ...shaped(2), tensor_content: hex('0000803f') },
      'INVALID_ARGUMENT: tensor parsing error: x: tensor_content: expected 8 bytes for FP32 of '
      + 'shape [2], got 4 bytes');
    await refuse({ dtype: 1, ...shaped(0), tensor_content: hex('00') },
      'INVALID_ARGUMENT: tensor parsing error: x: tensor_content: expected 0 bytes for FP32 of '
      + 'shape [0], got 1 bytes');
    for (const content of ['80', '8080808080 00', '0102 61', '0101 616162', 'ffffffff0f 01 61']) {
      assert.match(await errorOf(() => readProto(
        { dtype: 7, ...shaped(2), tensor_content: hex(content) })),
      /: tensor_content: expected 2 lengths and as many strings for BYTES of shape \[2\], got \d/);
    }
  });

  it('messages cut short, whatever the byte', async () => {
    const whole = proto({ dtype: 3, ...shaped(2, 2), int_val: [1, 200, -3], string_val: ['YQ=='] });
    let refused = 0;
    for (let cut = 0; cut < whole.length; cut += 1) {
      const error = await errorOf(() => read(whole.subarray(0, cut)));
      if (error === 'no error') continue;
      refused += 1;
      assert.match(error, /^(MODEL_INVALID: TensorProto: byte |UNIMPLEMENTED: .* 0 has no V2)/);
    }
    assert.ok(refused > whole.length / 2);
  });

  it('lists that are broken inside', async () => {
    assert.equal(await errorOf(() => read(hex('0803 12041202 0802 3a0180'))),
      'MODEL_INVALID: TensorProto: byte 10: field 7: the message ends inside a number');
    assert.equal(await errorOf(() => read(hex('0801 12041202 0802 2a03000080'))),
      'MODEL_INVALID: TensorProto: byte 8: field 5: a list of 4-byte elements has 3 bytes');
    assert.equal(await errorOf(() => read(hex('0803 12041202 0802 3d00000000'))),
      'MODEL_INVALID: TensorProto: byte 8: field 7: expected wire type 0, got 5');
  });
});
