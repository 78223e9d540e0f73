// Shared memory of clients, enabled by a server flag. Control plane, main thread.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { CudaRegion, SharedRegions } from '../../model/engine-api.js';
import type { SharedMemoryControl } from '../../protocols/control.js';

/**
 * `regions`: the engine's; undefined = clients may not register any. Listing then shows none, and
 * unregistering for cleanup succeeds.
 */
export function sharedMemoryControl(regions: SharedRegions | undefined): SharedMemoryControl {
  if (regions === undefined) return REFUSED;
  // async, so that errors thrown by the engine become rejections.
  return {
    sharedRegions: async (name) => regions.list(name),
    registerSharedRegion: async (region) => regions.register(region),
    unregisterSharedRegion: async (name) => regions.unregister(name),
    cudaRegions: async (name) => regions.listCuda(name),
    registerCudaRegion: async (region, handle) => {
      checkCudaRegion(region);
      regions.registerCuda(region, handle);
    },
    unregisterCudaRegion: async (name) => regions.unregisterCuda(name),
  };
}

const DEVICE_MAX = 0x7fff_ffff;

function checkCudaRegion({ name, device_id: device }: CudaRegion): void {
  const refuse = (what: string): ServalError =>
    new ServalError(
      ErrorCode.InvalidArgument,
      `failed to register CUDA shared memory region${name === '' ? '' : ` '${shown(name)}'`}: ${what}`,
    );
  if (name === '') throw refuse('expected a name, got none');
  if (device > DEVICE_MAX) throw refuse(`device_id: expected at most ${DEVICE_MAX}, got ${device}`);
}

const shown = (name: string): string => name.slice(0, 256);

const unknown = (kind: string, name: string): ServalError =>
  new ServalError(
    ErrorCode.InvalidArgument,
    `Unable to find ${kind} shared memory region: '${shown(name)}'`,
  );

const refused = (kind: string, name: string): ServalError =>
  new ServalError(
    ErrorCode.Unimplemented,
    `failed to register ${kind}shared memory region '${shown(name)}': shared memory of clients ` +
      'is off; start the server with --allow-client-shm=true',
  );

const REFUSED: SharedMemoryControl = {
  async sharedRegions(name) {
    if (name === '') return [];
    throw unknown('system', name);
  },
  async registerSharedRegion({ name }) {
    throw refused('', name);
  },
  async unregisterSharedRegion() {},
  async cudaRegions(name) {
    if (name === '') return [];
    throw unknown('cuda', name);
  },
  async registerCudaRegion({ name }) {
    throw refused('CUDA ', name);
  },
  async unregisterCudaRegion() {},
};
