// The worker thread of one HTTP listener: routes by URL. The first worker also has the native gRPC
// listener and the admin address, and runs for them if HTTP is disabled. Hot path's frame; its own
// thread.
import { Cors, withCors } from '../../listeners/http/access/cors.js';
import { HostCheck } from '../../listeners/http/access/own-page.js';
import { seesPaths, type Entrance } from '../../access/policy.js';
import { locked, type RouteOf } from '../../listeners/http/access/rest-lock.js';
import { consoleRoute } from '../console/route.js';
import { LinkHeldBytes } from '../../engine/held-bytes.js';
import { explainRoute } from '../../protocols/frames/explain.js';
import { framesRoute } from '../../protocols/frames/route.js';
import { generateRoute } from '../../protocols/generate/route.js';
import { openApiRoute } from '../openapi/route.js';
import { metricsRoute, type MetricsContext } from '../observe/metrics/metrics-route.js';
import { v1Route } from '../../protocols/tfserving/rest.js';
import { v2Route, type V2Context } from '../../protocols/v2/rest.js';
import { logged } from '../../listeners/http/answer-log.js';
import type { Cut } from '../../listeners/cut.js';
import type { HttpListener, Route, Router, Surroundings } from '../../listeners/http/listener.js';
import { KeyedRouters, KeyView, type ModelView } from './key-views.js';
import { runListener, type ListenerThread } from './listener-thread.js';
import type { AdminSettings, GrpcSettings, HttpSettings } from './messages.js';

/**
 * Receive buffer size: the kernel doubles it, and counts its own overhead. uWebSockets.js reads a
 * connection while 524,288 bytes are available: with less it reads once per event-loop iteration.
 * The value is Linux's default maximum, so it is not reduced there.
 */
const RECEIVE_BYTES = 212_992;
const V1_PREFIX = /^\/v1\//i;

// Maximum bytes of responses that clients of one listener in the addon have not read yet.
function unsentBytesMax({ memoryLimitBytes }: HttpSettings): number {
  return Math.floor(memoryLimitBytes / 2);
}

// The addon's threads serve what the engine can serve without JavaScript.
async function nativeListener(
  thread: ListenerThread,
  settings: HttpSettings,
  router: Router,
  surroundings: Surroundings,
): Promise<HttpListener> {
  const { NativeHttpListener } = await import('../../listeners/http/native-listener.js');
  return new NativeHttpListener(thread.link, router, thread.report, {
    ...surroundings,
    idleMs: settings.idleMs,
    threads: settings.nativeThreads,
    threadsValue: 'threads_http',
    threadAdded: thread.threadAdded(settings.grpc?.sharesPort === true ? 'HTTP and gRPC' : 'HTTP'),
    reusePort: settings.reusePort,
    ...(settings.grpc?.sharesPort === true && { grpc: settings.grpc.transport }),
    unsentBytesMax: unsentBytesMax(settings),
    connectionsValue: 'connections_http',
    handshakeFailed: thread.handshakeFailed('HTTP'),
  });
}

// Loaded only if used: it has no binary for some Node versions.
async function uwsListener(
  thread: ListenerThread,
  router: Router,
  surroundings: Surroundings,
): Promise<HttpListener> {
  const { UwsListener } = await import('../../listeners/http/uws-listener.js');
  thread.link.serverValue('threads_http', 1, true);
  return new UwsListener(router, thread.report, surroundings);
}

// undefined if HTTP is disabled.
async function httpListener(
  thread: ListenerThread,
  settings: HttpSettings,
  router: Router,
  around: Surroundings,
): Promise<HttpListener | undefined> {
  const { listener: kind, connectionsMax, tls } = settings;
  if (kind === undefined) return undefined;
  const { native } = thread.link;
  const surroundings: Surroundings = {
    ...around,
    connections: { max: connectionsMax, full: thread.full() },
    connected: thread.connected,
    listening: (bound) => native.limitReceive(bound, RECEIVE_BYTES),
    ...(tls && {
      tls: {
        settings: tls,
        changed: thread.certificates('HTTP'),
        expires: thread.expires('http'),
      },
    }),
  };
  const listener =
    kind === 'native'
      ? await nativeListener(thread, settings, router, surroundings)
      : await uwsListener(thread, router, surroundings);
  thread.subscribe((models) => listener.routesChanged(models));
  return listener;
}

// Only one of the threads has it, if there is one.
async function adminListener(
  thread: ListenerThread,
  admin: AdminSettings,
  route: Router,
  settings: HttpSettings,
) {
  const { AdminListener } = await import('./admin-listener.js');
  return new AdminListener(thread, admin, route, unsentBytesMax(settings));
}

