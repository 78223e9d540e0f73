// The worker thread of one HTTP listener: routes by URL. Hot path's frame; its own thread.
import { LinkHeldBytes } from '../native/held-bytes.js';
import { framesRoute } from '../protocols/frames/route.js';
import { metricsRoute, type MetricsContext } from '../protocols/rest/metrics.js';
import { v1Route } from '../protocols/serving/rest.js';
import { v2Route, type V2Context } from '../protocols/v2/rest.js';
import type { HttpListenerKind } from '../transport/http-kind.js';
import type { Route } from '../transport/listener.js';
import { runListener } from './listener-thread.js';
import type { HttpSettings } from './messages.js';

/** Of what a client sends, so much may lie in the kernel unread: the kernel doubles it, and counts
 * its own overhead. uWebSockets.js reads a connection for as long as 524,288 bytes are there: with
 * less it reads once in a turn. The number is Linux's own default maximum: it is not cut there. */
const RECEIVE_BYTES = 212_992;
const V1_PREFIX = /^\/v1\//i;

// Only one of them is loaded: uWebSockets.js has no binary for some Nodes.
async function listenerClass(kind: HttpListenerKind) {
  if (kind === 'node') return (await import('../transport/node-listener.js')).NodeListener;
  return (await import('../transport/uws-listener.js')).UwsListener;
}

void runListener<HttpSettings>(async (thread, settings) => {
  const { link, control, readings } = thread;
  const held = new LinkHeldBytes(link);
  const context: V2Context & MetricsContext = { ...settings, link, control, readings, held };
  const router = (method: string, path: string): Route =>
    metricsRoute(context, thread.snapshot, method, path) ??
    framesRoute(context, thread, method, path) ??
    (V1_PREFIX.test(path)
      ? v1Route(context, thread, method, path)
      : v2Route(context, thread, method, path));
  const Listener = await listenerClass(settings.listener);
  const listener = new Listener(router, thread.report, {
    connections: { max: settings.connectionsMax, full: thread.full },
    held,
    keep: (body) => link.keepAnswer(body),
    unanswered: () => link.unanswered(),
    listening: (bound) => link.native.limitReceive(bound, RECEIVE_BYTES),
  });
  thread.subscribe(() => listener.routesChanged());
  return {
    listen: () => listener.listen(settings.host, settings.port),
    drain: (seconds) => listener.drain(seconds),
  };
});
