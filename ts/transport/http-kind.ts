// Which of the HTTP listeners a server has. Control plane, main thread, at start.
import { ErrorCode, ServalError } from '../errors.js';
import type { ServerTls } from './tls/settings.js';
import { uwsFile } from './uws-binding.js';

export const HTTP_LISTENERS = ['auto', 'native', 'uws', 'node'] as const;
/** The choice of --http-listener; auto: the addon's, where it was built; else uWebSockets.js, where
 * it has a binary for the Node that runs; else node:http. */
export type HttpListenerChoice = (typeof HTTP_LISTENERS)[number];
export type HttpListenerKind = Exclude<HttpListenerChoice, 'auto'>;

/** Whether several listeners of node:http can share a port: Node 22.12 and from 23.1 on. */
export function sharesPorts(version = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/** What of TLS uWebSockets.js has not, as the flag that asks for it; undefined = nothing. */
export function tlsOnNodeOnly(tls: ServerTls | undefined): string | undefined {
  if (tls?.clientRequired === true) return 'client certificates (--tls-client-ca)';
  if (tls?.minVersion === 'TLSv1.3') return '--tls-min-version 1.3';
  return undefined;
}

/** What is asked of the HTTP listener. */
export interface HttpListenerNeeds {
  readonly threads: number;
  readonly tls?: ServerTls | undefined;
  /** Whether other processes share its port. */
  readonly reusePort?: boolean;
}

/** Errors: InvalidArgument where the choice cannot work on this Node, or not with this TLS. */
export function chooseHttpListener(
  choice: HttpListenerChoice,
  { threads, tls, reusePort = false }: HttpListenerNeeds,
  found = uwsFile() !== undefined,
  shares = sharesPorts(),
  native = false,
): HttpListenerKind {
  if (choice === 'native' && !native) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      '--http-listener: expected auto, uws or node, got native: the addon was built without its ' +
        'own listeners (node-llhttp, libnghttp2-dev or libssl-dev was missing)',
    );
  }
  if (choice === 'native' || (choice === 'auto' && native)) return 'native';
  const strict = tlsOnNodeOnly(tls);
  const kind = choice === 'auto' ? (found && strict === undefined ? 'uws' : 'node') : choice;
  const { version, versions } = process;
  if (kind === 'uws' && strict !== undefined) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `--http-listener: expected node or auto with ${strict}, got uws: uWebSockets.js has no such ` +
        'setting',
    );
  }
  if (kind === 'uws' && !found) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `--http-listener: expected node: uWebSockets.js has no binary for Node ${version} ` +
        `(ABI ${versions.modules})`,
    );
  }
  const asked =
    threads > 1
      ? `--http-threads: expected 1, got ${threads},`
      : '--reuse-http-port: expected false, got true,';
  if (kind === 'node' && (threads > 1 || reusePort) && !shares) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${asked} with --http-listener node on Node ${version}: listeners of node:http share a ` +
        'port from Node 22.12 on',
    );
  }
  return kind;
}
