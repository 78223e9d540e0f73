// The shared memory calls of inference.GRPCInferenceService over a real socket.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { inferenceService } from '../../../../../ts/protocols/v2/grpc.js';
import { CUDA_REGION, FakeControl, REGION } from '../../../server/admin/fake-control.js';
import { GrpcServer } from '../../grpc-server.js';
import { FakeReadings } from '../../fake-readings.js';
import { RawClient, decode, encode, messageTypes } from '../../raw-client.js';
import { registry } from '../../snapshots.js';

const types = messageTypes();
const SERVICE = '/inference.GRPCInferenceService/';
const INVALID = 3;
const UNIMPLEMENTED = 12;

describe('V2 gRPC: shared memory', () => {
  const control = new FakeControl();
  let listener: GrpcServer;
  let client: RawClient;
  before(async () => {
    const service = inferenceService({
      snapshot: () => registry([]),
      shown: () => registry([]),
      control,
      readings: new FakeReadings(),
      serverVersion: '1',
      clientShm: true,
      cudaShm: true,
      encodeConfig: (config) => encode(types, 'inference.ModelConfig', config),
    });
    listener = new GrpcServer([service]);
    client = new RawClient(await listener.start());
  });
  after(async () => {
    client.close();
    await listener.drain(5);
  });
  beforeEach(() => {
    control.calls.length = 0;
  });

  const ask = async (method: string, request: object): Promise<unknown> => {
    const bytes = encode(types, `inference.${method}Request`, request);
    const { code, details, message } = await client.unary(SERVICE + method, bytes);
    return message === undefined
      ? { code, details }
      : decode(types, `inference.${method}Response`, message);
  };

  it('registers, lists and forgets', async () => {
    assert.deepEqual(await ask('SystemSharedMemoryRegister', REGION), {});
    assert.deepEqual(JSON.parse(JSON.stringify(await ask('SystemSharedMemoryStatus', {}))), {
      regions: [{ key: 'r', value: { name: 'r', key: '/k', offset: '8', byte_size: '64' } }],
    });
    await ask('SystemSharedMemoryStatus', { name: 'r' });
    assert.deepEqual(await ask('SystemSharedMemoryUnregister', { name: 'r' }), {});
    await ask('SystemSharedMemoryUnregister', {});
    assert.deepEqual(control.calls, [
      ['registerSharedRegion', REGION],
      ['sharedRegions', ''],
      ['sharedRegions', 'r'],
      ['unregisterSharedRegion', 'r'],
      ['unregisterSharedRegion', ''],
    ]);
  });

  it('says what the engine refuses, and what is no region', async () => {
    control.error = new ServalError(ErrorCode.InvalidArgument, 'already in manager');
    const refused = await ask('SystemSharedMemoryRegister', REGION);
    assert.deepEqual(refused, { code: INVALID, details: 'already in manager' });
    const nameless = await ask('SystemSharedMemoryRegister', { key: '/k', byte_size: 1 });
    assert.deepEqual(nameless, {
      code: INVALID,
      details: 'failed to register shared memory region: expected a name, got none',
    });
    // byte_size = 2^64 - 32.
    const huge = Buffer.from('0a017212026b' + '6b' + '20e0ffffffffffffffff01', 'hex');
    const { code } = await client.unary(`${SERVICE}SystemSharedMemoryRegister`, huge);
    assert.equal(code, INVALID);
    const cut = await client.unary(
      `${SERVICE}SystemSharedMemoryStatus`,
      Buffer.from('0a05', 'hex'),
    );
    assert.equal(cut.code, INVALID);
  });

  it('of GPUs: registers, lists and forgets', async () => {
    const raw_handle = Buffer.alloc(64, 7);
    assert.deepEqual(await ask('CudaSharedMemoryRegister', { ...CUDA_REGION, raw_handle }), {});
    assert.deepEqual(JSON.parse(JSON.stringify(await ask('CudaSharedMemoryStatus', {}))), {
      regions: [{ key: 'c', value: { name: 'c', device_id: '1', byte_size: '4096' } }],
    });
    assert.deepEqual(await ask('CudaSharedMemoryUnregister', { name: 'c' }), {});
    assert.deepEqual(control.calls, [
      ['registerCudaRegion', CUDA_REGION, raw_handle.toString('hex')],
      ['cudaRegions', ''],
      ['unregisterCudaRegion', 'c'],
    ]);
    const negative = await ask('CudaSharedMemoryRegister', { name: 'c', device_id: -1 });
    assert.deepEqual(negative, {
      code: INVALID,
      details: 'device_id: expected a whole number from 0 to 9007199254740991, got -1',
    });
    control.error = new ServalError(ErrorCode.Unimplemented, 'not here');
    const refused = await ask('CudaSharedMemoryRegister', { ...CUDA_REGION, raw_handle });
    assert.deepEqual(refused, { code: UNIMPLEMENTED, details: 'not here' });
  });

  it('shows the extension', async () => {
    const { extensions } = (await ask('ServerMetadata', {})) as { extensions: string[] };
    assert.ok(extensions.includes('system_shared_memory'));
    assert.ok(extensions.includes('cuda_shared_memory'));
  });
});
