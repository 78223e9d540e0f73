// Every call of the addon with arguments of the right types: what the boundary tests run in every
// state of a thread. The compiler asks for a row for each call of NativeBinding.
import type { NativeBinding } from '../../ts/engine/binding.js';
import { V1_PREDICT } from '../../ts/model/request-kinds.js';

export type CallName = keyof NativeBinding;
type Values = readonly unknown[];

const nothing = (): void => undefined;
const text = Buffer.from('text');
const START: Values = [{}, nothing];
const SEND: Values = [0, 1, 0, 0, text];

/** Calls that need no attach: arguments of the right types. */
const UNLINKED = {
  attach: [{}, nothing],
  detach: [],
  exitNow: [0],
  limitReceive: [1, 1],
  probeDriver: [],
  probeLibrary: [text],
  lockFile: [0],
  startableThreads: [0],
  threadPriority: [0x7fff_ffff, true],
  decodeImage: [text, 1],
  clientOpen: [{}, nothing],
  clientOrder: [1, {}],
  clientClose: [1],
  runIsolated: [text, 0, 0, 0],
} satisfies Partial<Record<CallName, Values>>;

/** Calls on the thread's link: they throw before attach and after detach. */
const LINKED: Readonly<Record<Exclude<CallName, keyof typeof UNLINKED>, Values>> = {
  infer: [V1_PREDICT, 1, new ArrayBuffer(1), -1],
  inferMessage: [text, 2, 0],
  openBody: [1, 0],
  appendBody: [1, new ArrayBuffer(1)],
  inferBody: [1, V1_PREDICT, 1, -1],
  inferPacked: [1, V1_PREDICT, 1, -1, 0],
  cancel: [1],
  keepAnswer: [1],
  mapSlot: [0],
  load: [text],
  unload: [1],
  reserveModel: [text],
  putModel: [1, 2],
  evictModel: [1],
  refuseModel: [1, 9, text],
  takeAsked: [],
  publishRoutes: [text],
  publishCallers: [text],
  setCaller: [0],
  stats: [new Uint32Array(0)],
  warmUp: [1, 2, new Uint8Array(0)],
  metrics: [0],
  unanswered: [],
  takeAccessLog: [],
  setAccessLog: [0, false, true, Buffer.alloc(0)],
  addAccessLog: [Buffer.alloc(0)],
  serverValue: ['looks', 1, true],
  registerRegion: [text, text, 0, 1, 8],
  registerCudaRegion: [text, Buffer.alloc(64), 0, 1, 8],
  unregisterRegion: [text, 0],
  regions: [Buffer.alloc(0), 1],
  takeRequestLog: [0, 0, 0, 0],
  setRequestLog: [new Uint8Array(0)],
  traceParent: [text, text],
  setTraces: [text],
  takeTraces: [0],
  countBytes: [0, false],
  loadIsolated: [text, text, text],
  takeIsolated: [],
  isolatedOutage: [text, text],
  grpcStart: START,
  grpcTake: [],
  grpcSend: SEND,
  grpcDrain: [0],
  grpcReloadCertificates: [],
  grpcAccess: [{}],
  grpcStop: [],
  httpStart: START,
  httpTake: [],
  httpSend: SEND,
  httpDrain: [0],
  httpReloadCertificates: [],
  httpForget: [0],
  httpStop: [],
  adminStart: START,
  adminTake: [],
  adminSend: SEND,
  adminDrain: [0],
  adminReloadCertificates: [],
  adminForget: [0],
  adminStop: [],
};

const rowsOf = (table: object): readonly (readonly [CallName, Values])[] =>
  Object.entries(table) as [CallName, Values][];

export const LINKED_CALLS = rowsOf(LINKED);
export const ALL_CALLS = [...LINKED_CALLS, ...rowsOf(UNLINKED)];

/** Calls `name` with arguments of any type. */
export function call(native: NativeBinding, name: CallName, values: Values): unknown {
  return (native[name] as (...all: Values) => unknown)(...values);
}
