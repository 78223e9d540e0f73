// Modules of Node that few servers need, loaded when they are used: node:crypto and node:tls take
// some milliseconds of the start of each thread that imports them. Any thread.
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

let crypto: typeof import('node:crypto') | undefined;

/** Asked for by requests too: found once. */
export const lateCrypto = (): typeof import('node:crypto') =>
  (crypto ??= load('node:crypto') as typeof import('node:crypto'));

export const lateTls = (): typeof import('node:tls') =>
  load('node:tls') as typeof import('node:tls');
