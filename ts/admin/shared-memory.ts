// Shared memory of clients, as the server's flag has it. Control plane, main thread.
import { ErrorCode, ServalError } from '../errors.js';
import type { SharedRegions } from '../model/engine-api.js';
import type { SharedMemoryControl } from './control.js';

/** `regions`: the engine's; undefined = clients may register none. There are none then, and what
 * clients do to clean up works. */
export function sharedMemoryControl(regions: SharedRegions | undefined): SharedMemoryControl {
  if (regions === undefined) return REFUSED;
  // async: what the engine throws becomes a rejection.
  return {
    sharedRegions: async (name) => regions.list(name),
    registerSharedRegion: async (region) => regions.register(region),
    unregisterSharedRegion: async (name) => regions.unregister(name),
  };
}

const REFUSED: SharedMemoryControl = {
  async sharedRegions(name) {
    if (name === '') return [];
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `Unable to find system shared memory region: '${name.slice(0, 256)}'`,
    );
  },
  async registerSharedRegion({ name }) {
    throw new ServalError(
      ErrorCode.Unimplemented,
      `failed to register shared memory region '${name.slice(0, 256)}': shared memory of clients ` +
        'is off; start the server with --allow-client-shm=true',
    );
  },
  async unregisterSharedRegion() {},
};
