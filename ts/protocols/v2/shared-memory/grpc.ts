// Triton's shared memory calls of inference.GRPCInferenceService. Control plane; the listener's
// thread forwards them. Source: proto/wire/inference.proto; v2-protocol.md 2, 11.
import {
  SYSTEM_SHARED_MEMORY_STATUS_REQUEST,
  SYSTEM_SHARED_MEMORY_REGISTER_REQUEST as SYSTEM_REGION,
  CUDA_SHARED_MEMORY_REGISTER_REQUEST as CUDA_REGION,
} from '../../../protobuf/generated/inference-fields.js';
import { SHARED_MEMORY, SHARED_MEMORY_CHANGE, type CallKind } from '../../../access/groups.js';
import type { SharedMemoryControl } from '../../control.js';
import type { CudaRegion, SharedRegion } from '../../../model/engine-api.js';
import {
  CUDA_SHARED_MEMORY_STATUS_RESPONSE,
  SYSTEM_SHARED_MEMORY_STATUS_RESPONSE,
} from '../../../protobuf/generated/inference.js';
import { exactReader } from '../../../protobuf/reader.js';
import { encodeMessage } from '../../../protobuf/schema-write.js';
import type { GrpcUnaryHandler } from '../../../listeners/grpc/call.js';
import { answeringLater } from '../../grpc/unary.js';
import { cudaRegion, sharedRegion } from './region.js';

const NOTHING = Buffer.alloc(0);

/** A request whose first field is a region's name; other fields are skipped. */
function readName(message: Buffer, messageName: string): string {
  const reader = exactReader(message, messageName);
  let name = '';
  while (reader.next()) {
    if (reader.field === SYSTEM_SHARED_MEMORY_STATUS_REQUEST.name) name = reader.string();
    else reader.skip();
  }
  return name;
}

function readRegion(message: Buffer): SharedRegion {
  const reader = exactReader(message, 'SystemSharedMemoryRegisterRequest');
  let name = '';
  let key = '';
  let offset = 0;
  let byteSize = 0;
  while (reader.next()) {
    if (reader.field === SYSTEM_REGION.name) name = reader.string();
    else if (reader.field === SYSTEM_REGION.key) key = reader.string();
    else if (reader.field === SYSTEM_REGION.offset) offset = reader.number();
    else if (reader.field === SYSTEM_REGION.byteSize) byteSize = reader.number();
    else reader.skip();
  }
  return sharedRegion(name, key, offset, byteSize);
}

function readCudaRegion(message: Buffer): { region: CudaRegion; handle: Uint8Array } {
  const reader = exactReader(message, 'CudaSharedMemoryRegisterRequest');
  let name = '';
  let handle: Uint8Array = NOTHING;
  let device = 0;
  let byteSize = 0;
  while (reader.next()) {
    if (reader.field === CUDA_REGION.name) name = reader.string();
    else if (reader.field === CUDA_REGION.rawHandle) handle = reader.view();
    else if (reader.field === CUDA_REGION.deviceId) device = Number(reader.int64());
    else if (reader.field === CUDA_REGION.byteSize) byteSize = reader.number();
    else reader.skip();
  }
  return { region: cudaRegion(name, device, byteSize), handle };
}

async function status(control: SharedMemoryControl, message: Buffer): Promise<Buffer> {
  const regions = await control.sharedRegions(readName(message, 'SystemSharedMemoryStatusRequest'));
  const byName = regions.map((region) => [region.name, { ...region }]);
  return encodeMessage(
    { regions: Object.fromEntries(byName) },
    SYSTEM_SHARED_MEMORY_STATUS_RESPONSE,
  );
}

async function cudaStatus(control: SharedMemoryControl, message: Buffer): Promise<Buffer> {
  const regions = await control.cudaRegions(readName(message, 'CudaSharedMemoryStatusRequest'));
  const byName = regions.map((region) => [region.name, { ...region }]);
  return encodeMessage({ regions: Object.fromEntries(byName) }, CUDA_SHARED_MEMORY_STATUS_RESPONSE);
}

/** The calls by name. */
export function sharedMemoryCalls(
  control: SharedMemoryControl,
): Readonly<Record<string, GrpcUnaryHandler>> {
  return {
    SystemSharedMemoryStatus: answeringLater((message) => status(control, message)),
    SystemSharedMemoryRegister: answeringLater(async (message) => {
      await control.registerSharedRegion(readRegion(message));
      return NOTHING;
    }),
    SystemSharedMemoryUnregister: answeringLater(async (message) => {
      const name = readName(message, 'SystemSharedMemoryUnregisterRequest');
      await control.unregisterSharedRegion(name);
      return NOTHING;
    }),
    CudaSharedMemoryStatus: answeringLater((message) => cudaStatus(control, message)),
    CudaSharedMemoryRegister: answeringLater(async (message) => {
      const { region, handle } = readCudaRegion(message);
      await control.registerCudaRegion(region, handle);
      return NOTHING;
    }),
    CudaSharedMemoryUnregister: answeringLater(async (message) => {
      await control.unregisterCudaRegion(readName(message, 'CudaSharedMemoryUnregisterRequest'));
      return NOTHING;
    }),
  };
}

export const SHARED_MEMORY_KINDS: Readonly<Record<string, CallKind>> = {
  SystemSharedMemoryStatus: SHARED_MEMORY,
  SystemSharedMemoryRegister: SHARED_MEMORY_CHANGE,
  SystemSharedMemoryUnregister: SHARED_MEMORY_CHANGE,
  CudaSharedMemoryStatus: SHARED_MEMORY,
  CudaSharedMemoryRegister: SHARED_MEMORY_CHANGE,
  CudaSharedMemoryUnregister: SHARED_MEMORY_CHANGE,
};
