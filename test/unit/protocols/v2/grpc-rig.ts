// inference.GRPCInferenceService over a real socket. Test time only.
import { after, before } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { inferenceService } from '../../../../ts/protocols/v2/grpc.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { GrpcServer } from '../grpc-server.js';
import { FakeReadings } from '../fake-readings.js';
import { RawClient, messageTypes } from '../raw-client.js';
import { model, registry, version } from '../snapshots.js';

export const types = messageTypes();
export const SERVICE = '/inference.GRPCInferenceService/';
export const noResponse = {
  model_name: '',
  model_version: '',
  id: '',
  parameters: [],
  outputs: [],
  raw_output_contents: [],
};
const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short' };

async function started(snapshot: RegistrySnapshot) {
  const state = { snapshot };
  const service = inferenceService({
    snapshot: () => state.snapshot,
    shown: () => state.snapshot,
    serverVersion: '1.2.3',
    clientShm: false,
    control: new FakeControl(),
    readings: new FakeReadings(),
    encodeConfig: () => new Uint8Array(),
  });
  const listener = new GrpcServer([service]);
  const client = new RawClient(await listener.start());
  return { state, listener, client };
}

/** Starts and stops one service for the surrounding suite. */
export function startedForSuite(): () => Awaited<ReturnType<typeof started>> {
  let server: Awaited<ReturnType<typeof started>>;
  before(async () => {
    server = await started(registryOfAll);
  });
  after(async () => {
    server.client.close();
    await server.listener.drain(5);
  });
  return () => server;
}

export const registryOfAll = registry([
  model('m', [version('12', 'END', failed), version('10'), version('9')]),
  model('loading', [version('1', 'LOADING')]),
  { ...model('none', []), problem: "platform 'ensemble' is not supported" },
]);
