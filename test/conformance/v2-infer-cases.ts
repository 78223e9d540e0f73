// V2 REST inference: every row of the "suggested" column that a request can bring about, and what
// is taken. Data only. Source of each case: v2-protocol.md, by section; "seed": seeds 000 and 001.
import type { RestCase } from './rest-case.js';

const infer = (model: string): string => `/v2/models/${model}/infer`;
const HALF = infer('half_plus_three');
const FP32 = infer('identity_fp32');

/** An identity model's request and answer in JSON. */
const identity = (
  name: string,
  source: string,
  datatype: string,
  shape: string,
  data: string,
  out = data,
): RestCase => {
  const model = `identity_${datatype.toLowerCase()}`;
  const tensor = (of: string, values: string): string =>
    `{"name":"${of}","datatype":"${datatype}","shape":${shape},"data":${values}}`;
  return {
    name: `${datatype}: ${name}`,
    source,
    path: infer(model),
    body: `{"inputs":[${tensor('input', data)}]}`,
    text: `{"model_name":"${model}","model_version":"1","outputs":[${tensor('output', out)}]}`,
  };
};
const x = (more: string): string =>
  `{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1,2,5]}]${more}}`;
const classes = (wanted: string): string =>
  `,"outputs":[{"name":"y","parameters":{"classification":${wanted}}}]`;
const half = (more: object = {}): object => ({
  model_name: 'half_plus_three',
  model_version: '123',
  ...more,
  outputs: [{ name: 'y', datatype: 'FP32', shape: [3], data: [3.5, 4, 5.5] }],
});
const multi = (outputs: string): string =>
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,-1,0,2]}],' +
  `"outputs":${outputs}}`;
const DOUBLED = { name: 'doubled', datatype: 'FP32', shape: [1, 4], data: [2, -2, 0, 4] };
const WHOLE = { name: 'whole', datatype: 'INT64', shape: [1, 4], data: [1, -1, 0, 2] };
const POSITIVE = {
  name: 'positive',
  datatype: 'BOOL',
  shape: [1, 4],
  data: [true, false, false, true],
};
const multiAnswer = (...outputs: object[]): object => ({
  model_name: 'multi_output',
  model_version: '1',
  outputs,
});

const FORMS: readonly RestCase[] = [
  { name: 'the least', source: 'seed', path: HALF, body: x(''), answer: half() },
  {
    name: 'with an id',
    source: 'seed',
    path: HALF,
    body: x(',"id":"4\\u00df"'),
    answer: half({ id: '4ß' }),
  },
  {
    name: 'with an empty id',
    source: '11',
    path: HALF,
    body: x(',"id":""'),
    answer: half({ id: '' }),
  },
  ...(
    [
      ['2', 2, ['5.500000:2', '4.000000:1']],
      ['9', 3, ['5.500000:2', '4.000000:1', '3.500000:0']],
    ] as const
  ).map(
    ([wanted, count, data]): RestCase => ({
      name: `the ${wanted} largest classes`,
      source: '2',
      path: HALF,
      body: x(classes(wanted)),
      answer: {
        model_name: 'half_plus_three',
        model_version: '123',
        outputs: [{ name: 'y', datatype: 'BYTES', shape: [count], data }],
      },
    }),
  ),
  {
    name: 'by version',
    source: 'seed',
    path: '/v2/models/half_plus_three/versions/123/infer',
    body: x(''),
    answer: half(),
  },
  {
    name: 'parameters of every kind are kept apart',
    source: '1.2',
    path: HALF,
    body: x(
      ',"parameters":{"a":"t","b":1,"c":0.5,"d":true,"sequence_id":1,"priority":2,' +
        '"triton_enable_empty_final_response":true}',
    ),
    answer: half(),
  },
  {
    name: 'unknown members',
    source: 'seed',
    path: HALF,
    body: x(',"extra":{"a":[1]}'),
    answer: half(),
  },
  {
    name: 'nested data',
    source: '1.2',
    path: FP32,
    body: '{"inputs":[{"name":"input","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4]]}]}',
    answer: {
      model_name: 'identity_fp32',
      model_version: '1',
      outputs: [{ name: 'output', datatype: 'FP32', shape: [2, 2], data: [1, 2, 3, 4] }],
    },
  },
  {
    name: 'data before shape and datatype',
    source: 'RFC 8259',
    path: HALF,
    body: '{"inputs":[{"data":[1,2,5],"shape":[3],"datatype":"FP32","name":"x"}]}',
    answer: half(),
  },
  {
    name: 'a scalar',
    source: '1.2 "rank-0"',
    path: infer('scalar'),
    body: '{"inputs":[{"name":"x","datatype":"FP32","shape":[],"data":[2.5]}]}',
    answer: {
      model_name: 'scalar',
      model_version: '1',
      outputs: [{ name: 'y', datatype: 'FP32', shape: [], data: [2.5] }],
    },
  },
  {
    name: 'no inputs',
    source: 'seed',
    path: infer('constant'),
    body: '{"inputs":[]}',
    answer: {
      model_name: 'constant',
      model_version: '1',
      outputs: [{ name: 'y', datatype: 'FP32', shape: [3], data: [1, 2, 3] }],
    },
  },
  {
    name: 'all outputs',
    source: 'seed',
    path: infer('multi_output'),
    body: multi('[]'),
    answer: multiAnswer(DOUBLED, WHOLE, POSITIVE),
  },
  {
    name: 'one output',
    source: '1.2',
    path: infer('multi_output'),
    body: multi('[{"name":"whole"}]'),
    answer: multiAnswer(WHOLE),
  },
  {
    name: 'any content type',
    source: '1.2',
    path: HALF,
    body: x(''),
    headers: ['Content-Type: application/x-www-form-urlencoded'],
    answer: half(),
  },
];

