// V2 REST documents: server and model metadata, health, URLs. Data only. Source of each case:
// v2-protocol.md, by section; "seed": the protocol's published pages.
import { V2_DATATYPES } from '../../ts/model/datatype.js';
import type { RestCase } from './rest-case.js';

const get = (path: string, answer: unknown, source = 'seed'): RestCase => ({
  name: path,
  source,
  path,
  answer,
});
const refused = (path: string, status: number, error: string, source = '1.1'): RestCase => ({
  name: path,
  source,
  path,
  status,
  error,
});
const tensor = (name: string, datatype: string, shape: number[]): object => ({
  name,
  datatype,
  shape,
});
const metadata = (name: string, version: string, inputs: object[], outputs: object[]): object => ({
  name,
  versions: [version],
  platform: 'onnxruntime_onnx',
  inputs,
  outputs,
});

const HEALTH: readonly RestCase[] = [
  get('/v2/health/live', { live: true }, '1.2 ruling'),
  get('/v2/health/ready', { ready: true }, '1.2 ruling'),
  get('/v2/models/half_plus_three/ready', { name: 'half_plus_three', ready: true }, '1.2 ruling'),
  get('/v2/models/half_plus_three/versions/123/ready', { name: 'half_plus_three', ready: true }),
  refused('/v2/models/nope/ready', 404, "Request for unknown model: 'nope' is not found"),
  refused(
    '/v2/models/half_plus_three/versions/1/ready',
    404,
    "Request for unknown model: 'half_plus_three' version 1 is not found",
  ),
];

const METADATA: readonly RestCase[] = [
  get(
    '/v2/models/half_plus_three',
    metadata('half_plus_three', '123', [tensor('x', 'FP32', [-1])], [tensor('y', 'FP32', [-1])]),
  ),
  get(
    '/v2/models/half_plus_three/versions/123',
    metadata('half_plus_three', '123', [tensor('x', 'FP32', [-1])], [tensor('y', 'FP32', [-1])]),
  ),
  get(
    '/v2/models/scalar',
    metadata('scalar', '1', [tensor('x', 'FP32', [])], [tensor('y', 'FP32', [])]),
  ),
  get('/v2/models/constant', metadata('constant', '1', [], [tensor('y', 'FP32', [3])])),
  get(
    '/v2/models/add_sub',
    metadata(
      'add_sub',
      '1',
      [tensor('INPUT0', 'INT32', [-1, 16]), tensor('INPUT1', 'INT32', [-1, 16])],
      [tensor('OUTPUT0', 'INT32', [-1, 16]), tensor('OUTPUT1', 'INT32', [-1, 16])],
    ),
  ),
  get(
    '/v2/models/versions',
    metadata('versions', '10', [tensor('x', 'FP32', [-1])], [tensor('y', 'FP32', [-1])]),
  ),
  ...V2_DATATYPES.map((datatype) => {
    const name = `identity_${datatype.toLowerCase()}`;
    return get(
      `/v2/models/${name}`,
      metadata(
        name,
        '1',
        [tensor('input', datatype, [-1, -1])],
        [tensor('output', datatype, [-1, -1])],
      ),
    );
  }),
  refused('/v2/models/nope', 404, "Request for unknown model: 'nope' is not found"),
  refused(
    '/v2/models/versions/versions/2',
    404,
    "Request for unknown model: 'versions' version 2 is not found",
  ),
];

const URLS: readonly RestCase[] = [
  refused('/v2/', 404, 'no such endpoint: GET /v2/', '1.2 "trailing slash"'),
  refused(
    '/v2/models/half_plus_three/',
    404,
    'no such endpoint: GET /v2/models/half_plus_three/',
    '1.2 "trailing slash"',
  ),
  refused('/v2/nope', 404, 'no such endpoint: GET /v2/nope'),
  ...(['PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const).map(
    (method): RestCase => ({
      name: `${method} /v2`,
      source: '1.1 "405 + Allow"',
      method,
      path: '/v2',
      status: 405,
      error: `method ${method} is not allowed here, expected GET`,
      with: { allow: 'GET' },
    }),
  ),
  {
    name: 'GET infer',
    source: '1.1 "405 + Allow"',
    path: '/v2/models/half_plus_three/infer',
    status: 405,
    error: 'method GET is not allowed here, expected POST',
    with: { allow: 'POST' },
  },
];

export const V2_DOCUMENT_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  health: HEALTH,
  'model metadata': METADATA,
  URLs: URLS,
};