// Only one of the threads has it, if it is enabled.
async function nativeGrpc(
  thread: ListenerThread,
  settings: GrpcSettings,
  unanswered: () => Cut['models'],
) {
  const { nativeGrpcListener } = await import('./native-grpc.js');
  return nativeGrpcListener(thread, settings, unanswered);
}

// Models that HTTP requests and forwarded gRPC calls wait for. Both are cut off at the same time,
// so the first caller gets all of them before anything is cancelled.
function unansweredOnce(link: ListenerThread['link']): () => Cut['models'] {
  let isTold = false;
  return () => {
    if (isTold) return {};
    isTold = true;
    return link.unanswered();
  };
}

/** The settings of a route's protocol, for the callers of one entrance. */
type RouteContext = V2Context & MetricsContext & { readonly console: boolean };

function routeIn(view: ModelView, context: RouteContext, method: string, path: string): Route {
  return (
    metricsRoute(context, view.snapshot, method, path) ??
    (context.console ? consoleRoute(method, path) : undefined) ??
    openApiRoute(context, method, path) ??
    framesRoute(context, view, method, path) ??
    generateRoute(context, view, method, path) ??
    explainRoute(context, view, method, path) ??
    (V1_PREFIX.test(path)
      ? v1Route(context, view, method, path)
      : v2Route(context, view, method, path))
  );
}

void runListener<HttpSettings>(async (thread, settings) => {
  const { link } = thread;
  const held = new LinkHeldBytes(link);
  const contextOf = (entrance: Entrance, view: ModelView): RouteContext => {
    const control = view.limited(thread.control.seenBy(() => seesPaths(thread.policy, entrance)));
    return { ...settings, link: view.link, control, readings: view.readings, held };
  };
  const cors = settings.cors && new Cors(settings.cors);
  const routerOf = (entrance: Entrance): Router => {
    const context = contextOf(entrance, thread);
    const keyed = new KeyedRouters(thread, (caller) => {
      const view = new KeyView(thread, caller);
      const ofKey = contextOf(entrance, view);
      return (method, path) => routeIn(view, ofKey, method, path);
    });
    const at = entrance === 'admin' ? (settings.admin?.host ?? '') : settings.host;
    const hosts = HostCheck.of(at, settings.allowedHosts);
    return (method, path) => {
      const { policy, refused, log } = thread;
      const route = routeIn(thread, context, method, path);
      const routeOf: RouteOf = (caller) => keyed.find(caller, method, path);
      const checked = locked(route, policy, entrance, refused, cors, hosts, routeOf);
      return logged(withCors(checked, cors, method), method, path, log);
    };
  };
  const unanswered = unansweredOnce(link);
  const listener = await httpListener(thread, settings, routerOf('http'), {
    held,
    keep: (body) => link.keepAnswer(body),
    unanswered,
    ...(thread.log && { log: thread.log }),
  });
  const admin =
    settings.admin && (await adminListener(thread, settings.admin, routerOf('admin'), settings));
  const grpc = settings.grpc && (await nativeGrpc(thread, settings.grpc, unanswered));
  const policyChanged = async (): Promise<void> => {
    if (grpc === undefined) return;
    const { accessOf } = await import('./grpc-services.js');
    grpc.setAccess(accessOf(thread));
  };
  return {
    listen: async () => {
      const ownGrpcPort = grpc?.start();
      try {
        const httpPort = await listener?.listen(settings.host, settings.port);
        const grpcPort = settings.grpc?.sharesPort === true ? httpPort : ownGrpcPort;
        const adminPort = await admin?.listen();
        return {
          ...(httpPort !== undefined && { httpPort }),
          ...(grpcPort !== undefined && { grpcPort }),
          ...(adminPort !== undefined && { adminPort }),
        };
      } catch (error) {
        // A failed thread must not end while uWebSockets.js listens: that aborts the process.
        await Promise.all([listener?.drain(0), admin?.drain(0)]);
        throw error;
      }
    },
    drain: async (seconds) => {
      const [http, cut] = await Promise.all([
        listener?.drain(seconds),
        grpc?.drain(seconds),
        admin?.drain(seconds),
      ]);
      return { ...(http && { http }), ...(cut && { grpc: cut }) };
    },
    reloadCertificates: () => {
      listener?.reloadCertificates();
      admin?.reloadCertificates();
      grpc?.reloadCertificates();
    },
    policyChanged,
  };
});
