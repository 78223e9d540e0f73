// Loads of sequences of a recurrent model. Control plane; the load runs in a separate process
// (sequence-client.mjs) on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { serverCpuNs } from '../machine.mjs';
import { parseLoad } from './native-load.mjs';

const CLIENT = fileURLToPath(new URL('sequence-client.mjs', import.meta.url));
const SPARE_MS = 60_000;

/**
 * Prepares a load on `server` ({host, port, pid}); `spec`: that of sequence-client.mjs without the
 * address. Returns measure(seconds) -> sample, with the server's CPU time per step.
 */
export function sequenceLoad(context, server, spec) {
  const file = join(context.tempDir, `sequences-${context.nextId()}.json`);
  const { host, port } = server;
  writeFileSync(file, JSON.stringify({ ...spec, host, port }));
  return async (seconds) => {
    const before = serverCpuNs(server);
    const args = [CLIENT, file, String(seconds)];
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const output = await runToEnd(process.execPath, args, context.cores.load, timeoutMs);
    const cpuNs = serverCpuNs(server) - before;
    const sample = parseLoad(output);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}
