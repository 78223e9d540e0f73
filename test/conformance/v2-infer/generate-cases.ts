// Triton's generate extension over the wire. Data only. Source: Triton's
// docs/protocol/extension_generate.md; v2-protocol.md (generate).
import type { RestCase } from '../rest-case.js';

const generate = (model: string): string => `/v2/models/${model}/generate`;
const HALF = generate('half_plus_three');
const NAMES = { model_name: 'half_plus_three', model_version: '123' };

const CASES: readonly RestCase[] = [
  {
    name: 'a list of values',
    source: 'generate',
    path: HALF,
    body: '{"x":[1,2,5]}',
    answer: { ...NAMES, y: [3.5, 4, 5.5] },
  },
  {
    name: 'one value, an id and a parameter',
    source: 'generate',
    path: '/v2/models/half_plus_three/versions/123/generate',
    body: '{"id":"a","x":1,"parameters":{"temperature":0.5}}',
    answer: { ...NAMES, id: 'a', y: 3.5 },
  },
  {
    name: 'an input among the parameters',
    source: 'generate',
    path: HALF,
    body: '{"parameters":{"x":[1]}}',
    answer: { ...NAMES, y: 3.5 },
  },
  {
    name: 'an input is missing',
    source: 'generate',
    path: HALF,
    body: '{"text_input":"a"}',
    status: 400,
    error: "input 'x' is missing",
  },
  {
    name: 'a value of another type',
    source: 'generate',
    path: `${HALF}_stream`,
    body: '{"x":"a"}',
    status: 400,
    errorLike: /^input 'x'.*FP32/,
  },
  {
    name: 'an unknown model',
    source: 'generate',
    path: generate('nothing'),
    body: '{}',
    status: 404,
    errorLike: /nothing/,
  },
  {
    name: 'another method',
    source: 'generate',
    method: 'GET',
    path: HALF,
    status: 405,
    errorLike: /POST/,
    with: { allow: 'POST' },
  },
];

export const V2_GENERATE_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  generate: CASES,
};
