// Starts Serval itself from a checkout, on ports chosen by the kernel. Control plane.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../children.mjs';

const isReady = (line) => line.event === 'ready';

/**
 * Runs `serval serve` of the checkout `root` with the folders `models`, pinned to the server's core
 * unless `cores` is given; rejects if it is not ready within `readyMsMax`. Resolves to {http, grpc,
 * pid, readyMs, ended(), stop()}.
 */
export async function startServal(context, root, models, { args = [], cores, readyMsMax } = {}) {
  const bin = join(root, 'bin', 'serval.mjs');
  if (!existsSync(bin)) throw new Error(`${bin} is missing: build the checkout first`);
  const server = await startServer(
    process.execPath,
    [
      bin,
      'serve',
      ...models,
      '--host',
      '127.0.0.1',
      '--http-port',
      '0',
      '--grpc-port',
      '0',
      '--log-format',
      'json',
      ...args,
    ],
    cores ?? context.cores.server,
    isReady,
    readyMsMax,
  );
  const { http, grpc } = server.ready;
  const { pid, readyMs, ended, stop } = server;
  return { http, grpc, pid, readyMs, ended, stop };
}
