// gRPC load from the project's own client: at a fixed rate, over streams, over many connections.
// Control plane; the load runs in a separate process on the load core.
import { startServer } from '../children.mjs';
import { grpcFrame } from './h2load.mjs';
import { CLIENT, nativeLoad, scheduleFile, scheduleOf } from './native-load.mjs';

const HOLD_CALLS = 16;

const requestOf = ({ path, message, answerBytes }, judged = 'grpc') => ({
  judged,
  path,
  body: grpcFrame(message),
  responseBytes: answerBytes,
});

/**
 * Prepares a load on `server` ({host, port, pid}) of `call` ({path, message, answerBytes}).
 * `schedule`: {how, connections, count} of scheduleOf(). Returns measure(seconds) -> sample, with
 * the server's CPU time per request.
 */
export function grpcLoad(context, server, call, schedule) {
  const request = requestOf(call, schedule.how === 'streams' ? 'grpc-stream' : 'grpc');
  return nativeLoad(context, server, request, { http2: true, schedule: scheduleOf(schedule) });
}

/** One call at a time on one connection, for slow models. */
export function oneAtATime(context, server, call) {
  return grpcLoad(context, server, call, { how: 'closed', connections: 1, count: 1 });
}

/**
 * Opens `connections` to `server`, makes one call on each and leaves them idle. Resolves to
 * {close()} once they are idle.
 */
export async function holdGrpc(context, server, call, connections) {
  const schedule = { ...scheduleOf({ how: 'closed', connections, count: HOLD_CALLS }) };
  const held = { http2: true, schedule: { ...schedule, requests: connections }, hold: true };
  const args = [CLIENT, scheduleFile(context, server, requestOf(call), held), '0'];
  const isSettled = ({ event, error }) => event === 'ready' || error !== undefined;
  const started = await startServer(process.execPath, args, context.cores.load, isSettled);
  if (started.ready.error !== undefined) throw new Error(`load: ${started.ready.error}`);
  return { close: started.stop };
}
