// What the main thread and the listeners' worker threads say to each other. Control plane.
import type { CorsSettings } from '../../listeners/http/access/cors.js';
import type { Policy } from '../../access/policy.js';
import type { AdminAddress } from '../../config/access.js';
import type { ControlAnswer, ControlRequest } from '../admin/remote-control.js';
import type { AccessLogSettings } from '../../config/config.js';
import type { LogFormat, LogLevel, LogSwitches } from '../../base/logger.js';
import type { HttpListenerKind } from '../../listeners/http/kind.js';
import type { EngineOptions } from '../../engine/open-link.js';
import type { SnapshotChange } from '../../models/registry/snapshot-build.js';
import type { GrpcTransportSettings } from '../../listeners/grpc/settings.js';
import type { Cut } from '../../listeners/cut.js';
import type { ServerTls } from '../../listeners/tls/settings.js';

/** What every worker is started with. */
export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  /** Of this listener; more are refused. */
  readonly connectionsMax: number;
  readonly serverVersion: string;
  /** Clients may register shared memory. */
  readonly clientShm: boolean;
  /** Of GPUs too. */
  readonly cudaShm?: boolean;
  /** The thread attaches to the engine by these. */
  readonly engine: EngineOptions;
  readonly bodyBytesMax: number;
  /** Bytes that all requests and responses together may hold. */
  readonly memoryLimitBytes: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** undefined: stderr. */
  readonly logFile: string | undefined;
  /** False: nothing is counted, and no path answers metrics. */
  readonly metricsAllowed: boolean;
  /** Absent: there is no access log. */
  readonly accessLog?: AccessLogSettings;
  /** Who may call what, until it is told anew. */
  readonly policy: Policy;
}

/** Of the thread that has the admin address. */
export interface AdminSettings extends AdminAddress {
  readonly tls?: ServerTls;
  /** Of a unix socket's file. */
  readonly socketMode: number;
}

export interface HttpSettings extends ListenerSettings {
  /** undefined: there is no HTTP port; the thread has other listeners. */
  readonly listener: HttpListenerKind | undefined;
  readonly healthBody: 'json' | 'empty';
  readonly inflatedBytesMax: number;
  /** --allowed-hosts. */
  readonly allowedHosts: readonly string[];
  /** A connection without a request is closed after so long. */
  readonly idleMs: number;
  /** Threads of a native listener, and whether other processes share its port. */
  readonly nativeThreads: number;
  readonly reusePort: boolean;
  /** The console is served. */
  readonly console: boolean;
  /** Where TensorFlow Serving's metrics are; "" = off. */
  readonly monitoringPath: string;
  readonly tls?: ServerTls;
  /** Of both HTTP listeners; absent: pages of other origins are not let in. */
  readonly cors?: CorsSettings;
  /** Of the thread that has the gRPC listener. */
  readonly grpc?: GrpcSettings;
  /** Of the thread that has the admin address. */
  readonly admin?: AdminSettings;
}

export interface GrpcSettings extends ListenerSettings {
  readonly transport: GrpcTransportSettings;
  /** HTTP's port is this one too. */
  readonly sharesPort: boolean;
}

/** Acknowledged by its id, once the listeners of the thread go by it. `confirmed`: every listener
 * has acknowledged the snapshot of this epoch: what serves in it may be called ready. */
export type AcknowledgedMessage = { readonly id: number } & (
  | { readonly kind: 'snapshot'; readonly change: SnapshotChange }
  | { readonly kind: 'confirmed'; readonly epoch: number }
  | { readonly kind: 'policy'; readonly policy: Policy }
);

export type ToWorker =
  | AcknowledgedMessage
  | { readonly kind: 'log-switches'; readonly switches: LogSwitches }
  | ControlAnswer
  /** TLS files are to be read anew. */
  | { readonly kind: 'reload-certificates' }
  | { readonly kind: 'drain'; readonly seconds: number };

/** Of the listeners that a thread has. */
export interface Ports {
  readonly httpPort?: number;
  readonly grpcPort?: number;
  readonly adminPort?: number;
}

/** Requests that were begun and not answered, of the listeners that a thread has. */
export interface Cuts {
  readonly http?: Cut;
  readonly grpc?: Cut;
}

export type FromWorker =
  | { readonly kind: 'listening'; readonly ports: Ports }
  | { readonly kind: 'failed'; readonly code: number; readonly message: string }
  | { readonly kind: 'acknowledged'; readonly id: number }
  | ControlRequest
  | { readonly kind: 'drained'; readonly cuts: Cuts };
