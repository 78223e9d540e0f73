// HTTP by node:http and node:https, for options that fetch does not have: TLS, keepalive, unix
// sockets. Node only, any thread; sockets are on the calling thread's event loop.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { viewOf } from '../core/elements.js';
import type { RestOptions, TlsOptions } from '../core/types.js';
import { noResponse, type Send } from '../rest/http.js';

/** Options of the REST clients in Node. */
export interface NodeRestOptions extends RestOptions {
  readonly tls?: TlsOptions | undefined;
  /** Keeps idle connections for this time; 0 opens one for each call. Default: fetch's. */
  readonly keepAliveMs?: number | undefined;
  /** A unix socket; the URL's host is only a header then. */
  readonly socketPath?: string | undefined;
}

const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
};
const KEEP_ALIVE_MS = 30_000;

/** TLS options with Node's names. */
export function tlsSettings(tls: TlsOptions = {}): Record<string, unknown> {
  const { serverName, ...given } = tls;
  const settings = { ...given, ...(serverName !== undefined && { servername: serverName }) };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Returns a sender if an option needs one; undefined: fetch serves. */
export function nodeSender(options: NodeRestOptions): Send | undefined {
  const { tls, keepAliveMs, socketPath } = options;
  if (tls === undefined && keepAliveMs === undefined && socketPath === undefined) return undefined;
  const idle = keepAliveMs ?? KEEP_ALIVE_MS;
  const kept = { keepAlive: idle > 0, ...(idle > 0 && { timeout: idle }) };
  const http = new HttpAgent(kept);
  const https = new HttpsAgent({ ...kept, ...tlsSettings(tls) });
  const to = socketPath === undefined ? {} : { socketPath };
  return async ({ method, url, headers, body, signal }) => {
    const isTls = url.startsWith('https:');
    try {
      const reply = await new Promise<IncomingMessage>((resolve, reject) => {
        const open = isTls ? httpsRequest : httpRequest;
        const sent = { 'accept-encoding': 'gzip, deflate', ...headers, ...lengthOf(body) };
        const agent = isTls ? https : http;
        const request = open(url, { method, headers: sent, agent, signal, ...to }, resolve);
        request.on('error', reject).end(body);
      });
      const chunks: Uint8Array[] = [];
      for await (const chunk of reply) chunks.push(chunk as Uint8Array);
      const bytes = viewOf(Buffer.concat(chunks));
      const decode = DECODERS[reply.headers['content-encoding'] ?? ''];
      return {
        status: reply.statusCode ?? 0,
        headers: { get: (name) => reply.headers[name]?.toString() ?? null },
        body: decode === undefined || bytes.length === 0 ? bytes : viewOf(await decode(bytes)),
      };
    } catch (error) {
      throw noResponse(url, error);
    }
  };
}

function lengthOf(body: Uint8Array | string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}
