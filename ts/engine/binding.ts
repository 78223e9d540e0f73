// Loads the addon and names its calls. Both planes, every JavaScript thread (each gets its own port
// to the engine, of which there is one per process). Only types are imported at import time.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { ErrorCode, ServalError, reasonOf } from '../base/errors.js';
import type { AttachOptions } from '../base/generated/attach-options.js';
import { installedRuntime } from './gpu-folder.js';
import {
  BASELINE_ADDON,
  addonsFor,
  glibcVersion,
  libraryRefusal,
  refusal,
  thisMachine,
  type Machine,
} from './machine.js';
import { nativeFilesRemedy, packageRoot, shippedFile } from '../base/package-files.js';

/** Rows of native/stats/server_stats.cc that JavaScript sets. */
export type ServerValue =
  | `refused_${'access' | 'not_found' | 'not_ready' | 'body_too_large' | 'malformed' | 'other'}`
  | 'connections_http'
  | 'threads_http'
  | `certificate_${'http' | 'grpc' | 'admin'}`
  | `problems_${'unserved' | 'warning' | 'note'}`
  | 'looks'
  | `demand_${'served' | 'loaded' | 'bytes' | 'loads'}`
  | `demand_${'failures' | 'refusals' | 'evictions'}`;

/** An image's pixels row by row, from the top; channels interleaved. */
export interface DecodedImage {
  readonly width: number;
  readonly height: number;
  /** 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha. */
  readonly channels: number;
  /** 0 to 255, or to 65535 for 16-bit PNGs. */
  readonly data: Uint8Array | Uint16Array;
}

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
  /**
   * Limits the unread bytes that the kernel holds for each new connection of this process's sockets
   * that listen on `port`; returns how many sockets there are.
   */
  limitReceive(port: number, bytes: number): number;
  /** JSON of native/addon/gpu_probe.h. */
  probeDriver(): string;
  /** "", or why the loader can't open this path or name. */
  probeLibrary(path: Buffer): string;
  /** Takes a FileLock of native/addon/file_lock.h, held until the descriptor is closed. */
  lockFile(descriptor: number): number;
  /**
   * Decodes a PNG or JPEG file, on this thread; returns its pixels in new memory, or the reason why
   * it can't be decoded, with format and byte. See native/operators/images/image_file.h.
   */
  decodeImage(file: Buffer, pixelsMax: number): DecodedImage | string;
  /**
   * Returns how many more threads the process can start, at most `wanted`; the trial threads end
   * again.
   */
  startableThreads(wanted: number): number;
  /** Sets idle or normal priority of a thread of this process; false: not permitted. */
  threadPriority(thread: number, idle: boolean): boolean;
  /**
   * Opens the load client of `serval bench`: a number from 1 on; 0: failed. Objects:
   * ts/cli/bench/load/native-client.ts.
   */
  clientOpen(target: object, told: (problem?: string, result?: object) => void): number;
  /** `order`: {traffic, plan} opens connections for a load, {begins} starts it. */
  clientOrder(client: number, order: object): void;
  clientClose(client: number): void;
  /** Keeps the answer that is being delivered until cancel(). */
  keepAnswer(ticket: number): boolean;
  mapSlot(slot: number): ArrayBuffer;
  load(spec: Uint8Array): number;
  unload(handle: number): number;
  publishRoutes(table: Uint8Array): number;
  publishCallers(table: Uint8Array): number;
  /** Sets the caller of the requests that are submitted next; 0 = none. */
  setCaller(number: number): void;
  /** The link's ticket is the handle. */
  reserveModel(spec: Uint8Array): number;
  putModel(handle: number, place: number): number;
  evictModel(handle: number): number;
  refuseModel(handle: number, code: number, message: Buffer): number;
  /** Completes with handles, as u32. */
  takeAsked(): number;
  /** Statistics of these models; empty = all. */
  stats(handles: Uint32Array): number;
  metrics(kind: number): number;
  warmUp(handle: number, protocol: number, message: Uint8Array): number;
  unanswered(): number;
  takeAccessLog(): number;
  /** Sets the trace headers of the request that is submitted next. */
  traceParent(parent: Buffer, state: Buffer): void;
  setTraces(rules: Uint8Array): number;
  /** `lost`: how many of the traces taken before were lost. */
  takeTraces(lost: number): number;
  /** `statuses`: AccessLogSettings.statuses of native/stats/access_log.h, as u16. */
  setAccessLog(oneIn: number, errorsOnly: boolean, reasons: boolean, statuses: Buffer): void;
  /** Adds lines for requests that JavaScript answered itself. */
  addAccessLog(lines: Buffer): void;
  /** Sets a value of native/stats/server_stats, or adds to it. */
  serverValue(name: ServerValue, value: number, adds: boolean): void;
  takeRequestLog(written: number, unwritten: number, formless: number, stopped: number): number;
  setRequestLog(rates: Uint8Array): number;
  /** Starts this thread's gRPC listener; returns the port. `options`: NativeGrpcOptions. */
  grpcStart(options: object, onEvents: () => void): number;
  /** Returns the events since the last call; empty = none. */
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
  httpForget(part: number): void;
  httpStop(): void;
  /** The same calls for a second, admin listener. */
  adminStart(options: object, onEvents: () => void): number;
  adminTake(): number;
  adminSend(thread: number, request: number, command: number, value: number, bytes: Buffer): void;
  adminDrain(ms: number): void;
  adminReloadCertificates(): void;
  adminForget(part: number): void;
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
  /** Unregisters one region, or all of the kind if the name is empty. `cuda`: 0 or 1. */
  unregisterRegion(name: Buffer, cuda: number): number;
  /** JSON: a list of one region, or of all of the kind if the name is empty. */
  regions(name: Buffer, cuda: number): number;
  /** `command`: the arguments of the process, separated by NUL. */
  loadIsolated(spec: Uint8Array, group: Buffer, command: Buffer): number;
  /** JSON: the deaths since the last call, and the reloads after them that failed. */
  takeIsolated(): number;
  /** Why a loaded version cannot run now because its process is down; empty: it can. */
  isolatedOutage(model: Buffer, version: Buffer): number;
  /** Called inside such a process: serves the model until its server exits. */
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
/** The addons' folder in a checkout. */
const BUILT = 'build/Release';

