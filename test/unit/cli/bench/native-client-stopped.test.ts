// The load client in a process that is stopped for longer than the measurement and the wait after
// it: the requests that it then sends late are answered, and none counts as failed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NativeResult } from '../../../../ts/cli/bench/load/native-client.js';
import type { LoadSchedule } from '../../../../ts/cli/bench/load/sender.js';
import { listening } from './loads.js';

const STOPPED_MS = 1500;
const SCHEDULE: Partial<LoadSchedule> = { loop: 'open', rate: 100, measureMs: 400, graceMs: 300 };

/** A program that measures the server at `port` and prints the result. */
const program = (port: number): string => `
  import { NativeClient } from '${new URL('../../../../ts/cli/bench/load/native-client.js', import.meta.url).href}';
  import { requestOf, runSchedule, targetOf } from '${new URL('./loads.js', import.meta.url).href}';
  const client = new NativeClient(targetOf('http', ${port}));
  const result = await runSchedule(client, requestOf(Buffer.from('x')), ${JSON.stringify(SCHEDULE)});
  await client.close();
  console.log(JSON.stringify(result));
`;

test('waits for the responses when its process was stopped', async () => {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    response.end('x');
  });
  const port = await listening(server);
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const printed = text(child.stdout);
    await once(server, 'request');
    child.kill('SIGSTOP');
    await delay(STOPPED_MS);
    child.kill('SIGCONT');
    const { failed, firstError } = JSON.parse(await printed) as NativeResult;
    assert.deepEqual([failed, firstError], [0, undefined]);
    assert.equal(requests, 40);
  } finally {
    child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
  }
});
