// V1 URLs and GET documents: status and metadata. Data only.
// Source of each case: tfserving.md, by section.
import type { RestCase } from './rest-case.js';

const OK = { error_code: 'OK', error_message: '' };
const available = (version: string): object => ({
  model_version_status: [{ version, state: 'AVAILABLE', status: OK }],
});
const get = (path: string, answer: unknown, source = '1.8'): RestCase => ({
  name: path,
  source,
  path,
  answer,
});
const refused = (
  path: string,
  status: number,
  error: string,
  source = '1.2',
  method?: string,
): RestCase => ({
  name: `${method ?? 'GET'} ${path}`,
  source,
  path,
  status,
  error,
  ...(method === undefined ? {} : { method }),
});
const malformed = (path: string, method = 'GET'): RestCase =>
  refused(path, 400, `Malformed request: ${method} ${path}`, '1.2', method);

const STATUS: readonly RestCase[] = [
  get('/v1/models/half_plus_three', available('123')),
  get('/v1/models/half_plus_three/versions/123', available('123')),
  get('/v1/models/half_plus_three/versions/00123', available('123'), '1.2'),
  get('/v1/models/versions', available('10')),
  get('/V1/Models/half_plus_three', available('123'), '1.2'),
  refused('/v1/models/nope', 404, 'Could not find any versions of model nope', '1.8'),
  refused('/v1/models/metadata', 404, 'Could not find any versions of model metadata', '1.2'),
  refused(
    '/v1/models/half_plus_three/versions/7',
    404,
    'Could not find version 7 of model half_plus_three',
    '1.8',
  ),
  refused(
    '/v1/models/half_plus_three/labels/stable',
    400,
    'Unrecognized servable version label: stable',
    '9 "labels in status"',
  ),
  refused(
    '/v1/models/half_plus_three/versions/9223372036854775808',
    400,
    'Failed to convert version: 9223372036854775808 to numeric.',
  ),
];

const dims = (...sizes: (readonly [string, string])[]): object => ({
  dim: sizes.map(([size, name]) => ({ size, name })),
  unknown_rank: false,
});
const tensor = (dtype: string, name: string, shape: object): object => ({
  dtype,
  tensor_shape: shape,
  name: `${name}:0`,
});
const metadata = (name: string, version: string, inputs: object, outputs: object): object => ({
  model_spec: { name, signature_name: '', version },
  metadata: {
    signature_def: {
      signature_def: {
        serving_default: {
          inputs,
          outputs,
          method_name: 'tensorflow/serving/predict',
          defaults: {},
        },
      },
    },
  },
});
const HALF = metadata(
  'half_plus_three',
  '123',
  { x: tensor('DT_FLOAT', 'x', dims(['-1', 'batch'])) },
  { y: tensor('DT_FLOAT', 'y', dims(['-1', 'batch'])) },
);

const DTYPES = {
  bool: 'DT_BOOL',
  uint8: 'DT_UINT8',
  uint16: 'DT_UINT16',
  uint32: 'DT_UINT32',
  uint64: 'DT_UINT64',
  int8: 'DT_INT8',
  int16: 'DT_INT16',
  int32: 'DT_INT32',
  int64: 'DT_INT64',
  fp16: 'DT_HALF',
  fp32: 'DT_FLOAT',
  fp64: 'DT_DOUBLE',
  bytes: 'DT_STRING',
  bf16: 'DT_BFLOAT16',
};

const METADATA: readonly RestCase[] = [
  get('/v1/models/half_plus_three/metadata', HALF, '1.9'),
  get('/v1/models/half_plus_three/versions/123/metadata', HALF, '1.9'),
  get(
    '/v1/models/scalar/metadata',
    metadata(
      'scalar',
      '1',
      { x: tensor('DT_FLOAT', 'x', dims()) },
      { y: tensor('DT_FLOAT', 'y', dims()) },
    ),
    '1.9',
  ),
  get(
    '/v1/models/unknown_rank/metadata',
    metadata(
      'unknown_rank',
      '1',
      { x: tensor('DT_FLOAT', 'x', { dim: [], unknown_rank: true }) },
      { y: tensor('DT_FLOAT', 'y', { dim: [], unknown_rank: true }) },
    ),
    '1.9',
  ),
  get(
    '/v1/models/unnamed_dims/metadata',
    metadata(
      'unnamed_dims',
      '1',
      { x: tensor('DT_FLOAT', 'x', dims(['-1', ''], ['3', ''])) },
      { y: tensor('DT_FLOAT', 'y', dims(['-1', ''], ['3', ''])) },
    ),
    '1.9',
  ),
  get(
    '/v1/models/constant/metadata',
    metadata('constant', '1', {}, { y: tensor('DT_FLOAT', 'y', dims(['3', ''])) }),
    '1.9',
  ),
  ...Object.entries(DTYPES).map(([datatype, dtype]) => {
    const shape = dims(['-1', 'batch'], ['-1', 'n']);
    const name = `identity_${datatype}`;
    return get(
      `/v1/models/${name}/metadata`,
      metadata(
        name,
        '1',
        { input: tensor(dtype, 'input', shape) },
        { output: tensor(dtype, 'output', shape) },
      ),
      '1.9',
    );
  }),
  refused('/v1/models/nope/metadata', 404, 'Servable not found for request: Latest(nope)', '1.9'),
  refused(
    '/v1/models/half_plus_three/versions/7/metadata',
    404,
    'Servable not found for request: Specific(half_plus_three, 7)',
    '1.9',
  ),
  refused(
    '/v1/models/half_plus_three/labels/x/metadata',
    400,
    'Unrecognized servable version label: x',
    '1.9',
  ),
];

const URLS: readonly RestCase[] = [
  malformed('/v1/models/half_plus_three:predict'),
  malformed('/v1/models/half_plus_three:PREDICT', 'POST'),
  malformed('/v1/models/half_plus_three:nope', 'POST'),
  malformed('/v1/models/half_plus_three', 'POST'),
  malformed('/v1/models/half_plus_three/versions/-1'),
  malformed('/v1/models/half_plus_three/versions/1a'),
  malformed('/v1/models/half_plus_three/versions/1/labels/a'),
  malformed('/v1/models/half_plus_three/nope'),
  malformed('/v1/models/half_plus_three/'),
  malformed('/v1/models/half:plus'),
  malformed('/v1/nope'),
  malformed('/v1/models/half_plus_three?x=1'),
  malformed('/v1/models/half_plus_three', 'PUT'),
  malformed('/v1/models/half_plus_three', 'DELETE'),
  malformed('/v1/models/half_plus_three', 'PATCH'),
  {
    name: 'OPTIONS from a page',
    source: '1.1',
    method: 'OPTIONS',
    path: '/v1/models/x',
    headers: ['Origin: http://page'],
    empty: true,
  },
  {
    name: 'OPTIONS from nowhere',
    source: '1.1',
    method: 'OPTIONS',
    path: '/v1/models/x',
    status: 400,
    empty: true,
  },
];

export const V1_DOCUMENT_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'model status': STATUS,
  'model metadata': METADATA,
  URLs: URLS,
};
