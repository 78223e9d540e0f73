// Runs a suite over the HTTP listener of the addon and the one on uWebSockets.js. Test time only.
import { describe } from 'node:test';
import type { HttpListenerKind } from '../../../ts/transport/http-kind.js';
import { uwsFile } from '../../../ts/transport/uws-binding.js';

/** `suite` is called once for each listener, with the flags that make a server have it. node:http
 * serves here too, after uWebSockets.js's front; what it does alone is asked for by `kinds`. */
export function overListeners(
  name: string,
  suite: (flags: readonly string[], kind: HttpListenerKind) => void,
  kinds: readonly HttpListenerKind[] = ['native', 'uws'],
): void {
  for (const kind of kinds) {
    const skip = kind === 'uws' && uwsFile() === undefined && 'no uWebSockets.js for this Node';
    describe(`${name} (${kind})`, { skip }, () => suite(['--http-listener', kind], kind));
  }
}
