// /metrics on a dedicated port, away from inference, through the addon's HTTP listener. Control
// plane, main thread. It only knows a function that makes the text.
import { JSON_TYPE } from '../../../base/media-types.js';
import { CHALLENGE, type Caller, type Refusal } from '../../../access/policy.js';
import { ServalError, reasonOf } from '../../../base/errors.js';
import type { HttpExchange, RequestHead, Route, Router } from '../../../listeners/http/listener.js';
import type { NativeHttpLink } from '../../../listeners/http/native-binding.js';
import { NativeHttpListener } from '../../../listeners/http/native-listener.js';
import { METRICS_TYPE } from './registry-metrics.js';

/** Few scrapers are expected; connections above this limit are closed at once. */
const CONNECTIONS_MAX = 64;
/** Maximum bytes of responses that scrapers have not read yet. */
const UNSENT_BYTES_MAX = 64 * 2 ** 20;

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The text for a caller that is allowed. */
  readonly text: (caller: Caller) => Promise<string | Uint8Array>;
  /** Why a caller is refused; absent: everybody is allowed. */
  readonly refusal?: (caller: Caller) => Refusal | undefined;
  /** The main thread's link, which has no other HTTP listener. */
  readonly link: NativeHttpLink;
  /** Receives errors that must never happen. */
  readonly report: (error: unknown) => void;
}

export interface MetricsServer {
  readonly port: number;
  /** Closes the port and every connection. */
  close(): Promise<void>;
}

function sendError(
  exchange: HttpExchange,
  status: number,
  message: string,
  headers: readonly string[] = [],
): void {
  exchange.send(status, JSON_TYPE, JSON.stringify({ error: message }), headers);
}

async function sendText(exchange: HttpExchange, text: Promise<string | Uint8Array>): Promise<void> {
  try {
    exchange.send(200, METRICS_TYPE, await text);
  } catch (error) {
    sendError(exchange, 500, reasonOf(error));
  }
}

function routerOf({ text, refusal }: MetricsServerOptions): Router {
  const answer = (
    method: string,
    path: string,
    head: RequestHead,
    exchange: HttpExchange,
  ): void => {
    if (path !== '/metrics') {
      sendError(exchange, 404, `no such endpoint: ${method.slice(0, 32)} ${path.slice(0, 256)}`);
    } else if (method !== 'GET') {
      const message = `method ${method.slice(0, 32)} is not allowed here, expected GET`;
      sendError(exchange, 405, message, ['Allow', 'GET']);
    } else {
      void sendText(exchange, text(head));
    }
  };
  return (method, path): Route => ({
    begin(head: RequestHead, exchange): void {
      const refused = refusal?.(head);
      if (refused === undefined) {
        answer(method, path, head, exchange);
        return;
      }
      const challenge = refused.http === 401 ? ['WWW-Authenticate', CHALLENGE] : [];
      sendError(exchange, refused.http, refused.message, challenge);
    },
    data: () => undefined,
    abort: () => undefined,
  });
}

/** Listens. Rejects with ServalError (InvalidArgument) naming host, port and reason. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host, link, report } = options;
  const listener = new NativeHttpListener(link, routerOf(options), report, {
    threads: { threads: 1 },
    reusePort: false,
    unsentBytesMax: UNSENT_BYTES_MAX,
    connections: { max: CONNECTIONS_MAX, full: () => undefined },
  });
  try {
    const port = await listener.listen(host, options.port);
    return { port, close: async () => void (await listener.drain(0)) };
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    throw new ServalError(error.code, error.message.replace(/^HTTP/, 'metrics'));
  }
}
