// The gRPC listener in the addon, on the first HTTP listener's thread. Loaded only if used.
import { NativeGrpcListener } from '../../listeners/grpc/native-listener.js';
import type { Cut } from '../../listeners/cut.js';
import { accessOf, grpcServices } from './grpc-services.js';
import { KeyView } from './key-views.js';
import type { ListenerThread } from './listener-thread.js';
import type { GrpcSettings } from './messages.js';

/** `unanswered`: the models that requests of this thread wait for, including forwarded calls. */
export function nativeGrpcListener(
  thread: ListenerThread,
  settings: GrpcSettings,
  unanswered: () => Cut['models'],
): NativeGrpcListener {
  return new NativeGrpcListener(thread.link, {
    host: settings.host,
    port: settings.port,
    sharesPort: settings.sharesPort,
    transport: settings.transport,
    connectionsMax: settings.connectionsMax,
    unsentBytesMax: Math.floor(settings.memoryLimitBytes / 2),
    services: grpcServices(thread, settings),
    servicesOf: (caller) => grpcServices(thread, settings, new KeyView(thread, caller)),
    access: accessOf(thread),
    full: thread.full(),
    threadAdded: thread.threadAdded('gRPC'),
    unanswered,
    certificates: thread.certificates('gRPC'),
    expires: thread.expires('grpc'),
    handshakeFailed: thread.handshakeFailed('gRPC'),
    report: thread.report,
  });
}
