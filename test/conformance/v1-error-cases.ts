// V1 requests that TensorFlow Serving refuses: status and message. Data only. Source of each case:
// tfserving.md, by section.
import type { RestCase } from './rest-case.js';

const HALF = '/v1/models/half_plus_three:predict';
const model = (name: string): string => `/v1/models/${name}:predict`;
const identity = (datatype: string): string => model(`identity_${datatype}`);

const refused = (
  name: string,
  source: string,
  path: string,
  body: string,
  error: string,
  status = 400,
): RestCase => ({ name, source, path, body, status, error });
const parse = (body: string, reason: string): RestCase =>
  refused(JSON.stringify(body), '1.4, 1.10', HALF, body, `JSON Parse error: ${reason}`);
const shown = (body: string): string => JSON.stringify(JSON.parse(body), null, 4);

const PARSE: readonly RestCase[] = [
  parse('', 'The document is empty'),
  parse('  ', 'The document is empty. at offset: 2'),
  parse('nope', 'Invalid value. at offset: 1'),
  parse('{"instances":[nan]}', 'Invalid value. at offset: 15'),
  parse('{"instances":[Nan]}', 'Invalid value. at offset: 16'),
  parse('{instances:[1]}', 'Missing a name for object member. at offset: 1'),
  parse('{"instances"[1]}', 'Missing a colon after a name of object member. at offset: 12'),
  parse('{"instances":[1]', "Missing a comma or '}' after an object member. at offset: 16"),
  parse('{"instances":[1 2]}', "Missing a comma or ']' after an array element. at offset: 16"),
  parse('{"instances":[1,]}', 'Invalid value. at offset: 16'),
  parse(
    '{"instances":["\\u12G4"]}',
    'Incorrect hex digit after \\u escape in string. at offset: 15',
  ),
  parse('{"instances":["\\ud83d"]}', 'The surrogate pair in string is invalid. at offset: 15'),
  parse('{"instances":["\\x"]}', 'Invalid escape character in string. at offset: 15'),
  parse('{"instances":["a', 'Missing a closing quotation mark in string. at offset: 16'),
  parse('{"instances":[1e309]}', 'Number too big to be stored in double. at offset: 14'),
  parse('{"instances":[1.]}', 'Miss fraction part in number. at offset: 16'),
  parse('{"instances":[1e]}', 'Miss exponent in number. at offset: 16'),
  parse('{"instances":[+1]}', 'Invalid value. at offset: 14'),
  parse('{"instances":[.5]}', 'Invalid value. at offset: 14'),
  parse('{"instances":[01]}', "Missing a comma or ']' after an array element. at offset: 15"),
  parse("{'instances':[1]}", 'Missing a name for object member. at offset: 1'),
  parse('{"instances":["a\u0001"]}', 'Invalid escape character in string. at offset: 16'),
];

const TOP_LEVEL: readonly RestCase[] = [
  refused('a list', '1.3', HALF, '[1]', `JSON Value: ${shown('[1]')} Is not object`),
  refused('a number', '1.3', HALF, '1', 'JSON Value: 1 Is not object'),
  refused(
    'neither instances nor inputs',
    '1.5',
    HALF,
    '{"x":[1]}',
    "Missing 'inputs' or 'instances' key",
  ),
  refused(
    'both, even null',
    '1.5',
    HALF,
    '{"instances":[1],"inputs":null}',
    `JSON Value: ${shown('{"instances":[1],"inputs":null}')} Not formatted correctly expecting ` +
      "only one of 'inputs' or 'instances' keys to exist ",
  ),
  refused(
    'keys in another case',
    '1.4',
    HALF,
    '{"Instances":[1]}',
    "Missing 'inputs' or 'instances' key",
  ),
  refused(
    'a signature_name that is not a string',
    '1.5',
    HALF,
    '{"signature_name":null,"inputs":1}',
    `JSON Value: ${shown('{"signature_name":null,"inputs":1}')} not formatted correctly. ` +
      "'signature_name' key must be a string value.",
  ),
  refused(
    'an unknown signature',
    '1.10',
    HALF,
    '{"signature_name":"nope","instances":[1]}',
    'Serving signature name: "nope" not found in signature def',
  ),
];

