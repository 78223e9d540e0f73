// V2 REST inference requests that are refused: every row of the "suggested" column that a request
// can cause. Data only. Test time only. Source of each case: v2-protocol.md, by section; "seed":
// the protocol's published pages.
import type { RestCase } from '../rest-case.js';
import { classes, HALF, infer, x } from './requests.js';

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
    'a region of shared memory that nobody registered',
    '2',
    tensor(
      '"datatype":"FP32","shape":[1],"parameters":' +
        '{"shared_memory_region":"r","shared_memory_byte_size":4}',
    ),
    "Unable to find shared memory region: 'r'",
    HALF,
  ),
];

export const V2_REFUSED_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'broken bodies': BODIES,
  'broken tensors': TENSORS,
  'values of the wrong type': ELEMENTS,
  'what is not there': NOT_THERE,
};
