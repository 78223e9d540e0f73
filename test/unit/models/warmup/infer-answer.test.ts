// One value of each output of a ModelInferResponse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import { readInferAnswer } from '../../../../ts/model/infer/response.js';

function bytesOf(count: number, write: (raw: Buffer) => void): Buffer {
  const raw = Buffer.alloc(count);
  write(raw);
  return raw;
}

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([bytesOf(4, (raw) => raw.writeUInt32LE(bytes.length)), bytes]);
};

type Given = readonly [name: string, datatype: string, raw: Buffer, nulls?: string];

function message(outputs: readonly Given[]): Uint8Array {
  const writer = new ProtobufWriter().string(1, 'model').string(2, '1');
  for (const [name, datatype, , nulls] of outputs) {
    writer.message(5, (tensor) => {
      tensor.string(1, name).string(2, datatype).varint(3, 1);
      if (nulls === undefined) return;
      tensor.message(4, (entry) =>
        entry.string(1, 'null_indices').message(2, (value) => value.string(3, nulls)),
      );
    });
  }
  for (const [, , raw] of outputs) writer.bytes(6, raw);
  return writer.toBuffer();
}

test('values of every datatype', () => {
  const answer = readInferAnswer(
    message([
      ['bool', 'BOOL', Buffer.from([1])],
      ['int8', 'INT8', Buffer.from([0xff])],
      ['int16', 'INT16', bytesOf(2, (raw) => raw.writeInt16LE(-300))],
      ['int32', 'INT32', bytesOf(4, (raw) => raw.writeInt32LE(-70_000))],
      ['int64', 'INT64', bytesOf(8, (raw) => raw.writeBigInt64LE(-(2n ** 60n)))],
      ['fp32', 'FP32', bytesOf(4, (raw) => raw.writeFloatLE(0.5))],
      ['fp64', 'FP64', bytesOf(8, (raw) => raw.writeDoubleLE(0.1))],
      ['bytes', 'BYTES', text('wörd')],
      ['string', 'STRING', text('')],
      ['date', 'DATE', text('2024-02-29')],
    ]),
  );
  assert.deepEqual(
    [...answer],
    [
      ['bool', true],
      ['int8', -1],
      ['int16', -300],
      ['int32', -70_000],
      ['int64', -(2n ** 60n)],
      ['fp32', 0.5],
      ['fp64', 0.1],
      ['bytes', 'wörd'],
      ['string', ''],
      ['date', '2024-02-29'],
    ],
  );
});

test('missing: NaN, null_indices, no values, a datatype that is not known', () => {
  const answer = readInferAnswer(
    message([
      ['nan', 'FP64', bytesOf(8, (raw) => raw.writeDoubleLE(Number.NaN))],
      ['null', 'INT32', Buffer.alloc(4), '0'],
      ['none', 'FP64', Buffer.alloc(0)],
      ['other', 'FP16', Buffer.alloc(2)],
    ]),
  );
  assert.deepEqual([...answer.values()], [undefined, undefined, undefined, undefined]);
  assert.equal(answer.size, 4);
});

test('bytes that are no message are an error', () => {
  assert.throws(() => readInferAnswer(Uint8Array.of(0x2a, 0xff)), /ModelInferResponse/);
});