const ORDER: readonly RestCase[] = [
  refused(
    'bad JSON before an unknown model',
    '1.3',
    model('nope'),
    '{',
    'JSON Parse error: Missing a name for object member. at offset: 1',
  ),
  refused(
    'no object before an unknown model',
    '1.3',
    model('nope'),
    '2',
    'JSON Value: 2 Is not object',
  ),
  refused(
    "the signature's type before an unknown model",
    '1.3',
    model('nope'),
    '{"signature_name":1}',
    `JSON Value: ${shown('{"signature_name":1}')} not formatted correctly. ` +
      "'signature_name' key must be a string value.",
  ),
  refused(
    'an unknown model before a missing key',
    '1.3',
    model('nope'),
    '{}',
    'Servable not found for request: Latest(nope)',
    404,
  ),
  refused(
    'an unknown version',
    '1.10',
    '/v1/models/half_plus_three/versions/7:predict',
    '{}',
    'Servable not found for request: Specific(half_plus_three, 7)',
    404,
  ),
  refused(
    'an unknown label',
    '1.10',
    '/v1/models/half_plus_three/labels/stable:predict',
    '{}',
    'Unrecognized servable version label: stable',
  ),
  refused(
    'a label of an unknown model',
    '1.10',
    '/v1/models/nope/labels/stable:predict',
    '{}',
    'Unrecognized servable version label: stable',
  ),
  refused(
    'bad JSON before a version beyond int64',
    '1.2, 9',
    '/v1/models/half_plus_three/versions/9223372036854775808:predict',
    '{"instances":[1]}',
    'Failed to convert version: 9223372036854775808 to numeric.',
  ),
  refused(
    'the signature before its inputs',
    '1.3',
    HALF,
    '{"signature_name":"s"}',
    'Serving signature name: "s" not found in signature def',
  ),
];

const ROW: readonly RestCase[] = [
  refused(
    'instances that are not a list',
    '1.5',
    HALF,
    '{"instances":1}',
    `JSON Value: ${shown('{"instances":1}')} Expecting 'instances' to be an list/array`,
  ),
  refused(
    'no instances',
    '1.5',
    HALF,
    '{"instances":[]}',
    `JSON Value: ${shown('{"instances":[]}')} No values in 'instances' array`,
  ),
  refused(
    'a value among objects',
    '1.5',
    HALF,
    '{"instances":[{"x":1},2]}',
    'Expecting object but got list at item 1 of input list',
  ),
  refused(
    'an object among values',
    '1.5',
    HALF,
    '{"instances":[1,{"x":1}]}',
    'Expecting value/list but got object at item 1 of input list',
  ),
  refused(
    'values for several inputs',
    '1.5',
    model('add_sub'),
    '{"instances":[1]}',
    'instances is a plain list, but expecting list of objects as multiple input tensors ' +
      'required as per tensorinfo_map',
  ),
  refused(
    'an unknown name',
    '1.5',
    HALF,
    '{"instances":[{"x":1,"z":2}]}',
    "Failed to process element: 0 key: z of 'instances' list. Error: INVALID_ARGUMENT: " +
      'JSON object: does not have named input: z',
  ),
  refused(
    'an unknown name in columns, ignored there',
    'docs/reference/protocols/v1-rest.md',
    HALF,
    '{"inputs":{"other":[[1],"a"],"x":[2]}}',
    'JSON object: does not have named input: other',
  ),
  refused(
    'a missing name',
    '1.5',
    model('add_sub'),
    '{"instances":[{"INPUT0":1}]}',
    `Failed to process element: 0 of 'instances' list. JSON object: ${shown('{"INPUT0":1}')} ` +
      'keys must be equal to: INPUT0,INPUT1',
  ),
  refused(
    'counts that differ',
    '1.5',
    identity('fp32'),
    '{"instances":[[1,2],[1,2,3]]}',
    "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: " +
      'Expecting tensor size: 2 but got: 3',
  ),
  refused(
    'shapes that differ',
    '1.5',
    model('unknown_rank'),
    '{"instances":[[1,2],[[1,2]]]}',
    "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: " +
      'Expecting shape [2] but got: [1,2]',
  ),
  refused(
    'ragged inside one',
    '1.5',
    model('unknown_rank'),
    '{"instances":[[[1,2],[3]]]}',
    "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: " +
      'Encountered list at unexpected size: 1 at level: 1 expected size: 2',
  ),
  refused(
    'a list among scalars',
    '1.5',
    identity('fp32'),
    '{"instances":[[1,[2]]]}',
    "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: " +
      'Encountered list at unexpected level: 1 expected < 1',
  ),
  refused(
    'a scalar among lists',
    '1.5',
    model('unknown_rank'),
    '{"instances":[[[1],2]]}',
    "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: " +
      'JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2',
  ),
];

