// Starts the reference servers of this folder, in JavaScript and in C++. Control plane of the
// benchmarks.
import { fileURLToPath } from 'node:url';
import { startServer } from '../children.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const isReady = (line) => line.event === 'ready';

/** Bare uWebSockets.js echo. Resolves to {host, port, pid, ended(), stop()}. */
export function startUwsEcho(context) {
  return startEcho(context, 'uws-echo-server.mjs');
}

/** @grpc/grpc-js echoing raw bytes. Resolves to {host, port, pid, ended(), stop()}. */
export function startGrpcEcho(context) {
  return startEcho(context, 'grpc-echo-server.mjs');
}

/**
 * gRPC's own C++ echoing raw bytes, grpc_echo.cc. Resolves to the same; Skipped without
 * libgrpc++-dev.
 */
export async function startCppGrpcEcho(context) {
  return startProgram(context, await context.program('grpc_echo'), []);
}

function startEcho(context, file) {
  return startProgram(context, process.execPath, [here(file)]);
}

async function startProgram(context, command, args) {
  const server = await startServer(command, args, context.cores.server, isReady);
  const { host, port } = server.ready;
  return { host, port, pid: server.pid, ended: server.ended, stop: server.stop };
}
