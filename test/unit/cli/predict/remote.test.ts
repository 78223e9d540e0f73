// Parsing of a URL for `serval predict`; gRPC messages as other servers write them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { Datatype } from '../../../../ts/model/snapshot.js';
import { elementValues } from '../../../../ts/library/elements.js';
import { columnTensors, tensorColumns } from '../../../../ts/cli/predict/grpc/columns.js';
import { textsBytes } from '../../../../ts/cli/predict/grpc/contents.js';
import { answerTensors } from '../../../../ts/cli/predict/grpc/v2.js';
import { remoteTarget } from '../../../../ts/cli/predict/remote.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';

const refusal =
  (text: RegExp, code = ErrorCode.InvalidArgument) =>
  (error: unknown): boolean =>
    error instanceof ServalError && error.code === code && text.test(error.message);

describe('a URL', () => {
  const base = 'http://h:8000';
  const grpc = 'grpc://h:8001';
  for (const [text, model, expected] of [
    [`${base}/v2/models/m`, undefined, [base, 'v2', 'm', '']],
    [`${base}/v2/models/m/versions/3/infer`, undefined, [base, 'v2', 'm', '3']],
    [`${base}/v1/models/a%20b:predict`, undefined, [base, 'v1', 'a b', '']],
    [base, 'm', [base, 'v2', 'm', '']],
    [`${base}/v1/`, 'm', [base, 'v1', 'm', '']],
    [`${base}/proxy/v2/models/m`, undefined, [`${base}/proxy`, 'v2', 'm', '']],
    [grpc, 'm', [grpc, 'any', 'm', '']],
    [`${grpc}/`, 'm', [grpc, 'any', 'm', '']],
    [`${grpc}/v1/models/m/versions/7`, undefined, [grpc, 'v1', 'm', '7']],
    [`${grpc}/v2`, 'm', [grpc, 'v2', 'm', '']],
    ['grpcs://h/v2/models/m', undefined, ['grpcs://h', 'v2', 'm', '']],
    ['grpc://[::1]:9/v2/models/m', undefined, ['grpc://[::1]:9', 'v2', 'm', '']],
  ] as const) {
    it(`names a model: ${text}`, () => {
      const target = remoteTarget(text, model);
      assert.equal(target.isGrpc, text.startsWith('grpc'));
      assert.deepEqual([target.base, target.protocol, target.model, target.version], expected);
    });
  }

  for (const [text, model, expected] of [
    [base, undefined, /or --model NAME/],
    [grpc, undefined, /or --model NAME/],
    ['ftp://h:1', 'm', /http:\/\/ or https:.*grpc:/],
    ['grpc://h/v2/models/m', undefined, /grpc:\/\/HOST:PORT/],
    ['grpc:///v2/models/m', undefined, /expected/],
    ['grpc://h:1/m', 'm', /only \/v2\/models\/NAME/],
    ['grpc://h:1/proxy/v2/models/m', undefined, /only \/v2\/models\/NAME/],
    [`${base}/v2/models/%zz`, undefined, /percent signs/],
  ] as const) {
    it(`is refused: ${text}`, () => {
      assert.throws(() => remoteTarget(text, model), refusal(expected));
    });
  }
});

describe("V2's answers over gRPC", () => {
  const answer = (datatype: string, fill: (contents: ProtobufWriter) => void): Buffer =>
    new ProtobufWriter()
      .message(5, (tensor) => {
        tensor.string(1, 'y').string(2, datatype).packed(3, 'varint', [2]).message(5, fill);
      })
      .toBuffer();
  const valuesOf = (message: Buffer): unknown =>
    answerTensors(message).map(({ datatype, bytes }) => elementValues(datatype, bytes));

  it('may have typed contents', () => {
    const typed: [string, (contents: ProtobufWriter) => void, unknown][] = [
      ['FP32', (one) => one.packed(6, 'float', [0.5, -1]), Float32Array.of(0.5, -1)],
      ['FP64', (one) => one.packed(7, 'double', [0.1, 3]), Float64Array.of(0.1, 3)],
      ['INT8', (one) => one.packed(2, 'varint', [-2, 127]), Int8Array.of(-2, 127)],
      [
        'INT64',
        (one) => one.varint(3, -(2n ** 53n)).varint(3, 1),
        BigInt64Array.of(-(2n ** 53n), 1n),
      ],
      ['BOOL', (one) => one.packed(1, 'varint', [1, 0]), Uint8Array.of(1, 0)],
      ['BYTES', (one) => one.string(8, 'a').string(8, ''), ['a', '']],
    ];
    for (const [datatype, fill, expected] of typed) {
      assert.deepEqual(valuesOf(answer(datatype, fill)), [expected], datatype);
    }
  });

  it('are refused where they hold nothing, or are no message', () => {
    const bare = new ProtobufWriter().message(5, (tensor) => tensor.string(1, 'y')).toBuffer();
    assert.throws(() => answerTensors(bare), refusal(/'y'.*without contents/, ErrorCode.Internal));
    const odd = answer('FP8', (one) => one.varint(2, 1));
    assert.throws(() => answerTensors(odd), refusal(/unknown datatype FP8/, ErrorCode.Internal));
    const cut = answer('FP32', (one) => one.packed(6, 'float', [1])).subarray(0, 12);
    assert.throws(() => answerTensors(cut), refusal(/ModelInferResponse/, ErrorCode.Internal));
  });
});

describe('columns over gRPC', () => {
  it('carry missing cells and lists of several lengths', () => {
    const sent = columnTensors([], { a: ['x', null], v: [[1, 2], [3]] });
    const [a, v, lengths] = sent;
    assert.deepEqual(a?.parameters, { null_indices: '1' });
    assert.deepEqual(a?.bytes, textsBytes([Buffer.from('x'), Buffer.from('')]));
    assert.deepEqual([v?.shape, v?.bytes.length], [[2, 1, -1], 24]);
    assert.deepEqual([lengths?.name, lengths?.shape, lengths?.datatype], ['v_shape', [1], 'INT32']);
    assert.deepEqual(
      elementValues('INT32', lengths?.bytes ?? new Uint8Array()),
      Int32Array.of(2, 1),
    );
    const absent = { v: [[1, 2], null] };
    assert.throws(
      () => columnTensors([], absent),
      refusal(/row 1: a missing list/, ErrorCode.Unimplemented),
    );
  });

  it('are read as they were sent', () => {
    const tensors = columnTensors([], {
      a: ['x', null],
      v: [[1, 2], [3]],
      w: [
        [1, 2],
        [3, 4],
      ],
    });
    const read = tensorColumns(
      tensors.map(({ parameters, ...one }) => ({
        ...one,
        parameters: new Map(
          Object.entries(parameters).map(([name, value]) => [name, String(value)]),
        ),
      })),
    );
    assert.deepEqual(
      Object.values(read).map(({ name, shape, data }) => [name, shape, data]),
      [
        ['a', [2], ['x', null]],
        ['v', [2, -1], [[1, 2], [3]]],
        [
          'w',
          [2, 2],
          [
            [1, 2],
            [3, 4],
          ],
        ],
      ],
    );
    const bytes = textsBytes([Buffer.from('2024-02-29')]);
    const day = {
      name: 'd',
      datatype: 'DATE' as Datatype,
      shape: [1],
      parameters: new Map(),
      bytes,
    };
    assert.deepEqual(tensorColumns([day])['d']?.data, ['2024-02-29']);
  });
});