const COLUMN: readonly RestCase[] = [
  refused(
    'a missing input',
    '1.5',
    HALF,
    '{"inputs":{"z":[1]}}',
    "Missing named input: x in 'inputs' object.",
  ),
  refused(
    'a value for several inputs',
    '1.5',
    model('add_sub'),
    '{"inputs":[1]}',
    'inputs is a plain value/list, but expecting an object as multiple input tensors required ' +
      'as per tensorinfo_map',
  ),
  refused(
    'null',
    '1.5',
    HALF,
    '{"inputs":null}',
    'JSON Value: null Type: Null is not of expected type: float',
  ),
  refused(
    'ragged',
    '1.5',
    model('unknown_rank'),
    '{"inputs":[[1,2],[3]]}',
    'Encountered list at unexpected size: 1 at level: 1 expected size: 2',
  ),
];

const wrong = (datatype: string, value: string, kind: string, expected: string): RestCase =>
  refused(
    `${value} for ${expected}`,
    '1.5 "Types"',
    identity(datatype),
    `{"inputs":[[${value}]]}`,
    `JSON Value: ${value} Type: ${kind} is not of expected type: ${expected}`,
  );
const range = (datatype: string, value: string, type: string, ends: string): RestCase =>
  refused(
    `${value} for ${type}`,
    '9',
    identity(datatype),
    `{"inputs":[[0,${value}]]}`,
    `JSON Value: ${value} of input: input at index: 1 is out of range for type: ${type}. ` +
      `Expected ${ends}`,
  );

const TYPES: readonly RestCase[] = [
  wrong('fp32', '"1"', 'String', 'float'),
  wrong('fp32', 'true', 'True', 'float'),
  wrong('fp64', 'null', 'Null', 'double'),
  wrong('int32', '1.0', 'Number', 'int32'),
  wrong('int32', '1e2', 'Number', 'int32'),
  wrong('int32', '2147483648', 'Number', 'int32'),
  wrong('int64', '9223372036854775808', 'Number', 'int64'),
  wrong('int64', '1.0', 'Number', 'int64'),
  wrong('uint32', '-1', 'Number', 'uint32'),
  wrong('uint32', '4294967296', 'Number', 'uint32'),
  wrong('uint64', '-1', 'Number', 'uint64'),
  wrong('uint64', '18446744073709551616', 'Number', 'uint64'),
  wrong('bool', '1', 'Number', 'bool'),
  wrong('bool', '"true"', 'String', 'bool'),
  wrong('bytes', '1', 'Number', 'string'),
  wrong('bytes', 'false', 'False', 'string'),
  range('uint8', '300', 'uint8', '0 to 255'),
  range('uint8', '-1', 'uint8', '0 to 255'),
  range('int8', '128', 'int8', '-128 to 127'),
  range('int16', '-32769', 'int16', '-32768 to 32767'),
  range('uint16', '65536', 'uint16', '0 to 65535'),
  refused(
    'a b64 object for a number',
    '1.5 "b64"',
    identity('fp32'),
    '{"inputs":[[{"b64":"YQ=="}]]}',
    `JSON Value: ${shown('{"b64":"YQ=="}')} Type: Object is not of expected type: float`,
  ),
  refused(
    'b64 with too much padding',
    '1.5 "b64"',
    identity('bytes'),
    '{"inputs":[[{"b64":"YQ==="}]]}',
    'Unable to base64 decode',
  ),
  refused(
    'b64 of the URL alphabet',
    '1.5 "b64"',
    identity('bytes'),
    '{"inputs":[[{"b64":"_-8="}]]}',
    'Unable to base64 decode',
  ),
  refused(
    'an object that is not b64',
    '1.5 "b64"',
    identity('bytes'),
    '{"inputs":[[{"b64":"YQ==","x":1}]]}',
    `JSON Value: ${shown('{"b64":"YQ==","x":1}')} not formatted correctly for base64 data`,
  ),
];

const CLASSIFY: readonly RestCase[] = ['classify', 'regress'].flatMap((verb) => [
  refused(
    `${verb} on a predict signature`,
    '9',
    `/v1/models/half_plus_three:${verb}`,
    '{"examples":[{"x":1.0}]}',
    `No ${verb === 'classify' ? 'classification' : 'regression'} ` +
      'inputs found in SignatureDef: inputs: x; outputs: y; ' +
      'method_name: tensorflow/serving/predict',
  ),
  refused(
    `${verb} of an unknown model`,
    '1.3',
    `/v1/models/nope:${verb}`,
    '{"examples":[{"x":1.0}]}',
    'Servable not found for request: Latest(nope)',
    404,
  ),
  refused(
    `${verb} of bad JSON`,
    '1.3',
    `/v1/models/half_plus_three:${verb}`,
    '{',
    'JSON Parse error: Missing a name for object member. at offset: 1',
  ),
]);

export const V1_ERROR_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'broken JSON': PARSE,
  'the top level': TOP_LEVEL,
  'the order of checks': ORDER,
  rows: ROW,
  columns: COLUMN,
  'values of the wrong type': TYPES,
  'classify and regress': CLASSIFY,
};