const VALUES: readonly RestCase[] = [
  identity('whole numbers', '1.2', 'FP32', '[1,3]', '[1,-2,300]', '[1.0,-2.0,300.0]'),
  identity(
    'shortest text',
    '1.2',
    'FP32',
    '[1,3]',
    '[0.1,16777216,1e-45]',
    '[0.1,16777216.0,1e-45]',
  ),
  identity('NaN and infinities', '9', 'FP32', '[1,3]', '[NaN,Infinity,-Infinity]'),
  identity('exact', '1.2', 'FP64', '[1,3]', '[0.1,0.3333333333333333,-0.0]'),
  identity('as JSON', '9', 'FP16', '[1,3]', '[0.5,65504,-0.0]', '[0.5,65504.0,-0.0]'),
  identity('as JSON', '9', 'BF16', '[1,2]', '[0.5,-3]', '[0.5,-3.0]'),
  identity('its ends', '1.2', 'INT64', '[1,2]', '[-9223372036854775808,9223372036854775807]'),
  identity('beyond 2^53', '0', 'INT64', '[1,1]', '[9007199254740993]'),
  identity('its ends', '1.2', 'UINT64', '[1,2]', '[0,18446744073709551615]'),
  identity('its ends', '1.2', 'INT32', '[1,2]', '[-2147483648,2147483647]'),
  identity('its ends', '1.2', 'UINT32', '[1,2]', '[0,4294967295]'),
  identity('its ends', '1.2', 'INT16', '[1,2]', '[-32768,32767]'),
  identity('its ends', '1.2', 'UINT16', '[1,2]', '[0,65535]'),
  identity('its ends', '1.2', 'INT8', '[1,2]', '[-128,127]'),
  identity('its ends', '1.2', 'UINT8', '[1,2]', '[0,255]'),
  identity('both', 'seed', 'BOOL', '[1,2]', '[true,false]'),
  identity('text with NUL', '1.2', 'BYTES', '[1,3]', '["","a\\u0000b","漢"]'),
  identity('no elements', 'seed', 'FP32', '[0,3]', '[]'),
];

const bad = (
  name: string,
  source: string,
  body: string,
  error: string,
  path = HALF,
  status = 400,
): RestCase => ({ name, source, path, body, status, error });
const tensor = (more: string): string => `{"inputs":[{"name":"x",${more}}]}`;
const FIRST: Readonly<Record<string, string>> = { BOOL: 'true', BYTES: '"a"' };
const element = (datatype: string, value: string, error: string): RestCase =>
  bad(
    `${value} as ${datatype}`,
    '1.1, 1.2',
    `{"inputs":[{"name":"input","datatype":"${datatype}","shape":[1,2],"data":[${
      FIRST[datatype] ?? '1'
    },${value}]}]}`,
    error,
    infer(`identity_${datatype.toLowerCase()}`),
  );
const wrong = (datatype: string, value: string, expected: string): RestCase =>
  element(
    datatype,
    value,
    `input 'input', element 1: expected ${expected} for ${datatype}, got ${value}`,
  );
const range = (datatype: string, value: string, ends: string): RestCase =>
  element(
    datatype,
    value,
    `input 'input', element 1: ${value} is out of range for ${datatype} (${ends})`,
  );

const MALFORMED = [
  ['{', "1: expected a member's name in quotes, got the end of the text"],
  ['{"inputs":[', '11: expected a value, got the end of the text'],
  ['nope', "1: expected a value, got 'o'"],
  ['{"inputs":[{}]', "14: expected ',' or '}', got the end of the text"],
  ['{"inputs":[],}', "13: expected a member's name in quotes, got '}'"],
  ["{'inputs':[]}", "1: expected a member's name in quotes, got '''"],
  ['\u0000', '0: expected a value, got byte 0'],
  ['{"inputs":[]} x', "14: expected the end of the text, got 'x'"],
] as const;

