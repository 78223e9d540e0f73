// The copy budget of docs/explanation/threads-and-copies.md: counts request tensor bytes that are
// viewed and those that are copied.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../ts/engine/engine.js';
import { ErrorCode } from '../../ts/base/errors.js';
import { V2_GRPC, V2_REST } from '../../ts/model/request-kinds.js';
import { ProtobufWriter } from '../../ts/protobuf/writer.js';
import { Asked, inferred, nullModel, withEngine } from './support.js';

const FLOATS = 150_528;
const TENSOR_BYTES = FLOATS * 4;

async function counted(engine: Engine, run: () => Promise<void>): Promise<[number, number]> {
  const before = engine.control.stats();
  await run();
  const after = engine.control.stats();
  return [
    after.tensorBytesViewed - before.tensorBytesViewed,
    after.tensorBytesCopied - before.tensorBytesCopied,
  ];
}

function binaryBody(pad: number): { json: string; body: ArrayBuffer } {
  const json = JSON.stringify({
    id: 'x'.repeat(pad),
    inputs: [
      {
        name: 'x',
        shape: [FLOATS],
        datatype: 'FP32',
        parameters: { binary_data_size: TENSOR_BYTES },
      },
    ],
    parameters: { binary_data_output: true },
  });
  const body = new Uint8Array(json.length + TENSOR_BYTES);
  body.set(new TextEncoder().encode(json));
  return { json, body: body.buffer };
}

test('REST binary tensors are viewed, whatever the length of the JSON', async () => {
  await withEngine(async (engine) => {
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'inline' }));
    for (let pad = 0; pad < 64; pad += 7) {
      const { json, body } = binaryBody(pad);
      const counts = await counted(engine, async () => {
        const { code } = await inferred(engine.link, V2_REST, handle, body, json.length);
        assert.equal(code, ErrorCode.Ok);
      });
      assert.deepEqual(counts, [TENSOR_BYTES, 0], `JSON of ${json.length} bytes, one piece`);
      const chunked = await counted(engine, async () => {
        const { link } = engine;
        const asked = new Asked();
        assert.ok(link.openBody(body.byteLength, json.length, asked));
        for (let at = 0; at < body.byteLength; at += 65_536) {
          assert.ok(link.appendBody(body.slice(at, at + 65_536), asked));
        }
        link.inferBody(V2_REST, handle, json.length, asked);
        assert.equal((await asked.settled).code, ErrorCode.Ok);
      });
      assert.deepEqual(chunked, [TENSOR_BYTES, 0], `JSON of ${json.length} bytes, chunks`);
    }
  });
});

test('gRPC raw tensors are viewed where aligned and copied once where not', async () => {
  await withEngine(async (engine) => {
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'inline' }));
    engine.control.publishRoutes(1, [
      {
        name: 'm',
        defaultVersion: 0,
        labels: {},
        versions: [{ version: '1', handle, ready: true, reason: '' }],
      },
    ]);
    const raw = Buffer.alloc(TENSOR_BYTES);
    const message = new ProtobufWriter()
      .string(1, 'm')
      .message(5, (input) => input.string(1, 'x').string(2, 'FP32').packed(3, 'varint', [FLOATS]))
      .bytes(7, raw)
      .toBuffer();
    for (let shift = 0; shift < 8; shift += 1) {
      const memory = Buffer.alloc(message.length + 16);
      const aligned = (memory.byteOffset + message.length - TENSOR_BYTES) % 4;
      const at = shift;
      message.copy(memory, at);
      const counts = await counted(engine, async () => {
        const asked = new Asked();
        const piece = memory.subarray(at, at + message.length);
        engine.link.inferMessage(piece, V2_GRPC, 0, asked);
        assert.equal((await asked.settled).code, ErrorCode.Ok);
      });
      const isAligned = (aligned + at) % 4 === 0;
      const expected = isAligned ? [TENSOR_BYTES, 0] : [0, TENSOR_BYTES];
      assert.deepEqual(counts, expected, `shift ${shift}`);
    }
  });
});
