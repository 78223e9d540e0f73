// Loads from the project's own client: gRPC, REST over HTTP/1.1 and over HTTP/2, closed and open
// loops. Control plane; the load runs in a separate process (client.mjs) on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { serverCpuNs } from '../machine.mjs';

export const CLIENT = fileURLToPath(new URL('client.mjs', import.meta.url));
const SPARE_MS = 60_000;
const LATE_NOTED = 0.1;
/** How long responses are awaited after the end: slow models take seconds. */
const GRACE_MS = 10_000;
/**
 * Up to this number of requests in flight, requests that end after the measured time count, and the
 * time is extended until they end.
 */
const FEW = 4;

/**
 * Parses the client's line into a sample. Throws with its message if it failed. `lateUs` is present
 * if the client itself was late; that part of the tail is not the server's. Pure.
 */
export function parseLoad(output) {
  const line = output.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`load: no result:\n${output}`);
  const result = JSON.parse(line);
  if (result.error !== undefined) throw new Error(`load: ${result.error}`);
  const { requests, elapsedUs, p50Us, p99Us, p999Us, lateUs, responseBytes } = result;
  if (requests === 0) throw new Error('load: no request was answered in the time');
  return {
    perSecond: (requests * 1e6) / elapsedUs,
    usPerRequest: elapsedUs / requests,
    p50Us,
    p99Us,
    p999Us,
    requests,
    bytesPerAnswer: responseBytes,
    ...(lateUs > LATE_NOTED * p99Us ? { lateUs } : {}),
  };
}

/**
 * Returns the schedule for `how`:
 *
 * - 'closed': `count` in flight, distributed over the connections;
 * - 'whole': the same, and the time ends with the last response;
 * - 'awake': as closed, without ever sleeping, so that no latency contains a wake-up;
 * - 'streams': `count` streams with one request in flight each;
 * - 'open': `count` requests a second at even distances; latencies start when a request was due.
 *
 * An open loop polls without sleeping unless `spins` is false: clients that share a core sleep.
 * Pure.
 */
export function scheduleOf({ how, connections, count, spins = true }) {
  const isOpen = how === 'open';
  const counts = { connections, connectionsMax: connections, graceMs: GRACE_MS, warmupMs: 0 };
  if (isOpen) {
    const even = { arrivals: 'constant', seed: 1, countsLate: true, spins };
    return { loop: 'open', rate: count, ...even, ...counts };
  }
  const countsLate = how === 'whole' || count <= FEW;
  return { loop: 'closed', concurrency: count, countsLate, spins: how === 'awake', ...counts };
}

/**
 * Writes the schedule file for client.mjs. `server`: {host, port, ca, metadata}; `request`:
 * {judged, method, path, headers, body, responseBytes}. Returns its path.
 */
export function scheduleFile(context, server, request, { http2, schedule, hold = false }) {
  const stem = join(context.tempDir, `load-${context.nextId()}`);
  writeFileSync(`${stem}.body`, request.body ?? '');
  const { host, port, ca, metadata = {} } = server;
  const { judged = 'http', method = 'POST', path, headers = {}, responseBytes } = request;
  const fields = Object.entries({ ...headers, ...metadata }).flatMap(([name, value]) => [
    name.toLowerCase(),
    value,
  ]);
  const file = {
    target: { host, port, http2, ...(ca === undefined ? {} : { tlsCa: String(ca) }) },
    traffic: { judged, method, authority: `${host}:${port}`, path, fields, responseBytes },
    bodyFiles: [`${stem}.body`],
    schedule,
    hold,
  };
  writeFileSync(`${stem}.json`, JSON.stringify(file));
  return `${stem}.json`;
}

/** Prepares a load on `server` ({host, port, pid}). Returns measure(seconds) -> sample, with the
 * server's CPU time per request. */
export function nativeLoad(context, server, request, options) {
  const file = scheduleFile(context, server, request, options);
  return async (seconds) => {
    const before = serverCpuNs(server);
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const args = [CLIENT, file, String(seconds)];
    const output = await runToEnd(process.execPath, args, context.cores.load, timeoutMs);
    const cpuNs = serverCpuNs(server) - before;
    const sample = parseLoad(output);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}
