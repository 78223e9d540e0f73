// /metrics on a port of its own, away from inference. Control plane, main thread. Knows only a
// function that makes the text.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CHALLENGE, isLoopback, type Caller, type Refusal } from '../access/policy.js';
import { ErrorCode, ServalError, reasonOf } from '../errors.js';
import { METRICS_TYPE } from './registry-metrics.js';

/** Scrapers are few; more connections wait in the kernel's queue or are refused. */
const CONNECTIONS_MAX = 64;
const REQUEST_MS_MAX = 10_000;

/** What goes with a status. */
const CHALLENGES: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': CHALLENGE },
};

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly text: () => Promise<string | Uint8Array>;
  /** Why a caller gets nothing; absent: everybody gets all. */
  readonly refusal?: (caller: Caller) => Refusal | undefined;
}

export interface MetricsServer {
  readonly port: number;
  /** Closes the port and every connection. */
  close(): Promise<void>;
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, status, 'application/json', JSON.stringify({ error: message }), headers);
}

function callerOf({ headers, socket }: IncomingMessage): Caller {
  return {
    header: (name) => String(headers[name] ?? ''),
    isLocal: () => isLoopback(socket.remoteAddress ?? ''),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { text, refusal }: MetricsServerOptions,
): Promise<void> {
  const refused = refusal?.(callerOf(request));
  if (refused !== undefined) {
    sendError(response, refused.http, refused.message, CHALLENGES[refused.http]);
    return;
  }
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const method = request.method ?? '';
  if (path !== '/metrics') {
    sendError(response, 404, `no such endpoint: ${method.slice(0, 32)} ${path.slice(0, 256)}`);
  } else if (method !== 'GET') {
    const message = `method ${method.slice(0, 32)} is not allowed here, expected GET`;
    sendError(response, 405, message, { Allow: 'GET' });
  } else {
    try {
      send(response, 200, METRICS_TYPE, await text());
    } catch (error) {
      sendError(response, 500, reasonOf(error));
    }
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'the port is in use by another process; choose another, or 0 for a free one'
          : error.message;
      reject(
        new ServalError(
          ErrorCode.InvalidArgument,
          `metrics cannot listen on ${host} port ${port}: ${why}`,
        ),
      );
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : port);
    });
  });
}

/** Listens. Rejects with ServalError (InvalidArgument) naming host, port and reason. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host } = options;
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX },
    (request, response) => {
      request.resume();
      void answer(request, response, options);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  const port = await listen(server, host, options.port);
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
