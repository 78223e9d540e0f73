// The binary tensor data extension over REST: refused requests, and responses to the byte. Data,
// and tests that read bytes. Source of each case: v2-protocol.md, by section.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { exchange } from '../e2e/support/raw-http.js';
import type { RestCase } from './rest-case.js';

const infer = (model: string): string => `/v2/models/${model}/infer`;
const HALF = infer('half_plus_three');
const VALUES = Buffer.from(Float32Array.of(1, 2, 5).buffer);
const LENGTH = 'Inference-Header-Content-Length';
const SIZE = "input 'x': parameters 'binary_data_size': expected an integer from 0, got ";
type Sent = Pick<RestCase, 'body' | 'headers'>;

/** Joins JSON and bytes to one body, with the header that separates them. */
function parted(json: string, bytes: Uint8Array, length?: string): Sent {
  const head = Buffer.from(json);
  return { body: Buffer.concat([head, bytes]), headers: [`${LENGTH}: ${length ?? head.length}`] };
}
const binary = (size: number | string, shape = '[3]', more = ''): string =>
  `{"inputs":[{"name":"x","datatype":"FP32","shape":${shape},"parameters":{"binary_data_size":${
    size
  }}}]${more}}`;
const refused = (name: string, request: Sent, error: string, path = HALF): RestCase => ({
  name,
  source: '1.3',
  path,
  status: 400,
  error,
  ...request,
});
const bytesTensor = (bytes: Uint8Array, shape: string): Sent =>
  parted(
    `{"inputs":[{"name":"text","datatype":"BYTES","shape":${shape},"parameters":` +
      `{"binary_data_size":${bytes.length}}}]}`,
    bytes,
  );

const ANSWER = {
  model_name: 'half_plus_three',
  model_version: '123',
  outputs: [{ name: 'y', datatype: 'FP32', shape: [3], data: [3.5, 4, 5.5] }],
};

export const V2_BINARY_CASES: Readonly<Record<string, readonly RestCase[]>> = {
  'binary requests': [
    {
      name: 'a binary tensor, answered in JSON',
      source: '1.3',
      path: HALF,
      ...parted(binary(12), VALUES),
      answer: ANSWER,
    },
    {
      name: 'JSON alone, its length stated',
      source: '1.3',
      path: HALF,
      ...parted(
        '{"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1,2,5]}]}',
        Buffer.alloc(0),
      ),
      answer: ANSWER,
    },
    {
      name: 'BYTES with NUL',
      source: '1.3',
      path: infer('text_identity'),
      ...bytesTensor(Buffer.from('\x02\0\0\0a\0\0\0\0\0', 'latin1'), '[2]'),
      answer: {
        model_name: 'text_identity',
        model_version: '1',
        outputs: [{ name: 'text_out', datatype: 'BYTES', shape: [2], data: ['a\0', ''] }],
      },
    },
    refused(
      'missing bytes',
      parted(binary(12), VALUES.subarray(0, 11)),
      "input 'x': binary_data_size 12 overruns the body: 11 bytes of binary data left",
    ),
    refused(
      'surplus bytes',
      parted(binary(12), Buffer.concat([VALUES, Buffer.of(0)])),
      'binary data: 1 bytes left over after the last tensor',
    ),
    refused(
      'a size that does not fit the shape',
      parted(binary(12, '[2]'), VALUES),
      "input 'x': expected 8 bytes (shape [2] of FP32), got 12",
    ),
    refused('a size that is no number', parted(binary('"12"'), VALUES), `${SIZE}"12"`),
    refused('a negative size', parted(binary(-1), VALUES), `${SIZE}-1`),
    refused(
      'a size beyond 64 bits',
      parted(binary('99999999999999999999'), VALUES),
      `${SIZE}99999999999999999999`,
    ),
    refused(
      'a length beyond the body',
      parted(binary(12), VALUES, '1000'),
      `${LENGTH}: expected 0 to 104 (the body's bytes), got 1000`,
    ),
    refused(
      'a length that is no number',
      parted(binary(12), VALUES, 'x'),
      `${LENGTH}: expected a whole number of bytes, got 'x'`,
    ),
    refused(
      'a negative length',
      parted(binary(12), VALUES, '-1'),
      `${LENGTH}: expected a whole number of bytes, got '-1'`,
    ),
    refused(
      'a length that cuts the JSON',
      parted(binary(12), VALUES, '20'),
      'malformed JSON at byte 20: Missing a closing quotation mark in string',
    ),
    refused(
      'binary data without the header',
      { body: parted(binary(12), VALUES).body ?? '' },
      'malformed JSON at byte 94: expected UTF-8, got an invalid byte',
    ),
    refused(
      'a BOOL byte that is neither 0 nor 1',
      parted(
        '{"inputs":[{"name":"input","datatype":' +
          '"BOOL","shape":[1,2],"parameters":{"binary_data_size":2}}]}',
        Buffer.of(1, 2),
      ),
      "input 'input': BOOL element 1: expected byte 0 or 1, got 2",
      infer('identity_bool'),
    ),
    refused(
      'BYTES whose length leads beyond its end',
      bytesTensor(Buffer.from('\x09\0\0\0abc', 'latin1'), '[1]'),
      "input 'text': BYTES element 0: length 9 at byte 0 overruns the data: 3 bytes left",
      infer('text_identity'),
    ),
    refused(
      'BYTES of fewer elements',
      bytesTensor(Buffer.from('\0\0\0\0', 'latin1'), '[2]'),
      "input 'text': BYTES data: expected 2 elements of 4 bytes or more, got 4 bytes",
      infer('text_identity'),
    ),
    refused(
      'BYTES of more elements',
      bytesTensor(Buffer.alloc(8), '[1]'),
      "input 'text': BYTES data: 4 bytes left over after 1 elements at byte 4",
      infer('text_identity'),
    ),
    refused(
      'the raw form for a model with two inputs',
      { body: VALUES, headers: [`${LENGTH}: 0`] },
      `raw request (${LENGTH}: 0): the model must have 1 input, it has 2`,
      infer('add_sub'),
    ),
    refused(
      'the raw form of a size that fits no shape',
      { body: Buffer.alloc(7), headers: [`${LENGTH}: 0`] },
      "raw request: input 'x': expected a multiple of 4 bytes, got 7",
    ),
  ],
};

