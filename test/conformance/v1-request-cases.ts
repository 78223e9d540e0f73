// V1 predict requests that TensorFlow Serving accepts, and its responses. Data only. Source of each
// case: tfserving.md, by section.
import type { RestCase } from './rest-case.js';

const HALF = '/v1/models/half_plus_three:predict';
const model = (name: string): string => `/v1/models/${name}:predict`;
const identity = (datatype: string): string => model(`identity_${datatype}`);

/** A list of rows in row form, for models whose input is [batch, n]. */
const rows = (
  name: string,
  source: string,
  datatype: string,
  data: string,
  out = data,
): RestCase => ({
  name,
  source,
  path: identity(datatype),
  body: `{"instances":${data}}`,
  text: `{"predictions":${out}}`,
});

const FORMS: readonly RestCase[] = [
  {
    name: 'row form',
    source: '1.5',
    path: HALF,
    body: '{"instances":[1.0,2.0,5.0]}',
    answer: { predictions: [3.5, 4, 5.5] },
  },
  {
    name: 'column form',
    source: '1.5',
    path: HALF,
    body: '{"inputs":[1.0,2.0,5.0]}',
    answer: { outputs: [3.5, 4, 5.5] },
  },
  {
    name: 'row form, named input',
    source: '1.5',
    path: HALF,
    body: '{"instances":[{"x":1.0},{"x":2.0}]}',
    answer: { predictions: [3.5, 4] },
  },
  {
    name: 'column form, named input',
    source: '1.5',
    path: HALF,
    body: '{"inputs":{"x":[1.0,2.0]}}',
    answer: { outputs: [3.5, 4] },
  },
  {
    name: 'several outputs, row form: a list of objects',
    source: '1.6',
    path: model('multi_output'),
    body: '{"instances":[[1.5,-2,0,4],[0,0,0,1]]}',
    answer: {
      predictions: [
        { doubled: [3, -4, 0, 8], whole: [1, -2, 0, 4], positive: [true, false, false, true] },
        { doubled: [0, 0, 0, 2], whole: [0, 0, 0, 1], positive: [false, false, false, true] },
      ],
    },
  },
  {
    name: 'several outputs, column form: one object',
    source: '1.6',
    path: model('multi_output'),
    body: '{"inputs":[[1,-1,0,2]]}',
    answer: {
      outputs: {
        doubled: [[2, -2, 0, 4]],
        whole: [[1, -1, 0, 2]],
        positive: [[true, false, false, true]],
      },
    },
  },
  {
    name: 'several inputs, row form',
    source: '1.5',
    path: model('add_sub'),
    body: JSON.stringify({
      instances: [
        { INPUT0: Array(16).fill(5), INPUT1: Array(16).fill(3) },
        { INPUT1: Array(16).fill(-1), INPUT0: Array(16).fill(1) },
      ],
    }),
    answer: {
      predictions: [
        { OUTPUT0: Array(16).fill(8), OUTPUT1: Array(16).fill(2) },
        { OUTPUT0: Array(16).fill(0), OUTPUT1: Array(16).fill(2) },
      ],
    },
  },
  {
    name: 'several inputs, column form, of different first dimensions',
    source: '1.5',
    path: model('mixed_inputs'),
    body: '{"inputs":{"tag":["a","b"],"signal":[[1,2,3],[4,5,6]],"weights":[0.1,1e300,-0.0]}}',
    answer: {
      outputs: {
        tag_out: ['a', 'b'],
        signal_out: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        weights_out: [0.1, 1e300, -0],
      },
    },
  },
  {
    name: 'several inputs and outputs, row form',
    source: '1.5, 1.6',
    path: model('mixed_inputs'),
    body:
      '{"instances":[{"tag":"a","signal":[1],"weights":2},' +
      '{"tag":"b","signal":[3],"weights":4}]}',
    answer: {
      predictions: [
        { tag_out: 'a', signal_out: [1], weights_out: 2 },
        { tag_out: 'b', signal_out: [3], weights_out: 4 },
      ],
    },
  },
  {
    name: 'a scalar, column form',
    source: '1.5 "Scalars give rank 0"',
    path: model('scalar'),
    body: '{"inputs":2.5}',
    answer: { outputs: 2.5 },
  },
  {
    name: 'a named scalar, column form',
    source: '1.5',
    path: model('scalar'),
    body: '{"inputs":{"x":2.5}}',
    answer: { outputs: 2.5 },
  },
  {
    name: 'an empty list, column form',
    source: '1.5 "[] gives shape [0]"',
    path: HALF,
    body: '{"inputs":[]}',
    answer: { outputs: [] },
  },
  {
    name: 'rows of nothing',
    source: '1.5 "[[]] -> shape [1,0]"',
    path: identity('fp32'),
    body: '{"instances":[[]]}',
    answer: { predictions: [[]] },
  },
  {
    name: 'no rows come out',
    source: '1.6 "Dimension 0 = 0"',
    path: identity('fp32'),
    body: '{"inputs":[]}',
    status: 400,
    errorLike: /input/,
  },
  {
    name: 'any rank',
    source: '1.5 "Shape per instance"',
    path: model('unknown_rank'),
    body: '{"instances":[[[1],[2]],[[3],[4]]]}',
    answer: {
      predictions: [
        [[1], [2]],
        [[3], [4]],
      ],
    },
  },
  {
    name: 'no inputs',
    source: '9 "signatures without inputs"',
    path: model('constant'),
    body: '{"inputs":{}}',
    answer: { outputs: [1, 2, 3] },
  },
  {
    name: 'signature_name serving_default',
    source: '1.5',
    path: HALF,
    body: '{"signature_name":"serving_default","instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'an empty signature_name is the default',
    source: '1.5',
    path: HALF,
    body: '{"signature_name":"","instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'other top-level keys are passed over',
    source: '1.4',
    path: HALF,
    body: '{"parameters":{"a":[1,{}]},"instances":[1],"context":null}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'of equal top-level keys the first counts',
    source: '1.4',
    path: HALF,
    body: '{"instances":[1],"instances":[2,3]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'by version',
    source: '1.2',
    path: '/v1/models/half_plus_three/versions/123:predict',
    body: '{"instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'by version with leading zeros',
    source: '1.2',
    path: '/v1/models/half_plus_three/versions/000123:predict',
    body: '{"instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'the path in any case but the verb',
    source: '1.2',
    path: '/V1/MODELS/half_plus_three/Versions/123:predict',
    body: '{"instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'a percent-encoded name',
    source: '1.2',
    path: '/v1/models/half%5fplus%5Fthree:predict',
    body: '{"instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'any content type',
    source: '1.1',
    path: HALF,
    body: '{"instances":[1]}',
    headers: ['Content-Type: text/plain'],
    answer: { predictions: [3.5] },
  },
];

