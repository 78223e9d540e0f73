// GET over HTTP and HTTPS for package indexes: redirects, names and passwords in URLs, proxies from
// the environment, custom certificates. Control plane; node's own modules.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../../../base/errors.js';
import { echo } from '../../../base/text.js';
import { InstallError } from './install-error.js';

const REDIRECTS_MAX = 10;
/** A connection that receives nothing for this long is closed. */
const SILENT_MS_MAX = 60_000;

export interface WebOptions {
  readonly certificates?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Found {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The final URL, after all redirects. */
  readonly url: URL;
  readonly body: http.IncomingMessage;
}

/** A URL without its password. */
export function shown(url: URL | string): string {
  const copy = new URL(url);
  if (copy.username !== '') [copy.username, copy.password] = ['***', ''];
  return copy.href;
}

/**
 * Follows redirects; the caller handles any other status. The body must be read or destroyed.
 * Errors: InstallError naming the URL and the reason.
 */
export async function get(
  at: string | URL,
  headers: Readonly<Record<string, string>>,
  options: WebOptions,
): Promise<Found> {
  let url = new URL(at);
  let login = loginOf(url);
  for (let turn = 0; turn < REDIRECTS_MAX; turn++) {
    const more = login === undefined ? {} : { authorization: login };
    const body = await asked(url, { ...headers, ...more }, options).catch((error: unknown) => {
      throw unavailable(url, reasonOf(error));
    });
    const status = body.statusCode ?? 0;
    const { location } = body.headers;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
      return { status, headers: body.headers, url, body };
    }
    body.destroy();
    const next = new URL(location, url);
    if (next.origin !== url.origin) login = loginOf(next);
    url = next;
  }
  throw unavailable(url, `more than ${REDIRECTS_MAX} redirects`);
}

/** The whole of a small response. Errors: InstallError; also if it is longer than `bytesMax`. */
export async function textOf({ body, url }: Found, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw new RangeError(`its page is longer than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unavailable(url, reasonOf(error));
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function unavailable(url: URL | string, why: string): InstallError {
  return new InstallError(`${shown(url)}: ${why}`);
}

function loginOf({ username, password }: URL): string | undefined {
  if (username === '') return undefined;
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(plain).toString('base64')}`;
}

async function asked(
  url: URL,
  headers: Readonly<Record<string, string>>,
  options: WebOptions,
): Promise<http.IncomingMessage> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`expected http:// or https://, got ${echo(url.protocol)}`);
  }
  const secure = url.protocol === 'https:';
  const proxy = proxyOf(url, options.env ?? process.env);
  const ca = secure ? trusted(options.certificates) : undefined;
  const plain: http.RequestOptions = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port || (secure ? 443 : 80),
    path: url.pathname + url.search,
    headers: { 'user-agent': 'serval', ...headers },
    agent: false,
  };
  if (proxy !== undefined && secure) {
    const socket = await tunnel(proxy, url);
    const servername = url.hostname;
    const through = tls.connect({ socket: socket as tls.TLSSocket, servername, ...(ca && { ca }) });
    return answered(http.request({ ...plain, createConnection: () => through }));
  }
  if (proxy !== undefined) {
    const login = loginOf(proxy);
    return answered(
      http.request({
        ...plain,
        host: proxy.hostname,
        port: proxy.port || 80,
        path: url.href,
        headers: {
          ...plain.headers,
          host: url.host,
          ...(login && { 'proxy-authorization': login }),
        },
      }),
    );
  }
  return answered(secure ? https.request({ ...plain, ...(ca && { ca }) }) : http.request(plain));
}

function answered(request: http.ClientRequest): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.setTimeout(SILENT_MS_MAX, () => {
      request.destroy(new Error(`nothing received for ${SILENT_MS_MAX / 1000} s`));
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end();
  });
}

/** A connection through an HTTP proxy. */
function tunnel(proxy: URL, url: URL): Promise<Duplex> {
  const host = `${url.hostname}:${url.port || 443}`;
  const login = loginOf(proxy);
  const request = http.request({
    method: 'CONNECT',
    host: proxy.hostname,
    port: proxy.port || 80,
    path: host,
    headers: { host, ...(login && { 'proxy-authorization': login }) },
    agent: false,
  });
  return new Promise((resolve, reject) => {
    request.setTimeout(SILENT_MS_MAX, () =>
      request.destroy(new Error('the proxy does not respond')),
    );
    request.on('error', reject);
    request.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      return reject(new Error(`the proxy ${proxy.host} responded ${statusCode} to CONNECT`));
    });
    request.end();
  });
}

/** HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */
export function proxyOf(
  url: URL,
  env: Readonly<Record<string, string | undefined>>,
): URL | undefined {
  const value = (name: string): string => env[name] || env[name.toUpperCase()] || '';
  const none = value('no_proxy')
    .split(',')
    .map((word) => word.trim().replace(/^\*?\./, ''));
  const isNear = (name: string): boolean =>
    name === '*' || url.hostname === name || url.hostname.endsWith(`.${name}`);
  if (none.some((name) => name !== '' && isNear(name))) return undefined;
  const wanted = value(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  if (wanted === '') return undefined;
  return new URL(wanted.includes('://') ? wanted : `http://${wanted}`);
}

function trusted(file: string | undefined): string[] | undefined {
  return file === undefined ? undefined : [...tls.rootCertificates, readFileSync(file, 'utf8')];
}
