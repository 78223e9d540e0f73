// Closed loop of gRPC calls on one connection for slow models. Control plane; the client is a
// process of its own (grpc-loop-client.mjs) on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { processCpuNs } from '../machine.mjs';
import { parseClosedLoop } from './closed-loop.mjs';

const CLIENT = fileURLToPath(new URL('grpc-loop-client.mjs', import.meta.url));
const SPARE_MS = 60_000;

/** Prepares `message` to the method `path` of `server` ({host, port, pid}), whose answers have
 * `answerBytes`. Returns measure(seconds) -> sample. */
export function grpcLoop(context, server, { path, message, answerBytes }) {
  const file = join(context.tempDir, `grpc-loop-${context.nextId()}.message`);
  writeFileSync(file, message);
  return async (seconds) => {
    const args = [
      CLIENT,
      server.host,
      String(server.port),
      path,
      file,
      String(answerBytes),
      String(seconds),
    ];
    const before = processCpuNs(server.pid);
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const sample = parseClosedLoop(
      await runToEnd(process.execPath, args, context.cores.load, timeoutMs),
    );
    const cpuNs = processCpuNs(server.pid) - before;
    // The client's first call is not among its latencies.
    return { ...sample, cpuUs: cpuNs / 1000 / (sample.requests + 1) };
  };
}