interface BinaryAnswer {
  readonly json: unknown;
  readonly bytes: Buffer;
}

async function askBinary(
  port: number,
  model: string,
  json: string,
  bytes: Uint8Array,
): Promise<BinaryAnswer> {
  const { body = '', headers = [] } = parted(json, bytes);
  const response = await exchange(port, 'POST', infer(model), body, headers);
  assert.equal(response.status, 200, response.body.toString());
  assert.equal(response.headers.get('content-type'), 'application/octet-stream');
  const length = Number(response.headers.get(LENGTH.toLowerCase()));
  return {
    json: JSON.parse(response.body.subarray(0, length).toString()) as unknown,
    bytes: response.body.subarray(length),
  };
}

const Y = Buffer.from(Float32Array.of(3.5, 4, 5.5).buffer);
const output = (name: string, datatype: string, shape: number[], size?: number): object => ({
  name,
  datatype,
  shape,
  ...(size === undefined ? {} : { parameters: { binary_data_size: size } }),
});

/** Responses that are compared byte by byte. */
export function binaryTests(port: () => number): void {
  it('binary_data of an output (1.3)', async () => {
    const json = binary(12, '[3]', ',"outputs":[{"name":"y","parameters":{"binary_data":true}}]');
    const answer = await askBinary(port(), 'half_plus_three', json, VALUES);
    assert.deepEqual(answer.json, { ...ANSWER, outputs: [output('y', 'FP32', [3], 12)] });
    assert.ok(answer.bytes.equals(Y));
  });

  it('binary_data_output of the request, for outputs not listed (1.3)', async () => {
    const json = binary(12, '[3]', ',"id":"7","parameters":{"binary_data_output":true}');
    const answer = await askBinary(port(), 'half_plus_three', json, VALUES);
    assert.deepEqual(answer.json, { ...ANSWER, id: '7', outputs: [output('y', 'FP32', [3], 12)] });
    assert.ok(answer.bytes.equals(Y));
  });

  it('binary and JSON outputs side by side, bytes in the order of outputs (1.3)', async () => {
    const bytes = Buffer.from(Float32Array.of(1, -1, 0, 2).buffer);
    const json =
      '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":' +
      '{"binary_data_size":16}}],' +
      '"outputs":[{"name":"positive","parameters":{"binary_data":true}},{"name":"doubled"},' +
      '{"name":"whole","parameters":{"binary_data":true}}]}';
    const answer = await askBinary(port(), 'multi_output', json, bytes);
    const { outputs } = answer.json as { outputs: { name: string; data?: number[] }[] };
    const whole = Buffer.from(BigInt64Array.of(1n, -1n, 0n, 2n).buffer);
    const parts: Record<string, Buffer> = { positive: Buffer.of(1, 0, 0, 1), whole };
    const order = outputs.map(({ name }) => parts[name]).filter((part) => part !== undefined);
    assert.ok(answer.bytes.equals(Buffer.concat(order)));
    const doubled = outputs.find(({ name }) => name === 'doubled');
    assert.deepEqual(doubled?.data, [2, -2, 0, 4]);
  });

  it('the raw form: length 0, the body is the only input (1.3)', async () => {
    const response = await exchange(port(), 'POST', HALF, VALUES, [`${LENGTH}: 0`]);
    assert.equal(response.status, 200);
    const length = Number(response.headers.get(LENGTH.toLowerCase()));
    assert.deepEqual(JSON.parse(response.body.subarray(0, length).toString()), {
      ...ANSWER,
      outputs: [output('y', 'FP32', [3], 12)],
    });
    assert.ok(response.body.subarray(length).equals(Y));
  });

  it('an output of no bytes (1.3)', async () => {
    const json =
      '{"inputs":[{"name":"x","datatype":"FP32","shape":[0],"parameters":' +
      '{"binary_data_size":0}}],"parameters":{"binary_data_output":true}}';
    const { body = '', headers = [] } = parted(json, Buffer.alloc(0));
    const response = await exchange(port(), 'POST', HALF, body, headers);
    assert.equal(response.status, 200);
    const stated = response.headers.get(LENGTH.toLowerCase());
    const text = response.body.subarray(0, stated === undefined ? undefined : Number(stated));
    const { outputs } = JSON.parse(text.toString()) as { outputs: [{ shape: number[] }] };
    assert.deepEqual(outputs[0].shape, [0]);
  });

  it('NaN payloads and negative zeros to the bit (9)', async () => {
    const bits = Uint32Array.of(0x7fc00001, 0xffc12345, 0x80000000, 0x00000001, 0x7f800001);
    const json =
      '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,5],"parameters":' +
      '{"binary_data_size":20}}],"parameters":{"binary_data_output":true}}';
    const answer = await askBinary(port(), 'identity_fp32', json, Buffer.from(bits.buffer));
    assert.ok(answer.bytes.equals(Buffer.from(bits.buffer)));
  });
}
