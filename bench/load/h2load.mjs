// gRPC load from h2load: a prepared length-prefixed message over HTTP/2. Control plane; the load
// runs in h2load's own process on the load core.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../children.mjs';
import { schemeOf } from '../check.mjs';
import { serverCpuNs } from '../machine.mjs';
import { percentile } from '../statistics.mjs';

const SPARE_MS = 20_000;
const FRAME_HEADER_BYTES = 5;

/** A gRPC frame: one byte 0 (not compressed), u32 big-endian length, the message. */
export function grpcFrame(message) {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, FRAME_HEADER_BYTES);
  return frame;
}

/**
 * Parses h2load's summary and its log (start us, status, us; one line per request) into a sample.
 * Throws if a request failed, or if the responses are not `answerBytes` long on average: a gRPC
 * error is HTTP 200 without a message, so only its length shows it.
 */
export function parseH2load(output, log, answerBytes) {
  const requests = fields(output, /requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succ/);
  const failures = fields(output, /(\d+) failed, (\d+) errored, (\d+) timeout/);
  const rate = fields(output, /finished in [\d.]+\w+, ([\d.]+) req\/s/)[0];
  const dataBytes = fields(output, /\((\d+)\) data/)[0];
  const statuses = fields(output, /(\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/);
  const succeeded = requests[3];
  if (succeeded === 0) throw new Error(`h2load: no request was answered:\n${output}`);
  if ([...failures, ...statuses.slice(1)].some((count) => count > 0)) {
    throw new Error(`h2load: failed requests:\n${output}`);
  }
  const meanBytes = dataBytes / statuses[0];
  const wanted = answerBytes + FRAME_HEADER_BYTES;
  if (Math.abs(meanBytes - wanted) > 0.02 * wanted) {
    throw new Error(`h2load: responses of ${meanBytes} bytes on average, expected ${wanted}`);
  }
  const latencies = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.split('\t')[2]));
  return {
    perSecond: rate,
    usPerRequest: 1e6 / rate,
    p50Us: percentile(latencies, 50),
    p99Us: percentile(latencies, 99),
    p999Us: percentile(latencies, 99.9),
    requests: succeeded,
  };
}

function fields(output, pattern) {
  const match = pattern.exec(output);
  if (match === null) throw new Error(`h2load: no line like ${pattern.source} in\n${output}`);
  return match.slice(1).map(Number);
}

/**
 * Prepares a load on `server` ({host, port, pid, ca, metadata}): `clients` connections of `streams`
 * concurrent streams, all of which send `message` to the method `path`. Returns measure(seconds) ->
 * sample.
 */
export function h2loadLoad(context, server, { path, message, answerBytes, clients, streams }) {
  const stem = join(context.tempDir, `h2load-${context.nextId()}`);
  writeFileSync(`${stem}.body`, grpcFrame(message));
  const url = `${schemeOf(server)}://${server.host}:${server.port}${path}`;
  const metadata = Object.entries(server.metadata ?? {}).map(
    ([name, value]) => `-H${name}: ${value}`,
  );
  return async (seconds) => {
    rmSync(`${stem}.log`, { force: true });
    const before = serverCpuNs(server);
    const output = await runToEnd(
      'h2load',
      [
        '-t1',
        `-c${clients}`,
        `-m${streams}`,
        `-D${seconds}`,
        `-d${stem}.body`,
        '-Hcontent-type: application/grpc',
        '-Hte: trailers',
        ...metadata,
        `--log-file=${stem}.log`,
        url,
      ],
      context.cores.load,
      seconds * 1000 + SPARE_MS,
    );
    const cpuNs = serverCpuNs(server) - before;
    const sample = parseH2load(output, readFileSync(`${stem}.log`, 'latin1'), answerBytes);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}
