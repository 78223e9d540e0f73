// Runs a suite over every HTTP listener. Test time only.
import { describe } from 'node:test';
import type { HttpListenerKind } from '../../../ts/transport/http-kind.js';
import { uwsFile } from '../../../ts/transport/uws-binding.js';

/** `suite` is called once for each listener, with the flags that make a server have it. */
export function overListeners(
  name: string,
  suite: (flags: readonly string[], kind: HttpListenerKind) => void,
): void {
  for (const kind of ['uws', 'node', 'native'] as const) {
    const skip = kind === 'uws' && uwsFile() === undefined && 'no uWebSockets.js for this Node';
    describe(`${name} (${kind})`, { skip }, () => suite(['--http-listener', kind], kind));
  }
}
