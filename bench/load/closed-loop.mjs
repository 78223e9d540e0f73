// Closed loop on few connections for large bodies and slow answers. Control plane; the client is a
// process of its own (closed-loop-client.mjs) on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { processCpuNs } from '../machine.mjs';
import { percentile } from '../statistics.mjs';

const CLIENT = fileURLToPath(new URL('closed-loop-client.mjs', import.meta.url));
const SPARE_MS = 20_000;

/** {method, path, headers, body} -> the bytes of an HTTP/1.1 request. Pure. */
export function requestBytes(host, request) {
  const lines = [
    `${request.method} ${request.path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${request.body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), request.body]);
}

/** The client's line -> a sample. Throws with the client's own words when it failed. */
export function parseClosedLoop(output) {
  const result = JSON.parse(output);
  if (result.error !== undefined) throw new Error(`closed loop: ${result.error}`);
  const requests = result.latenciesUs.length;
  return {
    perSecond: (requests * 1e6) / result.elapsedUs,
    usPerRequest: result.elapsedUs / requests,
    p50Us: percentile(result.latenciesUs, 50),
    p99Us: percentile(result.latenciesUs, 99),
    p999Us: percentile(result.latenciesUs, 99.9),
    requests,
    bytesPerAnswer: result.answerBytes,
  };
}

/** Prepares `request` on `server` ({host, port, pid}), `connections` at a time. Returns
 * measure(seconds) -> sample. */
export function closedLoopLoad(context, server, request, connections = 1) {
  const path = join(context.tempDir, `closed-loop-${context.nextId()}.request`);
  writeFileSync(path, requestBytes(server.host, request));
  return async (seconds) => {
    const plan = [path, String(seconds), String(connections)];
    const args = [CLIENT, server.host, String(server.port), ...plan];
    const before = processCpuNs(server.pid);
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const output = await runToEnd(process.execPath, args, context.cores.load, timeoutMs);
    const cpuNs = processCpuNs(server.pid) - before;
    const sample = parseClosedLoop(output);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}
