// The table of the servers themselves. Pure.
import { alignTable } from '../report.mjs';

const MISSING = '-';

/** Release, installed size, time to ready, memory and idle CPU of each server, as a table. */
export function formatServers(servers) {
  const heading = ['server', 'release', 'installed', 'ready', 'memory', 'idle CPU'];
  const lines = servers.map((server) => [
    server.title,
    server.release ?? MISSING,
    server.installMb === undefined ? MISSING : `${Math.round(server.installMb)} MB`,
    `${server.readySeconds.toFixed(1)} s`,
    `${Math.round(server.memoryMb)} MB`,
    `${server.idleCpuPercent.toFixed(1)} %`,
  ]);
  return alignTable([heading, ...lines]);
}
