// Addresses of this machine. Test time only.
import { networkInterfaces } from 'node:os';

/**
 * An IPv4 address of this machine other than loopback: to a server, its clients seem to be on
 * another machine. undefined: it has none.
 */
export function outsideAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find((one) => one.family === 'IPv4' && !one.internal)?.address;
}
