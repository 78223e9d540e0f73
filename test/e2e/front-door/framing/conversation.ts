// Sends bytes unchanged and reads everything that comes back: the responses of any server, one
// after another. Test time only.
import { connect } from 'node:net';

export interface Conversation {
  readonly text: string;
  /** False: the server neither answered the last bytes nor closed in time. */
  readonly closed: boolean;
}

export interface Answer {
  readonly status: number;
  /** Names in lower case; the last value of a repeated one. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * `bytes`: in one write, or in these pieces. `ends`: the client closes its side after them. Settles
 * when the server has closed, after `limitMs`, or when `enough` settles.
 */
export function converse(
  port: number,
  bytes: Buffer | readonly Buffer[],
  ends: boolean,
  limitMs: number,
  enough?: (text: string) => Promise<boolean>,
): Promise<Conversation> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.setNoDelay(true);
    const parts: Buffer[] = [];
    let isDone = false;
    const text = (): string => Buffer.concat(parts).toString('latin1');
    const done = (closed: boolean): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: text(), closed });
    };
    const timer = setTimeout(() => done(false), limitMs);
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.on('end', () => done(true));
    socket.on('close', () => done(true));
    socket.on('error', (error) => {
      if (socket.connecting) reject(error);
    });
    socket.on('connect', () => {
      void (async () => {
        for (const piece of Buffer.isBuffer(bytes) ? [bytes] : bytes) {
          await new Promise<void>((sent) => {
            socket.write(piece, () => setImmediate(sent));
          });
        }
        if (ends) socket.end();
        if (enough !== undefined && (await enough(text()))) done(false);
      })();
    });
  });
}

/**
 * The responses in `text`, without "100 Continue". A response to HEAD states a length and has no
 * body: another response, or nothing, follows it. Anything that is not a response has the status 0.
 */
export function answersOf(text: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(first)?.[1] ?? 0);
    if (end < 0 || status === 0) return [...answers, { status: 0, headers: new Map(), body: rest }];
    const headers = new Map<string, string>();
    for (const one of lines) {
      const colon = one.indexOf(':');
      headers.set(one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim());
    }
    rest = rest.slice(end + 4);
    const isHead = rest === '' || rest.startsWith('HTTP/1.');
    const length = isHead ? 0 : Number(headers.get('content-length') ?? rest.length);
    if (status !== 100) answers.push({ status, headers, body: rest.slice(0, length) });
    rest = rest.slice(length);
  }
  return answers;
}
