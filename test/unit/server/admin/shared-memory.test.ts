// Shared memory of clients, allowed and not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sharedMemoryControl } from '../../../../ts/server/admin/shared-memory.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { CUDA_REGION, REGION } from './fake-control.js';

const HANDLE = Buffer.alloc(64, 7);

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
      listCuda: (name) => {
        calls.push(['listCuda', name]);
        return [CUDA_REGION];
      },
      registerCuda: (region, handle) => void calls.push(['registerCuda', region, handle.length]),
      unregisterCuda: (name) => void calls.push(['unregisterCuda', name]),
    });
    assert.deepEqual(await control.sharedRegions(''), [REGION]);
    await assert.rejects(
      control.registerSharedRegion(REGION),
      failure(ErrorCode.InvalidArgument, /taken/),
    );
    await control.unregisterSharedRegion('r');
    assert.deepEqual(await control.cudaRegions('c'), [CUDA_REGION]);
    await control.registerCudaRegion(CUDA_REGION, HANDLE);
    await control.unregisterCudaRegion('');
    assert.deepEqual(calls, [
      ['list', ''],
      ['register', REGION],
      ['unregister', 'r'],
      ['listCuda', 'c'],
      ['registerCuda', CUDA_REGION, 64],
      ['unregisterCuda', ''],
    ]);
  });

  it('of a GPU has a name and a device', async () => {
    const never = (): never => assert.fail('the engine was asked');
    const control = sharedMemoryControl({
      ...{ list: never, register: never, unregister: never },
      ...{ listCuda: never, registerCuda: never, unregisterCuda: never },
    });
    const where = "failed to register CUDA shared memory region 'c': ";
    for (const [region, handle, message] of [
      [{ ...CUDA_REGION, name: '' }, HANDLE, /region: expected a name, got none$/],
      [
        { ...CUDA_REGION, device_id: 2 ** 31 },
        HANDLE,
        `${where}device_id: expected at most 2147483647, got 2147483648`,
      ],
    ] as const) {
      await assert.rejects(control.registerCudaRegion(region, handle), {
        code: ErrorCode.InvalidArgument,
        message,
      });
    }
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
    assert.deepEqual(await control.cudaRegions(''), []);
    await control.unregisterCudaRegion('');
    await assert.rejects(
      control.cudaRegions('c'),
      failure(ErrorCode.InvalidArgument, /Unable to find cuda shared memory region: 'c'/),
    );
    await assert.rejects(
      control.registerCudaRegion(CUDA_REGION, HANDLE),
      failure(ErrorCode.Unimplemented, /CUDA shared memory region 'c'.*--allow-client-shm=true/),
    );
  });
});