const DIALECT: readonly RestCase[] = [
  {
    name: 'a byte order mark',
    source: '1.4',
    path: HALF,
    body: '\ufeff{"instances":[1]}',
    answer: { predictions: [3.5] },
  },
  {
    name: 'anything behind the closing brace',
    source: '1.4',
    path: HALF,
    body: '{"instances":[1]} and so on }',
    answer: { predictions: [3.5] },
  },
  {
    name: 'blanks everywhere',
    source: '1.4',
    path: HALF,
    body: ' \r\n\t{ "instances" :\n[ 1 , 2 ] }',
    answer: { predictions: [3.5, 4] },
  },
  rows(
    'NaN and infinities, both ways',
    '1.4',
    'fp32',
    '[[NaN,-NaN,Infinity,-Infinity,Inf,-Inf]]',
    '[[NaN,NaN,Infinity,-Infinity,Infinity,-Infinity]]',
  ),
  rows('-0.0 keeps its sign, -0 loses it', '1.4', 'fp64', '[[-0.0,-0]]', '[[-0.0,0.0]]'),
  rows('1e-400 is 0', '1.4', 'fp64', '[[1e-400,-1e-400]]', '[[0.0,-0.0]]'),
  rows('\\u0000 is kept', '1.4', 'bytes', '[["a\\u0000b"]]'),
  rows(
    'escapes',
    '1.4, 1.6',
    'bytes',
    '[["\\u00e4\\ud83d\\ude00\\/\\"\\\\\\b\\f\\n\\r\\t\\u001f"]]',
    '[["ä\u{1f600}/\\"\\\\\\b\\f\\n\\r\\t\\u001f"]]',
  ),
  rows('DEL and non-ASCII are not escaped', '1.6', 'bytes', '[["\x7fäöü漢"]]'),
];

