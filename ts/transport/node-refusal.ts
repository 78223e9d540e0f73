// What the listener on node:http answers where Node's parser gave up: the status that
// uWebSockets.js has for it, and the routes' own answer to a method that HTTP does not register.
// Each ends its connection. Control plane; the listener's thread.
import type { Socket } from 'node:net';
import { isLoopback } from '../access/policy.js';
import type { AnswerLog } from './http/answer-log.js';
import { HttpExchange, type RequestHead, type Router } from './listener.js';
import { statusLine } from './status-lines.js';

/** So much of a request is looked at for its first line. */
const LINE_BYTES_MAX = 8192;
const OTHER_PROTOCOLS: ReadonlySet<string> = new Set([
  'HPE_INVALID_VERSION',
  'HPE_INVALID_CONSTANT',
  'HPE_PAUSED_H2_UPGRADE',
]);
export const NOT_HTTP_1_1 = '505 HTTP Version Not Supported';

/** Node's error, with the bytes that came and how many of them it could read. */
export type ParserError = NodeJS.ErrnoException & {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
};

/** Sends a status and nothing else, and ends the connection. */
export function refuse(socket: Socket, line: string, log?: AnswerLog): void {
  log?.unread(line);
  if (socket.writable) socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\n\r\n`);
  else socket.destroy();
}

/** Answers on a bare socket, once, and ends the connection. */
class LastExchange extends HttpExchange {
  constructor(private readonly socket: Socket) {
    super();
  }

  send(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers: readonly string[] = [],
  ): void {
    if (this.finished) return;
    this.finished = true;
    if (this.asked !== undefined) this.logAnswer(this.asked, status, body);
    const lines = [
      `HTTP/1.1 ${statusLine(status)}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      ...(contentType === 'application/json' ? ['X-Content-Type-Options: nosniff'] : []),
    ];
    const all = [...headers, ...(this.added ?? [])];
    for (let i = 0; i + 1 < all.length; i += 2) lines.push(`${all[i]}: ${all[i + 1]}`);
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    this.socket.end(typeof body === 'string' ? body : Buffer.from(body));
  }
}

/** Answers what could not be read. */
export function refuseUnread(
  socket: Socket,
  error: ParserError,
  router: Router,
  log?: AnswerLog,
): void {
  const { code } = error;
  const answer = (line: string): void => refuse(socket, line, log);
  if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else if (code === 'HPE_HEADER_OVERFLOW') answer('431 Request Header Fields Too Large');
  else if (code === 'HPE_INVALID_METHOD') refuseMethod(socket, error, router, answer);
  else if (code !== undefined && OTHER_PROTOCOLS.has(code)) answer(NOT_HTTP_1_1);
  else answer('400 Bad Request');
}

// Node's parser knows the registered methods only; the routes have an answer to any.
function refuseMethod(
  socket: Socket,
  error: ParserError,
  router: Router,
  answer: (line: string) => void,
): void {
  const text = error.rawPacket?.toString('latin1', 0, LINE_BYTES_MAX) ?? '';
  const [, method = '', path = '', query = ''] =
    /^([!-~]+) ([^ ?]+)(?:\?(\S*))? HTTP\/1\.1\r\n/.exec(text) ?? [];
  // Behind the first word: another request, or what follows one, failed.
  if (method === '' || (error.bytesParsed ?? 0) > method.length) {
    answer(NOT_HTTP_1_1);
    return;
  }
  const head: RequestHead = {
    method: () => method,
    path: () => path,
    query: () => query,
    header: () => '',
    isLocal: () => isLoopback(socket.remoteAddress ?? ''),
  };
  const exchange = new LastExchange(socket);
  router(method, path).begin(head, exchange);
  if (!exchange.finished) answer('501 Not Implemented');
}
