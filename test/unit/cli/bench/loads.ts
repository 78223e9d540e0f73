// Shared parts of the load client's tests: schedules, a request, and a run against a Node server.
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { NativeClient, type NativeResult } from '../../../../ts/cli/bench/load/native-client.js';
import {
  now,
  type LoadSchedule,
  type LoadRequest,
  type ServerTarget,
} from '../../../../ts/cli/bench/load/sender.js';

const SCHEDULE: LoadSchedule = {
  loop: 'closed',
  concurrency: 1,
  rate: 0,
  warmupMs: 0,
  measureMs: 0,
  graceMs: 5000,
  arrivals: 'constant',
  seed: 1,
};

export const requestOf = (body: Uint8Array, more: Partial<LoadRequest> = {}): LoadRequest => ({
  path: '/x',
  fields: [],
  body,
  jsonBytes: -1,
  ...more,
});

/** Starts the server and returns its port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Returns a port without a listener. */
export async function freePort(server: Server): Promise<number> {
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  return port;
}

export const targetOf = (
  kind: ServerTarget['kind'],
  port: number,
  more: Partial<ServerTarget> = {},
): ServerTarget => ({ kind, host: '127.0.0.1', port, tlsCa: undefined, ...more });

/** Runs a schedule and returns its result. */
export async function runSchedule(
  client: NativeClient,
  request: LoadRequest,
  schedule: Partial<LoadSchedule>,
): Promise<NativeResult> {
  await client.prepare(request, { ...SCHEDULE, ...schedule });
  return client.go(now());
}
