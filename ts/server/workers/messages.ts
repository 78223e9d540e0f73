// Messages between the main thread and the listeners' worker threads. Control plane.
import type { CorsSettings } from '../../listeners/http/access/cors.js';
import type { Policy } from '../../access/policy.js';
import type { AdminAddress } from '../../config/access.js';
import type { ControlAnswer, ControlRequest } from '../admin/control-proxy.js';
import type { AccessLogSettings } from '../../config/config.js';
import type { LogFormat, LogLevel, LogSwitches } from '../../base/logger.js';
import type { HttpListenerKind } from '../../listeners/http/kind.js';
import type { EngineOptions } from '../../engine/open-link.js';
import type { SnapshotChange } from '../../models/registry/snapshot-build.js';
import type { GrpcTransportSettings } from '../../listeners/grpc/settings.js';
import type { Cut } from '../../listeners/cut.js';
import type { ThreadRange } from '../../listeners/threads.js';
import type { ServerTls } from '../../listeners/tls/settings.js';

/** Start settings of every worker. */
export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  /** Connection limit of this listener; more are refused. */
  readonly connectionsMax: number;
  readonly serverVersion: string;
  /** Clients may register shared memory. */
  readonly clientShm: boolean;
  /** Clients may also register GPU memory. */
  readonly cudaShm?: boolean;
  /** The thread attaches to the engine by these. */
  readonly engine: EngineOptions;
  readonly bodyBytesMax: number;
  /** Memory that requests and responses may use in total. */
  readonly memoryLimitBytes: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** undefined: stderr. */
  readonly logFile: string | undefined;
  /** false: nothing is counted, and no path serves metrics. */
  readonly metricsAllowed: boolean;
  /** Absent: the access log is disabled. */
  readonly accessLog?: AccessLogSettings;
  /** The initial access policy; messages replace it. */
  readonly policy: Policy;
}

/** Settings of the thread that has the admin address. */
export interface AdminSettings extends AdminAddress {
  readonly tls?: ServerTls;
  /** File mode of a unix socket. */
  readonly socketMode: number;
}

export interface HttpSettings extends ListenerSettings {
  /** undefined: there is no HTTP port; the thread has other listeners. */
  readonly listener: HttpListenerKind | undefined;
  readonly healthBody: 'json' | 'empty';
  readonly inflatedBytesMax: number;
  /** --allowed-hosts. */
  readonly allowedHosts: readonly string[];
  /** Connections without a request are closed after this time. */
  readonly idleMs: number;
  /** Threads of a native listener, and whether other processes share its port. */
  readonly nativeThreads: ThreadRange;
  readonly reusePort: boolean;
  /** The console is enabled. */
  readonly console: boolean;
  /** Path of TensorFlow Serving's metrics; "" = disabled. */
  readonly monitoringPath: string;
  readonly tls?: ServerTls;
  /** Applies to both HTTP listeners; absent: pages of other origins are refused. */
  readonly cors?: CorsSettings;
  /** Set for the thread that has the gRPC listener. */
  readonly grpc?: GrpcSettings;
  /** Set for the thread that has the admin address. */
  readonly admin?: AdminSettings;
}

export interface GrpcSettings extends ListenerSettings {
  readonly transport: GrpcTransportSettings;
  /** HTTP uses this port too. */
  readonly sharesPort: boolean;
}

/**
 * Acknowledged by its id, once the thread's listeners apply it. `confirmed`: every listener has
 * acknowledged the snapshot of this epoch; its serving versions may be reported as ready.
 */
export type AcknowledgedMessage = { readonly id: number } & (
  | { readonly kind: 'snapshot'; readonly change: SnapshotChange }
  | { readonly kind: 'confirmed'; readonly epoch: number }
  | { readonly kind: 'policy'; readonly policy: Policy }
);

export type ToWorker =
  | AcknowledgedMessage
  | { readonly kind: 'log-switches'; readonly switches: LogSwitches }
  | ControlAnswer
  /** Requests a reload of the TLS files. */
  | { readonly kind: 'reload-certificates' }
  | { readonly kind: 'drain'; readonly seconds: number };

/** Ports of a thread's listeners. */
export interface Ports {
  readonly httpPort?: number;
  readonly grpcPort?: number;
  readonly adminPort?: number;
}

/** Requests of a thread's listeners that were begun and not answered. */
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
