// Writes test/fuzz/corpus/wire_v2: small ModelInferRequests for the fuzzer to start from, one per
// datatype and form. Deterministic. The first byte is the target's choice of model
// (wire_v2_fuzz.cc). Test time only.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DATATYPES } from './datatypes.mjs';

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'corpus', 'wire_v2');

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
function bytes(field, content) {
  const body = Buffer.isBuffer(content) ? content : Buffer.from(content);
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
}
const packed = (field, values) => bytes(field, Buffer.concat(values.map(varint)));
const floats = (values) => Buffer.from(Float32Array.from(values).buffer);
const doubles = (values) => Buffer.from(Float64Array.from(values).buffer);
const concat = (...parts) => Buffer.concat(parts);

const dtypes = ['', ...DATATYPES];

const head = concat(bytes(1, 'm'), bytes(2, '1'), bytes(3, 'id'));
const parameter = (field, key, value) => bytes(field, concat(bytes(1, key), bytes(2, value)));
const tensor = (name, dtype, shape, ...rest) =>
  bytes(5, concat(bytes(1, name), bytes(2, dtype), packed(3, shape), ...rest));
const typed = (dtype, count, contents) =>
  concat(head, tensor('x', dtype, [count], bytes(5, contents)));
const raw = (dtype, count, content) => concat(head, tensor('x', dtype, [count]), bytes(7, content));
const strings = Buffer.from([2, 0, 0, 0, 97, 98, 0, 0, 0, 0]);

const seeds = {
  typed_bool: [1, typed('BOOL', 3, packed(1, [0, 1, 1]))],
  typed_uint8: [2, typed('UINT8', 3, packed(4, [0, 255, 7]))],
  typed_uint16: [3, typed('UINT16', 9, packed(4, [1, 2, 3, 4, 5, 6, 7, 8, 65535]))],
  typed_uint32: [4, typed('UINT32', 2, concat(number(4, 1), number(4, 4294967295)))],
  typed_uint64: [5, typed('UINT64', 1, packed(5, [-1]))],
  typed_int8: [6, typed('INT8', 2, packed(2, [-128, 127]))],
  typed_int16: [7, typed('INT16', 2, concat(packed(2, [-5]), number(2, 300)))],
  typed_int32: [8, typed('INT32', 2, packed(2, [-2147483648, 2147483647]))],
  typed_int64: [9, typed('INT64', 2, packed(3, [-9007199254740993n, 1]))],
  typed_fp32: [11, typed('FP32', 2, bytes(6, floats([1, -0])))],
  typed_fp64: [12, typed('FP64', 2, bytes(7, doubles([0.1, Infinity])))],
  typed_bytes: [13, typed('BYTES', 2, concat(bytes(8, 'a'), bytes(8, '')))],
  typed_pieces: [
    11,
    concat(
      head,
      tensor(
        'x',
        'FP32',
        [2],
        bytes(5, bytes(6, floats([1]))),
        bytes(5, concat(varint(6 * 8 + 5), floats([2]))),
      ),
    ),
  ],
  raw_bytes: [13, raw('BYTES', 2, strings)],
  raw_fp16: [10, raw('FP16', 2, 'abcd')],
  raw_bf16: [14, raw('BF16', 2, 'abcd')],
  raw_bool: [1, raw('BOOL', 2, Buffer.from([0, 1]))],
  raw_fp32_offset: [11 + 3 * 32, raw('FP32', 2, floats([1, 2]))],
  raw_two_inputs: [
    0,
    concat(
      head,
      bytes(7, 'z'),
      tensor('b', 'INT8', [1]),
      tensor('a', 'FP32', [1, 1]),
      bytes(7, floats([1])),
      bytes(6, bytes(1, 'd')),
      bytes(6, bytes(1, 'c')),
    ),
  ],
  empty_model: [15, head],
  parameters: [
    11,
    concat(
      parameter(4, 'priority', number(5, 1)),
      tensor(
        'x',
        'FP32',
        [0],
        parameter(4, 'classification', number(2, 3)),
        parameter(4, 't', bytes(3, 'text')),
      ),
    ),
  ],
  schedule: [
    11,
    concat(
      parameter(4, 'priority', number(5, 2)),
      parameter(4, 'timeout', number(2, 500)),
      typed('FP32', 1, bytes(6, floats([1]))),
    ),
  ],
  schedule_twice: [
    15,
    concat(
      head,
      parameter(4, 'timeout', bytes(3, 'soon')),
      bytes(4, concat(bytes(2, bytes(3, 'a')), bytes(2, number(5, 9)), bytes(1, 'timeout'))),
    ),
  ],
  schedule_wrong: [15, concat(head, parameter(4, 'priority', number(2, -1)))],
  classification: [
    0,
    concat(
      head,
      tensor('b', 'INT8', [1]),
      tensor('a', 'FP32', [1]),
      bytes(7, 'z'),
      bytes(7, floats([1])),
      bytes(6, concat(bytes(1, 'd'), parameter(2, 'classification', number(2, 3)))),
      bytes(6, bytes(1, 'c')),
    ),
  ],
  repeated_output: [
    11,
    concat(
      typed('FP32', 1, bytes(6, floats([1]))),
      bytes(6, concat(bytes(1, 'y'), parameter(2, 'classification', number(5, 2)))),
      bytes(6, concat(bytes(1, 'y'), parameter(2, 'classification', number(5, 0)))),
    ),
  ],
  classification_wrong: [
    11,
    concat(
      typed('FP32', 1, bytes(6, floats([1]))),
      bytes(6, concat(bytes(1, 'y'), parameter(2, 'classification', number(5, 0)))),
    ),
  ],
  shared_memory: [
    11,
    concat(
      typed('FP32', 1, bytes(6, floats([1]))),
      bytes(6, concat(bytes(1, 'y'), parameter(2, 'shared_memory_region', bytes(3, 'r')))),
    ),
  ],
  shared_memory_places: [
    11,
    concat(
      bytes(
        5,
        concat(
          bytes(1, 'x'),
          bytes(2, 'FP32'),
          varint(3 * 8),
          varint(1),
          parameter(4, 'shared_memory_region', bytes(3, 'r')),
          parameter(4, 'shared_memory_byte_size', number(2, 4)),
          parameter(4, 'shared_memory_offset', number(5, 8)),
        ),
      ),
      bytes(
        6,
        concat(
          bytes(1, 'y'),
          parameter(2, 'shared_memory_region', bytes(3, 'r')),
          parameter(2, 'shared_memory_byte_size', number(2, 4)),
        ),
      ),
    ),
  ],
  group: [
    15,
    concat(
      varint(9 * 8 + 3),
      number(1, 5),
      varint(8 * 8 + 3),
      varint(8 * 8 + 4),
      varint(9 * 8 + 4),
    ),
  ],
};

mkdirSync(folder, { recursive: true });
for (const [name, [choice, message]] of Object.entries(seeds)) {
  writeFileSync(join(folder, name), Buffer.concat([Buffer.from([choice]), message]));
}
for (const [choice, dtype] of dtypes.entries()) {
  if (dtype === '') continue;
  writeFileSync(
    join(folder, `empty_${dtype.toLowerCase()}`),
    Buffer.concat([Buffer.from([choice]), concat(tensor('x', dtype, [0]), bytes(7, ''))]),
  );
}
