// Loads the addon and names its calls. Both planes, every JavaScript thread (each gets a port of
// its own; the engine behind is one per process). No work at import time but the types.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ErrorCode, ServalError, reasonOf } from '../base/errors.js';
import type { AttachOptions } from '../base/generated/attach-options.js';
import { installedRuntime } from './gpu-folder.js';
import { packageRoot, shippedFile } from '../base/package-files.js';

/** Of the rows of native/stats/server_stats.cc those that JavaScript knows. */
export type ServerValue =
  | `refused_${'access' | 'not_found' | 'not_ready' | 'body_too_large' | 'malformed' | 'other'}`
  | 'connections_http'
  | `certificate_${'http' | 'grpc' | 'admin'}`
  | `problems_${'unserved' | 'warning' | 'note'}`
  | 'looks';

/** The addon's calls (native/addon/exports.cc). A code is an ErrorCode, or PENDING. */
export interface NativeBinding {
  attach(options: AttachOptions, onCompletions: (count: number) => void): ArrayBuffer;
  infer(protocol: number, handle: number, body: ArrayBuffer, jsonBytes: number): number;
  inferMessage(message: Buffer, protocol: number, timeoutUs: number): number;
  openBody(expectedBytes: number, alignedAt: number): number;
  appendBody(ticket: number, chunk: ArrayBuffer): number;
  inferBody(ticket: number, protocol: number, handle: number, jsonBytes: number): number;
  inferPacked(
    ticket: number,
    protocol: number,
    handle: number,
    jsonBytes: number,
    coding: number,
  ): number;
  countBytes(change: number, refusable: boolean): boolean;
  cancel(ticket: number): boolean;
  /** What lies unread on connections to `port`, of this process's listening sockets; returns how
   * many of those there are. */
  limitReceive(port: number, bytes: number): number;
  /** JSON of native/addon/gpu_probe.h. */
  probeDriver(): string;
  /** "", or why the loader can't open this path or name. */
  probeLibrary(path: Buffer): string;
  /** A FileLock of native/addon/file_lock.h, until the descriptor is closed. */
  lockFile(descriptor: number): number;
  /** How many more threads the process may start, at most `wanted`; they are ended again. */
  startableThreads(wanted: number): number;
  /** Unmaps the pages of code that only the start needed; later calls do nothing. */
  dropStartCode(): void;
  /** The load client of `serval bench`: a number from 1 on; 0: it cannot. Objects:
   * ts/cli/bench/load/native-client.ts. */
  clientOpen(target: object, told: (problem?: string, result?: object) => void): number;
  /** `order`: {traffic, plan} opens connections for a load, {begins} begins it. */
  clientOrder(client: number, order: object): void;
  clientClose(client: number): void;
  /** Until cancel(): the answer that is being handed over. */
  keepAnswer(ticket: number): boolean;
  mapSlot(slot: number): ArrayBuffer;
  load(spec: Uint8Array): number;
  unload(handle: number): number;
  publishRoutes(table: Uint8Array): number;
  /** Of these models; empty = all. */
  stats(handles: Uint32Array): number;
  metrics(kind: number): number;
  warmUp(handle: number, protocol: number, message: Uint8Array): number;
  unanswered(): number;
  takeAccessLog(): number;
  /** The headers of the request that is handed over next. */
  traceParent(parent: Buffer, state: Buffer): void;
  setTraces(rules: Uint8Array): number;
  /** `lost`: of those that were taken before. */
  takeTraces(lost: number): number;
  /** `statuses`: AccessLogSettings.statuses of native/stats/access_log.h, as u16. */
  setAccessLog(oneIn: number, errorsOnly: boolean, reasons: boolean, statuses: Buffer): void;
  /** Lines of what JavaScript answered by itself. */
  addAccessLog(lines: Buffer): void;
  /** Sets a value of native/stats/server_stats, or adds to it. */
  serverValue(name: ServerValue, value: number, adds: boolean): void;
  takeRequestLog(written: number, unwritten: number, formless: number, stopped: number): number;
  setRequestLog(rates: Uint8Array): number;
  /** Starts this thread's gRPC listener: the port. `options`: NativeGrpcOptions. */
  grpcStart(options: object, onEvents: () => void): number;
  /** What happened since the last call; empty = nothing. */
  grpcTake(): number;
  grpcSend(thread: number, call: number, command: number, value: number, bytes: Buffer): void;
  grpcDrain(ms: number): void;
  grpcReloadCertificates(): void;
  grpcAccess(access: object): number;
  grpcStop(): void;
  /** See ts/listeners/http/native-binding.ts. */
  httpStart(options: object, onEvents: () => void): number;
  httpTake(): number;
  httpSend(thread: number, request: number, command: number, value: number, bytes: Buffer): void;
  httpDrain(ms: number): void;
  httpReloadCertificates(): void;
  httpForget(): void;
  httpStop(): void;
  /** The same of a second one. */
  adminStart(options: object, onEvents: () => void): number;
  adminTake(): number;
  adminSend(thread: number, request: number, command: number, value: number, bytes: Buffer): void;
  adminDrain(ms: number): void;
  adminReloadCertificates(): void;
  adminForget(): void;
  adminStop(): void;
  registerRegion(
    name: Buffer,
    key: Buffer,
    offset: number,
    bytes: number,
    regionsMax: number,
  ): number;
  registerCudaRegion(
    name: Buffer,
    handle: Buffer,
    device: number,
    bytes: number,
    regionsMax: number,
  ): number;
  /** One, or all of the kind where the name is empty. `cuda`: 0 or 1. */
  unregisterRegion(name: Buffer, cuda: number): number;
  /** JSON: a list of one, or of all of the kind where the name is empty. */
  regions(name: Buffer, cuda: number): number;
  /** `command`: of the process, its arguments with NUL between. */
  loadIsolated(spec: Uint8Array, group: Buffer, command: Buffer): number;
  /** JSON: the deaths, and the loads after them that failed, since the last call. */
  takeIsolated(): number;
  /** Why a version that is loaded cannot be run now, as its process is down; empty: it can. */
  isolatedOutage(model: Buffer, version: Buffer): number;
  /** In such a process: serves it until its server is gone. */
  runIsolated(
    library: Buffer,
    intraOpThreads: number,
    parent: number,
    pinnedPoolBytes: number,
  ): never;
  detach(): void;
  exitNow(code: number): never;
}

