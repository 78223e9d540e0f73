// Which of the HTTP listeners a server has. Control plane, main thread, at start.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ServerTls } from '../tls/settings.js';
import { uwsFile } from './uws-binding.js';

export const HTTP_LISTENERS = ['auto', 'native', 'uws'] as const;
/** The choice of --http-listener; auto: the addon's. */
export type HttpListenerChoice = (typeof HTTP_LISTENERS)[number];
export type HttpListenerKind = Exclude<HttpListenerChoice, 'auto'>;

/** What of TLS uWebSockets.js has not, as the flag that asks for it; undefined = nothing. */
function missingTls(tls: ServerTls | undefined): string | undefined {
  if (tls?.clientRequired === true) return 'client certificates (--tls-client-ca)';
  if (tls?.minVersion === 'TLSv1.3') return '--tls-min-version 1.3';
  return undefined;
}

/** Errors: InvalidArgument where uWebSockets.js is asked for and has no binary for this Node, or
 * not what this TLS needs. */
export function chooseHttpListener(
  choice: HttpListenerChoice,
  tls?: ServerTls,
  found = uwsFile() !== undefined,
): HttpListenerKind {
  if (choice !== 'uws') return 'native';
  const missing = missingTls(tls);
  if (missing !== undefined) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `--http-listener: expected native with ${missing}, got uws: uWebSockets.js has no such ` +
        'setting',
    );
  }
  if (found) return 'uws';
  const { version, versions } = process;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `--http-listener: expected native, got uws: uWebSockets.js has no binary for Node ${version} ` +
      `(ABI ${versions.modules})`,
  );
}
