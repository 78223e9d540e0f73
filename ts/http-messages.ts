// What the main thread and the HTTP listeners' worker threads say to each other. Control plane.
import type { LogFormat, LogLevel } from './logger.js';
import type { RegistrySnapshot } from './registry/snapshot.js';

/** What a worker is started with. */
export interface WorkerSettings {
  readonly host: string;
  readonly port: number;
  readonly serverVersion: string;
  readonly healthBody: 'json' | 'empty';
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
  readonly jsonDepthMax: number;
  readonly intraOpThreads: number;
  readonly onnxruntimeLibrary: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

export type ToWorker =
  | { readonly kind: 'snapshot'; readonly snapshot: RegistrySnapshot }
  | { readonly kind: 'drain'; readonly seconds: number };

export type FromWorker =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: number; readonly message: string }
  | { readonly kind: 'acknowledged'; readonly epoch: number }
  | { readonly kind: 'drained' };