const BODIES: readonly RestCase[] = [
  ...MALFORMED.map(([body, text]) =>
    bad(`malformed: ${JSON.stringify(body)}`, '1.1', body, `malformed JSON at byte ${text}`),
  ),
  bad('an empty body', '1.1', '', 'the request body is empty: expected a JSON object'),
  ...[
    ['[]', 'Array'],
    ['1', 'Number'],
    ['null', 'Null'],
    ['"inputs"', 'String'],
  ].map(([body = '', kind]) =>
    bad(`no object: ${body}`, '1.1', body, `request body: expected an object, got ${kind}`),
  ),
  bad('no inputs', '1.1', '{}', "request body: 'inputs' is missing"),
  bad(
    'inputs that are no list',
    '1.1',
    '{"inputs":{}}',
    "'inputs': expected an array of objects, got Object",
  ),
  bad(
    'an input that is no object',
    '1.1',
    '{"inputs":[1]}',
    'inputs[0]: expected an object, got Number',
  ),
  bad(
    'an id that is no string',
    '1.2',
    x(',"id":7'),
    "request body: 'id': expected a string, got Number",
  ),
  bad(
    'parameters that are no object',
    'seed',
    x(',"parameters":[]'),
    'parameters: expected an object, got Array',
  ),
  bad(
    'equal keys',
    '9 "zero silent corruption"',
    '{"inputs":[],"inputs":[]}',
    "request body: 'inputs' twice",
  ),
];

const ONE_KIND =
  "input 'x': expected exactly one of 'data', parameters 'binary_data_size' and " +
  "parameters 'shared_memory_region', got ";
const DIM = "input 'x': shape[0]: expected an integer from 0 to 9223372036854775807, got ";

const TENSORS: readonly RestCase[] = [
  bad(
    'no name',
    '1.1',
    '{"inputs":[{"datatype":"FP32","shape":[1],"data":[1]}]}',
    "inputs[0]: 'name' is missing",
  ),
  bad('no datatype', '1.1', tensor('"shape":[1],"data":[1]'), "input 'x': 'datatype' is missing"),
  bad('no shape', '1.1', tensor('"datatype":"FP32","data":[1]'), "input 'x': 'shape' is missing"),
  bad('no data', '1.3', tensor('"datatype":"FP32","shape":[1]'), `${ONE_KIND}0`),
  bad(
    'an unknown datatype',
    '1.1',
    tensor('"datatype":"FP31","shape":[1],"data":[1]'),
    "input 'x': unknown datatype 'FP31'",
  ),
  bad(
    'another datatype',
    '1.1',
    tensor('"datatype":"INT32","shape":[1],"data":[1]'),
    "input 'x': expected datatype FP32, got INT32",
  ),
  bad(
    'too few elements',
    '1.1',
    tensor('"datatype":"FP32","shape":[3],"data":[1,2]'),
    "input 'x': expected 3 elements (shape [3]), got 2",
  ),
  bad(
    'too many elements',
    '1.1',
    tensor('"datatype":"FP32","shape":[1],"data":[1,2]'),
    "input 'x': expected 1 elements (shape [1]), got 2",
  ),
  bad('a negative dim', '1.1', tensor('"datatype":"FP32","shape":[-3],"data":[1,2,3]'), `${DIM}-3`),
  bad(
    'a dim that is no integer',
    '1.1',
    tensor('"datatype":"FP32","shape":[1.5],"data":[1]'),
    `${DIM}1.5`,
  ),
  bad(
    'dims that overflow',
    '9',
    tensor('"datatype":"FP32","shape":[4294967296,4294967296],"data":[]'),
    "input 'x': shape [4294967296,4294967296] overflows: more elements than 64 bits can count",
  ),
  bad(
    'a dim beyond int64',
    '9',
    tensor('"datatype":"FP32","shape":[9223372036854775808],"data":[]'),
    `${DIM}9223372036854775808`,
  ),
  bad(
    'too many dims',
    '9',
    tensor(`"datatype":"FP32","shape":[${Array(40).fill(1).join()}],"data":[1]`),
    "input 'x': shape has more than 32 dimensions",
  ),
  bad(
    'another rank',
    '1.1',
    tensor('"datatype":"FP32","shape":[1,1],"data":[1]'),
    "unexpected shape for input 'x': expected [-1], got [1,1]",
  ),
  bad(
    'another fixed dim',
    '1.1',
    '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,5],"data":[1,2,3,4,5]}]}',
    "unexpected shape for input 'x': expected [-1,4], got [1,5]",
    infer('multi_output'),
  ),
  bad('a missing input', '1.1', '{"inputs":[]}', "input 'x' is missing"),
  bad(
    'an extra input',
    '1.1',
    x('').replace(']}]}', ']},{"name":"z","datatype":"FP32","shape":[1],"data":[1]}]}'),
    "inputs[1]: unexpected input 'z'; the model takes 'x'",
  ),
  bad(
    'an input twice',
    '1.1',
    x('').replace(']}]}', ']},{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'),
    "input 'x' is given twice",
  ),
  bad(
    'an unknown output',
    '1.1',
    x(',"outputs":[{"name":"q"}]'),
    "outputs[0]: unknown output 'q'; the model has 'y'",
  ),
  bad(
    'an output twice',
    '1.1, 10',
    x(',"outputs":[{"name":"y"},{"name":"y"}]'),
    "output 'y' is requested twice",
  ),
  bad(
    'two kinds of data',
    '1.3',
    tensor('"datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}'),
    `${ONE_KIND}2`,
  ),
];