const NUMBERS: readonly RestCase[] = [
  rows(
    'FLOAT takes any number',
    '1.5 "Types"',
    'fp32',
    '[[1,1.0,1e2,-1,18446744073709551615]]',
    '[[1.0,1.0,100.0,-1.0,1.8446744e+19]]',
  ),
  rows(
    'FLOAT overflows to infinity, underflows to zero',
    '1.5 "Types"',
    'fp32',
    '[[1e39,-1e39,1e-50,-1e-50]]',
    '[[Infinity,-Infinity,0.0,-0.0]]',
  ),
  rows(
    'DOUBLE keeps all digits',
    '1.5 "Types"',
    'fp64',
    '[[0.1,1.7976931348623157e308,5e-324,123456789.123456789]]',
    '[[0.1,1.7976931348623157e+308,5e-324,123456789.12345679]]',
  ),
  rows(
    'integers wider than 64 bits are doubles',
    '1.4',
    'fp64',
    '[[36893488147419103232]]',
    '[[3.6893488147419103e+19]]',
  ),
  rows(
    'INT64 to its ends',
    '1.5 "Types"',
    'int64',
    '[[-9223372036854775808,9223372036854775807,9007199254740993]]',
  ),
  rows('UINT64 to its ends', '1.5 "Types"', 'uint64', '[[0,18446744073709551615]]'),
  rows('INT32 to its ends', '1.5 "Types"', 'int32', '[[-2147483648,2147483647]]'),
  rows('UINT32 to its ends', '9', 'uint32', '[[0,4294967295]]'),
  rows('INT16 to its ends', '9', 'int16', '[[-32768,32767]]'),
  rows('UINT16 to its ends', '9', 'uint16', '[[0,65535]]'),
  rows('INT8 to its ends', '9', 'int8', '[[-128,127]]'),
  rows('UINT8 to its ends', '9', 'uint8', '[[0,255]]'),
  rows('half', '9', 'fp16', '[[0.5,65504,1e5,-0.0]]', '[[0.5,65504.0,Infinity,-0.0]]'),
  rows('bfloat16', '9', 'bf16', '[[0.5,1e39,1]]', '[[0.5,Infinity,1.0]]'),
  rows('BOOL', '1.5 "Types"', 'bool', '[[true,false]]'),
];

const TEXT: readonly RestCase[] = [
  rows('text', '1.5 "Types"', 'bytes', '[["","a"],["漢","b"]]'),
  {
    name: 'b64 objects give bytes, which come back as text',
    source: '1.5 "b64"',
    path: identity('bytes'),
    body: '{"instances":[[{"b64":"YWJj"},"x"]]}',
    answer: { predictions: [['abc', 'x']] },
  },
  {
    name: 'a b64 object is a value of the only input',
    source: '1.5 "b64"',
    path: model('text_identity'),
    body: '{"instances":[{"b64":"YWJj"}]}',
    answer: { predictions: ['abc'] },
  },
  {
    name: 'missing padding and inner blanks',
    source: '1.5 "b64"',
    path: identity('bytes'),
    body: '{"instances":[[{"b64":"YQ"},{"b64":"Y W\\nI"},{"b64":"YQ=="}]]}',
    answer: { predictions: [['a', 'ab', 'a']] },
  },
  {
    name: 'outputs called ..._bytes come as b64',
    source: '1.6',
    path: model('text_bytes'),
    body: '{"instances":["a",{"b64":"/wA="}]}',
    answer: { predictions: [{ b64: 'YQ==' }, { b64: '/wA=' }] },
  },
  {
    name: 'bytes that are no UTF-8 come as b64',
    source: '9',
    path: identity('bytes'),
    body: '{"instances":[[{"b64":"/wA="},"ok"]]}',
    answer: { predictions: [[{ b64: '/wA=' }, 'ok']] },
  },
];

export const V1_REQUEST_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'forms of a request': FORMS,
  'the JSON dialect': DIALECT,
  numbers: NUMBERS,
  text: TEXT,
};
