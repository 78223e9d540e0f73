// V2 REST inference requests that are accepted: the forms of a request, and values of every
// datatype. Data only. Test time only. Source of each case: v2-protocol.md, by section; "seed": the
// protocol's published pages.
import type { RestCase } from '../rest-case.js';
import { classes, HALF, infer, x } from './requests.js';

const FP32 = infer('identity_fp32');

/** An identity model's request and response in JSON. */
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
    name: 'an output twice: it is answered once',
    source: '1.1, 10',
    path: HALF,
    body: x(',"outputs":[{"name":"y"},{"name":"y"}]'),
    answer: half(),
  },
  {
    name: 'null for every optional member',
    source: '1.1',
    path: HALF,
    body:
      '{"id":null,"parameters":null,"outputs":null,"inputs":[{"name":"x","datatype":"FP32",' +
      '"shape":[3],"data":[1,2,5],"parameters":null}]}',
    answer: half(),
  },
  {
    name: 'null for the parameters of an output',
    source: '1.1',
    path: HALF,
    body: x(',"outputs":[{"name":"y","parameters":null}]'),
    answer: half(),
  },
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

export const V2_TAKEN_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'forms of a request': FORMS,
  values: VALUES,
};
