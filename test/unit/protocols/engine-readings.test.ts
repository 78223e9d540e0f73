// Readings on a port whose native side is played by the test.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { ENGINE_STATS } from '../../../ts/engine/generated/flat-tables.js';
import { writeFlatTable } from '../../../ts/model/flat-table.js';
import { LinkReadings } from '../../../ts/protocols/engine-readings.js';
import { FakeNative, PENDING } from '../engine/fake-native.js';

const statsBytes = (handle: number): Uint8Array =>
  writeFlatTable<object>(ENGINE_STATS, { models: [{ handle }] });

const failure =
  (code: ErrorCode, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServalError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };

describe('LinkReadings', () => {
  it('asks for the statistics of the handles', async () => {
    const native = new FakeNative();
    native.text = statsBytes(7);
    const stats = await new LinkReadings(native.link).stats([7, 9]);
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
    await assert.rejects(new LinkReadings(native.link).stats([1]), expected);
    await assert.rejects(new LinkReadings(native.link).metrics(0), expected);
  });

  it('gets metrics when they are written, as memory of its own', async () => {
    const native = new FakeNative();
    native.code = PENDING;
    const readings = new LinkReadings(native.link);
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
