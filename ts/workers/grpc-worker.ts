// The worker thread of the gRPC listener on grpc-js: its services. Hot path's frame; its own
// thread. The only thread that loads grpc-js.
import { LinkHeldBytes } from '../native/held-bytes.js';
import { GrpcListener } from '../transport/grpc-listener.js';
import { accessOf, grpcServices } from './grpc-services.js';
import { runListener } from './listener-thread.js';
import type { GrpcSettings } from './messages.js';

void runListener<GrpcSettings>((thread, settings) => {
  const { link, control, log } = thread;
  const listener = new GrpcListener({
    host: settings.host,
    port: settings.port,
    ...settings.transport,
    expires: thread.expires('grpc'),
    connected: thread.connected('grpc'),
    refused: thread.refused,
    certificates: thread.certificates('gRPC'),
    handshakeFailed: thread.handshakeFailed('gRPC'),
    connectionsMax: settings.connectionsMax,
    full: thread.full(),
    running: () => link.pending + control.pending,
    unanswered: () => link.unanswered(),
    memory: {
      held: new LinkHeldBytes(link),
      unsentBytesMax: Math.floor(settings.memoryLimitBytes / 2),
    },
    services: grpcServices(thread, settings),
    access: accessOf(thread),
    ...(log && { ended: (call) => log.called(call) }),
  });
  return {
    listen: async () => ({ grpcPort: await listener.start() }),
    drain: async (seconds) => ({ grpc: await listener.drain(seconds) }),
    reloadCertificates: () => listener.reloadCertificates(),
    policyChanged: () => listener.setAccess(accessOf(thread)),
  };
});
