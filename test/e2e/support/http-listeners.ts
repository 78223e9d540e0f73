// Runs a suite over the HTTP listener of the addon and the one on uWebSockets.js. (What node:http does
// by itself is in resilience/node-listener.test.ts; behind uWebSockets.js's front it serves here too.) Test time only.
import { describe } from 'node:test';
import type { HttpListenerKind } from '../../../ts/transport/http-kind.js';
import { uwsFile } from '../../../ts/transport/uws-binding.js';

/** `suite` is called once for each listener, with the flags that make a server have it. */
export function overListeners(
  name: string,
  suite: (flags: readonly string[], kind: HttpListenerKind) => void,
): void {
  for (const kind of ['native', 'uws'] as const) {
    const skip = kind === 'uws' && uwsFile() === undefined && 'no uWebSockets.js for this Node';
    describe(`${name} (${kind})`, { skip }, () => suite(['--http-listener', kind], kind));
  }
}
