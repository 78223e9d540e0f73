// Runs a suite over the HTTP listener of the addon and the one on uWebSockets.js. Test time only.
import { describe } from 'node:test';
import type { HttpListenerKind } from '../../../ts/listeners/http/kind.js';
import { uwsFile } from '../../../ts/listeners/http/uws-binding.js';

const LISTENERS: readonly HttpListenerKind[] = ['native', 'uws'];

/** `suite` is called once for each listener, with the flags that select it. */
export function overListeners(
  name: string,
  suite: (flags: readonly string[], kind: HttpListenerKind) => void,
): void {
  for (const kind of LISTENERS) {
    const skip = kind === 'uws' && uwsFile() === undefined && 'no uWebSockets.js for this Node';
    describe(`${name} (${kind})`, { skip }, () => suite(['--http-listener', kind], kind));
  }
}
