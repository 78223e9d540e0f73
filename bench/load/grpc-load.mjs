// gRPC load by grpc_load (grpc_load.cc): at a fixed rate, over streams, over many connections.
// Control plane; the load runs in a process of its own on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, startServer } from '../children.mjs';
import { processCpuNs } from '../machine.mjs';

const SPARE_MS = 60_000;
const LATE_NOTED = 0.1;
const HOLD_CALLS = 16;

/** grpc_load's line -> a sample. Throws with its own words when it failed. `lateUs` is there
 * where the generator was itself late, whose share of the tail is not the server's. Pure. */
export function parseGrpcLoad(output) {
  const line = output.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`grpc_load: no result:\n${output}`);
  const result = JSON.parse(line);
  if (result.error !== undefined) throw new Error(`grpc_load: ${result.error}`);
  const { requests, elapsedUs, p50Us, p99Us, p999Us, lateUs } = result;
  if (requests === 0) throw new Error('grpc_load: no call was answered in the time');
  return {
    perSecond: (requests * 1e6) / elapsedUs,
    usPerRequest: elapsedUs / requests,
    p50Us,
    p99Us,
    p999Us,
    requests,
    ...(lateUs > LATE_NOTED * p99Us ? { lateUs } : {}),
  };
}

function command(context, server, { path, message, answerBytes }, { how, connections, count }) {
  const file = join(context.tempDir, `grpc-load-${context.nextId()}.message`);
  writeFileSync(file, message);
  const target = [server.host, String(server.port), path, file, String(answerBytes)];
  return (seconds) => [how, ...target, String(connections), String(count), String(seconds)];
}

/**
 * Prepares a load on `server` ({host, port, pid}) by `call` ({path, message, answerBytes}). `plan`:
 * {how: 'open' | 'closed' | 'whole' | 'awake' | 'streams', connections, count}, see grpc_load.cc.
 * Returns measure(seconds) -> sample, with the server's CPU time per request.
 */
export function grpcLoad(context, server, call, plan) {
  const argsOf = command(context, server, call, plan);
  return async (seconds) => {
    const program = await context.program('grpc_load');
    const before = processCpuNs(server.pid);
    const timeoutMs = seconds * 1000 + SPARE_MS;
    const output = await runToEnd(program, argsOf(seconds), context.cores.load, timeoutMs);
    const cpuNs = processCpuNs(server.pid) - before;
    const sample = parseGrpcLoad(output);
    return { ...sample, cpuUs: cpuNs / 1000 / sample.requests };
  };
}

/** One call at a time on one connection, for slow models. */
export function oneAtATime(context, server, call) {
  return grpcLoad(context, server, call, { how: 'closed', connections: 1, count: 1 });
}

/** Opens `connections` to `server`, makes one call on each and leaves them idle. Resolves to
 * {close()} once they are. */
export async function holdGrpc(context, server, call, connections) {
  const program = await context.program('grpc_load');
  const plan = { how: 'hold', connections, count: HOLD_CALLS };
  const args = command(context, server, call, plan)(1);
  const isSettled = ({ event, error }) => event === 'ready' || error !== undefined;
  const held = await startServer(program, args, context.cores.load, isSettled);
  if (held.ready.error !== undefined) throw new Error(`grpc_load: ${held.ready.error}`);
  return { close: held.stop };
}
