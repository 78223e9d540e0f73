// The gRPC services of a listener's thread, for calls of any listener. Hot path's frame; that
// thread.
import { INFERENCE_SERVICE } from '../../base/services.js';
import { callAccess, seesPaths } from '../../access/policy.js';
import { HEALTH_SERVICE, healthService } from '../../protocols/grpc/health.js';
import { REFLECTION_SERVICES, reflectionServices } from '../../protocols/grpc/reflection.js';
import {
  SERVING_HEALTH_NAMES,
  SERVING_SERVICES,
  servingServices,
} from '../../protocols/tfserving/grpc.js';
import type { ServerFacts } from '../../protocols/v2/documents.js';
import { inferenceService } from '../../protocols/v2/grpc.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import type { AccessOf } from '../../listeners/grpc/access.js';
import type { GrpcService } from '../../listeners/grpc/call.js';
import type { ModelView } from './key-views.js';
import type { ListenerThread } from './listener-thread.js';

// Loaded when first used: most servers never need it.
async function encodeConfig(config: Readonly<Record<string, unknown>>): Promise<Uint8Array> {
  const { encodeModelConfig } = await import('../../models/config/triton-config.js');
  return encodeModelConfig(config);
}

/** Access to gRPC calls by the thread's current policy. */
export function accessOf(thread: ListenerThread): AccessOf {
  const { policy } = thread;
  return (call) => callAccess(policy, call, 'grpc');
}

/** The services for all callers without limits, or for one that has some. */
export function grpcServices(
  thread: ListenerThread,
  { serverVersion, clientShm, cudaShm = false }: ServerFacts,
  view: ModelView = thread,
): readonly GrpcService[] {
  const { link, readings } = view;
  const control = view.limited(thread.control.seenBy(() => seesPaths(thread.policy, 'grpc')));
  const snapshot = (): RegistrySnapshot => view.snapshot;
  const shown = (): RegistrySnapshot => view.shown;
  const subscribe = (follower: () => void): (() => void) => thread.subscribe(follower);
  const services = [INFERENCE_SERVICE, ...SERVING_SERVICES];
  return [
    inferenceService({
      snapshot,
      shown,
      serverVersion,
      clientShm,
      cudaShm,
      control,
      readings,
      encodeConfig,
    }),
    ...servingServices({ snapshot, shown, infer: link, control, readings }),
    healthService({
      snapshot: shown,
      subscribe,
      services: [...services, ...SERVING_HEALTH_NAMES],
    }),
    ...reflectionServices([...services, HEALTH_SERVICE, ...REFLECTION_SERVICES]),
  ];
}
