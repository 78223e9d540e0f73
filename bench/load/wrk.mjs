// A closed-loop HTTP load from wrk: one thread, N connections, one fixed request. Control plane;
// the load runs in wrk's own process on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../children.mjs';
import { schemeOf } from '../check.mjs';
import { serverCpuNs } from '../machine.mjs';

const SPARE_MS = 20_000;

/** The Lua script: the request, its body (if it has one) from a file, the summary as one JSON line.
 * Pure. */
export function wrkScript(request, bodyPath) {
  const headers = Object.entries(request.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`,
  );
  const body =
    request.body === undefined
      ? ''
      : `
local file = assert(io.open(${lua(bodyPath)}, 'rb'))
wrk.body = file:read('*a')
file:close()
`;
  return `${body.trimStart()}wrk.method = ${lua(request.method)}
${headers.join('\n')}
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"us":%d,"bytes":%.0f,"errors":{"connect":%d,"read":%d,'
    .. '"write":%d,"status":%d,"timeout":%d},"p50":%.0f,"p99":%.0f,"p999":%.0f}\\n',
    summary.requests, summary.duration, summary.bytes, e.connect, e.read, e.write, e.status,
    e.timeout, latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
`;
}

function lua(text) {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

/** Parses wrk's output into a sample. Throws if any request failed or none was answered. */
export function parseWrk(output) {
  const line = output.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk printed no summary:\n${output}`);
  const summary = JSON.parse(line);
  const failed = Object.entries(summary.errors).filter(([, count]) => count > 0);
  if (failed.length > 0) throw new Error(`wrk: failed requests: ${JSON.stringify(summary.errors)}`);
  if (summary.requests === 0) throw new Error('wrk: no request was answered');
  return {
    perSecond: (summary.requests * 1e6) / summary.us,
    usPerRequest: summary.us / summary.requests,
    p50Us: summary.p50,
    p99Us: summary.p99,
    p999Us: summary.p999,
    requests: summary.requests,
    bytesPerAnswer: summary.bytes / summary.requests,
  };
}

/**
 * Prepares a load on `server` ({host, port, pid}) of `request` ({method, path, headers, body}).
 * Returns measure(seconds) -> sample, with the server's CPU time per request. Whole seconds.
 */
export function wrkLoad(context, server, request, connections) {
  const stem = join(context.tempDir, `wrk-${context.nextId()}`);
  if (request.body !== undefined) writeFileSync(`${stem}.body`, request.body);
  writeFileSync(`${stem}.lua`, wrkScript(request, `${stem}.body`));
  const url = `${schemeOf(server)}://${server.host}:${server.port}${request.path}`;
  return async (seconds) => {
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', `${stem}.lua`, url];
    const before = serverCpuNs(server);
    const output = await runToEnd('wrk', args, context.cores.load, seconds * 1000 + SPARE_MS);
    const cpuNs = serverCpuNs(server) - before;
    const sample = parseWrk(output);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}