/** Returns the addon's path, whether the file exists or not. */
export function addonPath(machine: Machine = thisMachine()): string {
  const forced = process.env['SERVAL_ADDON'];
  if (forced !== undefined) return forced;
  const names = addonsFor(machine);
  const found = names.map((name) => shippedFile(name, `${BUILT}/${name}`));
  return found.find((path) => path !== undefined) ?? join(packageRoot(), BUILT, names[0] ?? '');
}

// Returns what to do about an addon that does not load.
function addonRemedy(path: string): string {
  if (basename(path) !== BASELINE_ADDON || existsSync(path)) return nativeFilesRemedy();
  return 'it is for x86-64 CPUs without AVX2: run `make build-baseline`';
}

/**
 * Loads the addon. Throws ServalError(RuntimeUnavailable): why this machine cannot run one, or the
 * file and the remedy.
 */
export function loadBinding(): NativeBinding {
  const machine = thisMachine();
  const refused = refusal(machine);
  if (refused !== undefined) throw new ServalError(ErrorCode.RuntimeUnavailable, refused);
  const path = addonPath(machine);
  try {
    return createRequire(import.meta.url)(path) as NativeBinding;
  } catch (error) {
    const reason = reasonOf(error);
    const remedy = libraryRefusal(glibcVersion(), reason);
    throw new ServalError(
      ErrorCode.RuntimeUnavailable,
      remedy ?? `cannot load the native addon ${path}: ${reason} (${addonRemedy(path)})`,
    );
  }
}

/**
 * Returns the path of ONNX Runtime's library: the setting, SERVAL_ORT_LIBRARY, the one of `serval
 * gpu install` where a GPU is possible, or onnxruntime-node's (in a package: its copy). Empty if
 * none exists: loading an ONNX model then reports it.
 */
export function onnxruntimeLibrary(setting: string | undefined): string {
  const wanted = setting ?? process.env['SERVAL_ORT_LIBRARY'];
  if (wanted !== undefined && wanted !== '') return wanted;
  const ofGpu = installedRuntime();
  if (ofGpu !== undefined) return ofGpu;
  const place = `${process.platform}/${process.arch}/${ORT_NAME}`;
  return shippedFile(ORT_NAME, `node_modules/onnxruntime-node/bin/napi-v6/${place}`) ?? '';
}
