// Readings on a port whose native side the test plays.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Builder } from 'flatbuffers';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import { EngineStats } from '../../../ts/native/generated/serval/fb/engine-stats.js';
import { ModelStats } from '../../../ts/native/generated/serval/fb/model-stats.js';
import { PortReadings } from '../../../ts/protocols/engine-readings.js';
import { FakeNative, PENDING } from '../native/fake-native.js';

function statsBytes(handle: number): Uint8Array {
  const builder = new Builder(64);
  ModelStats.startModelStats(builder);
  ModelStats.addHandle(builder, handle);
  const models = EngineStats.createModelsVector(builder, [ModelStats.endModelStats(builder)]);
  EngineStats.startEngineStats(builder);
  EngineStats.addModels(builder, models);
  builder.finish(EngineStats.endEngineStats(builder));
  return builder.asUint8Array();
}

const failure =
  (code: ErrorCode, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServalError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };

describe('PortReadings', () => {
  it('asks for the statistics of the handles', async () => {
    const native = new FakeNative();
    native.text = statsBytes(7);
    const stats = await new PortReadings(native.port).stats([7, 9]);
    assert.deepEqual(native.calls, [['stats', Uint32Array.of(7, 9)]]);
    assert.deepEqual(
      stats.models.map((model) => model.handle),
      [7],
    );
  });

  it('rejects when the engine has none', async () => {
    const native = new FakeNative();
    native.code = ErrorCode.ShuttingDown;
    native.text = Buffer.from('the engine stops');
    const expected = failure(ErrorCode.ShuttingDown, 'the engine stops');
    await assert.rejects(new PortReadings(native.port).stats([1]), expected);
    await assert.rejects(new PortReadings(native.port).metrics(0), expected);
  });

  it('gets metrics when they are written, as memory of its own', async () => {
    const native = new FakeNative();
    native.code = PENDING;
    const readings = new PortReadings(native.port);
    const text = readings.metrics(1);
    const fails = readings.metrics(0);
    assert.deepEqual(native.calls, [
      ['metrics', 1],
      ['metrics', 0],
    ]);
    native.complete(1, ErrorCode.Ok, 'a 1\n');
    native.complete(2, ErrorCode.Internal, 'out of memory');
    assert.equal((await text).toString(), 'a 1\n');
    await assert.rejects(fails, failure(ErrorCode.Internal, 'out of memory'));
  });
});
