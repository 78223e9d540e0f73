// The two reference parsers for Serval: Node's (node:http with its defaults) and nginx, each in
// front of an echo that reports which requests were read. Test time only.
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { NEXT } from './row.js';
import { answersOf, converse } from './conversation.js';
import { BY_BYTES_MAX, bytesOf, type FramingCase } from './cases.js';
import { nginxText, startNginx } from './proxy-servers.js';

/** One request as read by a server. */
export interface Seen {
  readonly method: string;
  /** Without an absolute form's scheme and host. */
  readonly target: string;
  readonly body: string;
}

/** A reference's reaction to a case. */
export interface Reading {
  readonly requests: readonly Seen[];
  /**
   * next: NEXT was read as a separate request. closed: orderly, after the responses. refused: the
   * status of its error, 0 if it closed without one. waits: for more bytes.
   */
  readonly end: 'next' | 'closed' | 'refused' | 'waits';
  readonly status: number;
}

export interface Reference {
  readonly name: string;
  readonly read: (one: FramingCase) => Promise<Reading>;
  readonly stop: () => Promise<void>;
}

/** The time that a reference may spend on a case that it does not answer. */
const WAITS_MS = 2000;
const SEEN = 'x-seen';
const [, NEXT_TARGET = ''] = NEXT.split(' ');

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
  });

/** Encodes arbitrary bytes as text for a header: ASCII. */
const coded = (seen: Seen): string => encodeURIComponent(JSON.stringify(seen));

function seenOf(text: string): Seen {
  const seen = JSON.parse(decodeURIComponent(text)) as Seen;
  return { ...seen, target: seen.target.replace(/^https?:\/\/[^/?]*/i, '') };
}

function readingOf(one: FramingCase, text: string, isClosed: boolean): Reading {
  const requests: Seen[] = [];
  for (const { status, headers, body } of answersOf(text)) {
    // HTTP/0.9 has no heads: the response is the echo's body.
    const echo = headers.get(SEEN) ?? (status === 0 ? body : undefined);
    if (echo === undefined) return { requests, end: 'refused', status };
    requests.push(seenOf(echo));
  }
  if (!one.ends && requests.at(-1)?.target === NEXT_TARGET) {
    return { requests: requests.slice(0, -1), end: 'next', status: 0 };
  }
  if (!isClosed) return { requests, end: 'waits', status: 0 };
  return { requests, end: requests.length > 0 ? 'closed' : 'refused', status: 0 };
}

async function readWith(port: number, one: FramingCase, bytes: Buffer | Buffer[]) {
  const { text, closed: isClosed } = await converse(port, bytes, one.ends, WAITS_MS);
  return readingOf(one, text, isClosed);
}

/** node:http with its defaults. */
export async function startNode(): Promise<Reference> {
  const server = createHttpServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('latin1');
      const { method = '', url: target = '' } = request;
      response.setHeader(SEEN, coded({ method, target, body }));
      response.end('seen');
    });
  });
  const port = await listening(server);
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await closed(server);
  };
  // It sends the refusal in place of responses to earlier requests, unless they were sent before.
  const read = async (one: FramingCase): Promise<Reading> => {
    const whole = await readWith(port, one, one.bytes);
    if (whole.end !== 'refused' || one.bytes.length > BY_BYTES_MAX) return whole;
    return readWith(port, one, bytesOf(one));
  };
  return { name: 'node', read, stop };
}

/** Reads requests from nginx: heads by the lines that it writes, bodies by its Content-Length. */
function startEcho(): { readonly server: Server; readonly port: Promise<number> } {
  const server = createServer((socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/^Content-Length: (\d+)$/im.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const [method = '', target = ''] = text.split(' ', 2);
      const echo = coded({ method, target, body: text.slice(end + 4) });
      const body = method === 'HEAD' ? '' : echo;
      socket.end(
        `HTTP/1.0 200 OK\r\nX-Seen: ${echo}\r\nContent-Length: ${echo.length}\r\n\r\n${body}`,
      );
    });
  });
  return { server, port: listening(server) };
}

/** nginx with its defaults, except for the paths of its files, which are below `folder`. */
export async function startNginxReference(folder: string): Promise<Reference> {
  const echo = startEcho();
  const pass = `proxy_pass http://127.0.0.1:${await echo.port};`;
  const nginx = await startNginx(folder, (port) =>
    nginxText(
      folder,
      `proxy_buffer_size 64k; proxy_buffers 8 64k; server { listen 127.0.0.1:${port}; location / { ${pass} } }`,
    ),
  );
  const stop = async (): Promise<void> => {
    await nginx.stop();
    await closed(echo.server);
  };
  return { name: 'nginx', read: (one) => readWith(nginx.port, one, one.bytes), stop };
}
