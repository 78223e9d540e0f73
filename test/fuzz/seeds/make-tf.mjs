// Writes test/fuzz/corpus/wire_tf and test/fuzz/corpus/json_examples: small TensorFlow Serving
// requests for the fuzzers to start from, one per dtype and form. Deterministic. The first byte is
// the target's choice (wire_tf_fuzz.cc, json_examples_fuzz.cc). Test time only.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const corpus = join(dirname(dirname(fileURLToPath(import.meta.url))), 'corpus');

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
const concat = (...parts) => Buffer.concat(parts);
const number = (field, value) => concat(varint(field * 8), varint(value));
function bytes(field, content) {
  const body = Buffer.isBuffer(content) ? content : Buffer.from(content);
  return concat(varint(field * 8 + 2), varint(body.length), body);
}
const packed = (field, values) => bytes(field, concat(...values.map(varint)));
const floats = (values) => Buffer.from(Float32Array.from(values).buffer);
const doubles = (values) => Buffer.from(Float64Array.from(values).buffer);

const shape = (dims) => bytes(2, concat(...dims.map((size) => bytes(2, number(1, size)))));
const proto = (dtype, dims, ...values) => concat(number(1, dtype), shape(dims), ...values);
const spec = bytes(1, concat(bytes(1, 'm'), bytes(2, number(1, 3))));
const input = (alias, tensor) => bytes(2, concat(bytes(1, alias), bytes(2, tensor)));
const flag = input('a', proto(10, [1], packed(11, [1])));
const predict = (...parts) => [0, concat(spec, flag, ...parts)];

// alias of the target's signature: [DataType, values in the typed field]
const dtypes = {
  a: [10, packed(11, [0, 1, 2])],
  b: [4, packed(7, [0, 255, 7])],
  c: [17, packed(7, [0, 65535])],
  d: [22, packed(16, [4294967295, 1])],
  e: [23, packed(17, [-1, 1])],
  f: [6, packed(7, [-128, 127])],
  g: [5, concat(packed(7, [-5]), number(7, 300))],
  h: [3, packed(7, [-2147483648, 2147483647])],
  i: [9, packed(10, [-9007199254740993n, 1])],
  j: [19, packed(13, [0x3c00, 1])],
  k: [1, bytes(5, floats([1, -0]))],
  l: [2, bytes(6, doubles([0.1, Infinity]))],
  m: [7, concat(bytes(8, 'a'), bytes(8, ''))],
  n: [14, packed(13, [0x3f80])],
};
const wire = {
  two_strings: predict(input('m', proto(7, [2], bytes(4, Buffer.from([1, 2, 97, 98, 99]))))),
  content: predict(input('k', proto(1, [2], bytes(4, floats([1, 2]))))),
  content_short: predict(input('k', proto(1, [2], bytes(4, 'abc')))),
  pieces: predict(input('k', proto(1, [3], bytes(5, floats([1])), varint(45), floats([2])))),
  merged: predict(
    bytes(2, concat(bytes(2, proto(9, [2])), bytes(1, 'i'), bytes(2, packed(10, [4, 5])))),
  ),
  fill: predict(input('l', proto(2, [1000], bytes(6, doubles([2]))))),
  too_much: predict(input('l', proto(2, [1000000000000], bytes(6, doubles([2]))))),
  negative: predict(input('k', proto(1, [-1]))),
  unknown_rank: predict(input('k', concat(number(1, 1), bytes(2, number(3, 1))))),
  complex: predict(input('k', proto(8, [1], bytes(9, floats([1, 2]))))),
  filter: predict(bytes(3, 'z'), bytes(3, 'y')),
  filter_twice: predict(bytes(3, 'z'), bytes(3, 'z')),
  label: [0, concat(bytes(1, concat(bytes(1, 'm'), bytes(4, 'canary'), bytes(3, 's'))), flag)],
  classify: [1, concat(spec, bytes(2, bytes(1, concat(bytes(1, 'one'), bytes(1, 'two')))))],
  regress: [2, concat(spec, bytes(2, bytes(2, concat(bytes(1, 'one'), bytes(2, 'context')))))],
  regress_both: [
    2,
    concat(
      spec,
      bytes(2, bytes(1, bytes(1, 'a'))),
      bytes(2, bytes(2, concat(bytes(1, 'b'), bytes(2, 'c')))),
    ),
  ],
  empty_input: [2, concat(spec, bytes(2, ''))],
};
for (const [alias, [dtype, values]] of Object.entries(dtypes)) {
  wire[`typed_${dtype}`] = predict(input(alias, proto(dtype, [3], values)));
  wire[`alone_${dtype}`] = [3 + 3 * 32, proto(dtype, [2], values)];
}

const task = (signature, verb) =>
  bytes(
    1,
    concat(
      bytes(1, concat(bytes(1, 'm'), bytes(3, signature))),
      bytes(2, `tensorflow/serving/${verb}`),
    ),
  );
const examples = bytes(2, bytes(1, concat(bytes(1, 'one'), bytes(1, 'two'))));
const multi = {
  both: concat(task('c', 'classify'), task('r', 'regress'), examples),
  unnamed: concat(task('', 'regress'), examples),
  twice: concat(task('c', 'classify'), task('c', 'regress'), examples),
  unknown: concat(task('q', 'classify'), examples),
  predict: concat(task('c', 'predict'), examples),
  between: concat(
    bytes(2, bytes(1, bytes(1, 'a'))),
    task('r', 'regress'),
    bytes(2, bytes(2, concat(bytes(1, 'b'), bytes(2, 'context')))),
  ),
  response: concat(bytes(1, bytes(1, 'x')), bytes(2, bytes(1, 'm'))),
};

for (const [name, message] of Object.entries(multi)) wire[`multi_${name}`] = [4, message];

const json = {
  features: '{"examples":[{"i":[1,-2],"f":[0.5,NaN],"b":["a",{"b64":"AP8="}],"t":true,"e":[]}]}',
  context: '{"signature_name":"","context":{"c":1},"examples":[{},{"x":2.0},{"c":3}]}',
  twice: '{"examples":[{"x":1,"x":"a"}]}',
  mixed: '{"examples":[{"x":[1,2.0]}]}',
  nested: '{"examples":[{"x":[[1]]}]}',
  large: '{"examples":[{"x":9223372036854775808}]}',
  wide: '{"examples":[{"x":18446744073709551616}]}',
  bad_base64: '{"examples":[{"x":{"b64":"_"}}]}',
  escapes: '{"examples":[{"\\u0041\\n":"\\u0000\\ud83d\\ude00"}]}',
  empty: '{"examples":[]}',
  missing: '{}',
};

mkdirSync(join(corpus, 'wire_tf'), { recursive: true });
for (const [name, [choice, message]] of Object.entries(wire)) {
  writeFileSync(join(corpus, 'wire_tf', name), concat(Buffer.from([choice]), message));
}
mkdirSync(join(corpus, 'json_examples'), { recursive: true });
for (const [index, [name, body]] of Object.entries(json).entries()) {
  writeFileSync(join(corpus, 'json_examples', name), `${String.fromCharCode(48 + index)}${body}`);
}
