// Converts messages to the engine and its answers to and from the tables of engine.fbs. Control
// plane, any thread.
import type {
  Caller,
  EngineStats,
  LoadedModel,
  ModelRoute,
  ModelSpec,
} from '../model/engine-api.js';
import type {
  RequestLogBatch,
  RequestLogRate,
  TraceRules,
  TraceTake,
} from '../base/generated/engine.js';
import {
  CALLER_TABLE,
  ENGINE_STATS,
  MODEL_INFO,
  MODEL_SPEC,
  REQUEST_LOG_BATCH,
  REQUEST_LOG_RATES,
  ROUTE_TABLE,
  TRACE_RULES,
  TRACE_TAKE,
} from './generated/flat-tables.js';
import { readFlatTable, writeFlatTable } from '../model/flat-table.js';

/** Returns ModelSpec bytes; see writeFlatTable() for its errors. */
export function writeModelSpec(spec: ModelSpec): Uint8Array {
  const serverOptions = (spec.providers ?? []).flatMap(({ name, setByServer = [] }) =>
    setByServer.length === 0 ? [] : [{ provider: name, options: setByServer }],
  );
  return writeFlatTable(MODEL_SPEC, serverOptions.length === 0 ? spec : { ...spec, serverOptions });
}

/** Reads the answer to a load. */
export const readModelInfo = (bytes: Uint8Array): LoadedModel => readFlatTable(MODEL_INFO, bytes);

/** EngineStats bytes as an object. */
export const readStats = (bytes: Uint8Array): EngineStats => readFlatTable(ENGINE_STATS, bytes);

/** Returns TraceRules bytes; see writeFlatTable() for its errors. */
export const writeTraceRules = (rules: TraceRules): Uint8Array =>
  writeFlatTable(TRACE_RULES, rules);

/** Reads the answer of takeTraces(). */
export const readTraces = (bytes: Uint8Array): TraceTake => readFlatTable(TRACE_TAKE, bytes);

/** RequestLogRates bytes. */
export const writeLogRates = (rates: readonly RequestLogRate[]): Uint8Array =>
  writeFlatTable(REQUEST_LOG_RATES, { rates });

/** Reads a batch of logged requests. */
export const readLogBatch = (bytes: Uint8Array): RequestLogBatch =>
  readFlatTable(REQUEST_LOG_BATCH, bytes);

/** CallerTable bytes. */
export const writeCallers = (callers: readonly Caller[]): Uint8Array =>
  writeFlatTable(CALLER_TABLE, { callers });

/** RouteTable bytes. */
export function writeRoutes(
  epoch: number,
  models: readonly ModelRoute[],
  removed: readonly string[],
): Uint8Array {
  const there = models.map((model) => ({
    ...model,
    gone: false,
    labels: Object.entries(model.labels).map(([label, version]) => ({ label, version })),
  }));
  const gone = removed.map((name) => ({
    name,
    defaultVersion: -1,
    versions: [],
    labels: [],
    gone: true,
  }));
  return writeFlatTable(ROUTE_TABLE, { epoch, models: [...there, ...gone] });
}
