// The worker thread of the gRPC listener: its services. Hot path's frame; its own thread. The only
// thread that loads grpc-js.
import { LinkHeldBytes } from '../native/held-bytes.js';
import { HEALTH_SERVICE, healthService } from '../protocols/grpc/health.js';
import { REFLECTION_SERVICES, reflectionServices } from '../protocols/grpc/reflection.js';
import {
  SERVING_HEALTH_NAMES,
  SERVING_SERVICES,
  servingServices,
} from '../protocols/serving/grpc.js';
import { INFERENCE_SERVICE, inferenceService } from '../protocols/v2/grpc.js';
import type { RegistrySnapshot } from '../model/snapshot.js';
import { GrpcListener } from '../transport/grpc-listener.js';
import { runListener } from './listener-thread.js';
import type { GrpcSettings } from './messages.js';

// Loaded when first asked for: most servers never are.
async function encodeConfig(config: Readonly<Record<string, unknown>>): Promise<Uint8Array> {
  const { encodeModelConfig } = await import('../model-config/triton-config.js');
  return encodeModelConfig(config);
}

void runListener<GrpcSettings>((thread, settings) => {
  const { link, control, readings } = thread;
  const { serverVersion, messageBytesMax } = settings;
  const snapshot = (): RegistrySnapshot => thread.snapshot;
  const shown = (): RegistrySnapshot => thread.shown;
  const subscribe = (follower: () => void): (() => void) => thread.subscribe(follower);
  const services = [INFERENCE_SERVICE, ...SERVING_SERVICES];
  const listener = new GrpcListener({
    host: settings.host,
    port: settings.port,
    receiveBytesMax: messageBytesMax,
    sendBytesMax: messageBytesMax,
    connectionsMax: settings.connectionsMax,
    full: thread.full,
    running: () => link.pending + control.pending,
    unanswered: () => link.unanswered(),
    memory: {
      held: new LinkHeldBytes(link),
      unsentBytesMax: Math.floor(settings.memoryLimitBytes / 2),
    },
    services: [
      inferenceService({
        snapshot,
        shown,
        infer: link,
        serverVersion,
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
    ],
  });
  return {
    listen: () => listener.start(),
    drain: (seconds) => listener.drain(seconds),
  };
});