const ORT_NAME = 'libonnxruntime.so.1';

/** The addon's file, whether it is there or not. */
export function addonPath(): string {
  const built = 'build/Release/serval.node';
  return (
    process.env['SERVAL_ADDON'] ?? shippedFile('serval.node', built) ?? join(packageRoot(), built)
  );
}

/** Loads the addon. Throws ServalError(RuntimeUnavailable) naming the file and the remedy. */
export function loadBinding(): NativeBinding {
  const path = addonPath();
  try {
    return createRequire(import.meta.url)(path) as NativeBinding;
  } catch (error) {
    const reason = reasonOf(error);
    throw new ServalError(
      ErrorCode.RuntimeUnavailable,
      `cannot load the native addon ${path}: ${reason} (run \`make build\`)`,
    );
  }
}

/** Where ONNX Runtime's library is: the setting, SERVAL_ORT_LIBRARY, that of `serval gpu install`
 * where a GPU may be, or onnxruntime-node's own (in a package: its copy). Empty when
 * none is there: loading an ONNX model then says so. */
export function onnxruntimeLibrary(setting: string | undefined): string {
  const wanted = setting ?? process.env['SERVAL_ORT_LIBRARY'];
  if (wanted !== undefined && wanted !== '') return wanted;
  const ofGpu = installedRuntime();
  if (ofGpu !== undefined) return ofGpu;
  const place = `${process.platform}/${process.arch}/${ORT_NAME}`;
  return shippedFile(ORT_NAME, `node_modules/onnxruntime-node/bin/napi-v6/${place}`) ?? '';
}
