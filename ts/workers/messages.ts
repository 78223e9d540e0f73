// What the main thread and the listeners' worker threads say to each other. Control plane.
import type { ControlAnswer, ControlRequest } from '../admin/remote-control.js';
import type { LogFormat, LogLevel, LogSwitches } from '../logger.js';
import type { HttpListenerKind } from '../transport/http-kind.js';
import type { SnapshotChange } from '../registry/snapshot-build.js';
import type { Cut } from '../transport/listener.js';

/** What every worker is started with. */
export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  /** Of this listener; more are refused. */
  readonly connectionsMax: number;
  readonly serverVersion: string;
  readonly bodyBytesMax: number;
  readonly jsonDepthMax: number;
  /** What requests and answers may hold in all. */
  readonly memoryLimitBytes: number;
  readonly intraOpThreads: number;
  readonly onnxruntimeLibrary: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** False: nothing is counted, and no path answers metrics. */
  readonly metricsAllowed: boolean;
  /** How long a REST request may take before it is answered DeadlineExceeded; 0 = any time. */
  readonly restTimeoutUs: number;
  readonly tfTensorContent: boolean;
  readonly tfCheckMethod: boolean;
}

export interface HttpSettings extends ListenerSettings {
  readonly listener: HttpListenerKind;
  readonly healthBody: 'json' | 'empty';
  readonly inflatedBytesMax: number;
  /** Where TensorFlow Serving's metrics are; "" = off. */
  readonly monitoringPath: string;
}

export interface GrpcSettings extends ListenerSettings {
  /** Of requests (compressed ones count unpacked) and of answers. */
  readonly messageBytesMax: number;
}

/** Acknowledged by its id. `confirmed`: every listener has acknowledged the snapshot of this epoch,
 * so that what serves in it may be said to be ready. */
export type SnapshotMessage = { readonly id: number } & (
  | { readonly kind: 'snapshot'; readonly change: SnapshotChange }
  | { readonly kind: 'confirmed'; readonly epoch: number }
);

export type ToWorker =
  | SnapshotMessage
  | { readonly kind: 'log-switches'; readonly switches: LogSwitches }
  | ControlAnswer
  | { readonly kind: 'drain'; readonly seconds: number };

export type FromWorker =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: number; readonly message: string }
  | { readonly kind: 'acknowledged'; readonly id: number }
  | ControlRequest
  /** `cut`: requests that were begun and not answered. */
  | { readonly kind: 'drained'; readonly cut: Cut };