const ELEMENTS: readonly RestCase[] = [
  wrong('FP32', '"1"', 'a number'),
  wrong('FP32', 'true', 'a number'),
  wrong('FP32', 'null', 'a number'),
  wrong('FP16', '"x"', 'a number'),
  wrong('INT32', '1.0', 'an integer'),
  wrong('INT32', '1e2', 'an integer'),
  wrong('BOOL', '1', 'true or false'),
  wrong('BOOL', '"true"', 'true or false'),
  wrong('BYTES', '1', 'a string'),
  wrong('BYTES', '{"b64":"YQ=="}', 'a string'),
  range('INT32', '2147483648', '-2147483648 to 2147483647'),
  range('INT64', '9223372036854775808', '-9223372036854775808 to 9223372036854775807'),
  range('UINT8', '300', '0 to 255'),
  range('UINT8', '-1', '0 to 255'),
  range('INT8', '-129', '-128 to 127'),
  range('UINT16', '65536', '0 to 65535'),
  range('INT16', '32768', '-32768 to 32767'),
  range('UINT32', '4294967296', '0 to 4294967295'),
  range('UINT64', '18446744073709551616', '0 to 18446744073709551615'),
  element(
    'BYTES',
    '"\\ud800"',
    'malformed JSON at byte 73: The surrogate pair in string is invalid',
  ),
  element('FP64', '1e400', 'malformed JSON at byte 69: Number too big to be stored in double'),
];

const VERSION =
  "Request for unknown version of model 'half_plus_three': expected a whole number " +
  'from 0 to 9223372036854775807, got ';

const NOT_THERE: readonly RestCase[] = [
  bad(
    'an unknown model',
    '1.1',
    x(''),
    "Request for unknown model: 'nope' is not found",
    infer('nope'),
    404,
  ),
  bad(
    'an unknown version',
    '1.1',
    x(''),
    "Request for unknown model: 'half_plus_three' version 7 is not found",
    '/v2/models/half_plus_three/versions/7/infer',
    404,
  ),
  bad(
    'a version that is no number',
    '1.1',
    x(''),
    `${VERSION}'abc'`,
    '/v2/models/half_plus_three/versions/abc/infer',
    404,
  ),
  bad(
    'a version beyond int64',
    '1.1',
    x(''),
    `${VERSION}'9223372036854775808'`,
    '/v2/models/half_plus_three/versions/9223372036854775808/infer',
    404,
  ),
  ...['0', '-1', '2.5', '"2"', 'true'].map((wanted) =>
    bad(
      `${wanted} classes`,
      '2',
      x(classes(wanted)),
      `output 'y': parameters 'classification': expected an integer from 1, got ${wanted}`,
    ),
  ),
  bad(
    'classes of strings',
    '2',
    '{"inputs":[{"name":"input","datatype":"BYTES","shape":[1,1],' +
      '"data":["a"]}],"outputs":[{"name":"output","parameters":{"classification":1}}]}',
    "output 'output': classification: expected a numeric output, got BYTES",
    infer('identity_bytes'),
  ),
  bad(
    'UNIMPLEMENTED: shared memory',
    '2',
    tensor(
      '"datatype":"FP32","shape":[1],"parameters":' +
        '{"shared_memory_region":"r","shared_memory_byte_size":4}',
    ),
    "input 'x': shared memory is not implemented",
    HALF,
    501,
  ),
];

export const V2_INFER_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'forms of a request': FORMS,
  values: VALUES,
  'broken bodies': BODIES,
  'broken tensors': TENSORS,
  'values of the wrong type': ELEMENTS,
  'what is not there': NOT_THERE,
};
