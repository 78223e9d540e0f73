// Shared memory of clients, allowed and not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sharedMemoryControl } from '../../../ts/admin/shared-memory.js';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import { REGION } from './fake-control.js';

const failure =
  (code: ErrorCode, text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ServalError && error.code === code && text.test(error.message);

describe('shared memory of clients', () => {
  it('is the engine’s where it is allowed, its errors rejections', async () => {
    const calls: unknown[] = [];
    const control = sharedMemoryControl({
      list: (name) => {
        calls.push(['list', name]);
        return [REGION];
      },
      register: (region) => {
        calls.push(['register', region]);
        throw new ServalError(ErrorCode.InvalidArgument, 'taken');
      },
      unregister: (name) => void calls.push(['unregister', name]),
    });
    assert.deepEqual(await control.sharedRegions(''), [REGION]);
    await assert.rejects(
      control.registerSharedRegion(REGION),
      failure(ErrorCode.InvalidArgument, /taken/),
    );
    await control.unregisterSharedRegion('r');
    assert.deepEqual(calls, [
      ['list', ''],
      ['register', REGION],
      ['unregister', 'r'],
    ]);
  });

  it('is none where it is not allowed, and cleaning up works', async () => {
    const control = sharedMemoryControl(undefined);
    assert.deepEqual(await control.sharedRegions(''), []);
    await control.unregisterSharedRegion('');
    await control.unregisterSharedRegion('r');
    await assert.rejects(
      control.sharedRegions('r'),
      failure(ErrorCode.InvalidArgument, /Unable to find system shared memory region: 'r'/),
    );
    await assert.rejects(
      control.registerSharedRegion(REGION),
      failure(ErrorCode.Unimplemented, /--allow-client-shm=true/),
    );
  });
});
