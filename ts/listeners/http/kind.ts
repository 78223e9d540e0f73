// Chooses the HTTP listener of a server. Control plane, main thread, at start.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ServerTls } from '../tls/settings.js';
import { uwsFile } from './uws-binding.js';

export const HTTP_LISTENERS = ['auto', 'native', 'uws'] as const;
/** The choice of --http-listener; auto: the addon's. */
export type HttpListenerChoice = (typeof HTTP_LISTENERS)[number];
export type HttpListenerKind = Exclude<HttpListenerChoice, 'auto'>;

/** The flag of a TLS feature that uWebSockets.js lacks; undefined = none. */
function missingTls(tls: ServerTls | undefined): string | undefined {
  if (tls?.clientRequired === true) return 'client certificates (--tls-client-ca)';
  if (tls?.minVersion === 'TLSv1.3') return '--tls-min-version 1.3';
  return undefined;
}

/**
 * Errors: InvalidArgument if uWebSockets.js is requested and has no binary for this Node version,
 * or lacks a feature that this TLS configuration needs.
 */
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
