// Reads answers of HTTP/1.1 from what a connection brings, and keeps of them only what is wrong.
// The load's threads. Source: RFC 9112 4, 6, 7.

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = 10;
const HEAD_BYTES_MAX = 65_536;
const ERROR_BYTES_MAX = 2048;
const OK = 200;

type State = 'head' | 'length' | 'until-closed' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers';

/** What is said of one answer. `keep`: the connection may be used again. */
export type OnHttpAnswer = (error: string | undefined, keep: boolean) => void;

export class HttpAnswers {
  readonly #done: OnHttpAnswer;
  #state: State = 'head';
  /** A head or a line of which a part has come. */
  #part: Buffer = Buffer.alloc(0);
  #left = 0;
  #status = 0;
  #keep = true;
  #error = '';

  constructor(done: OnHttpAnswer) {
    this.#done = done;
  }

  /** `bytes` are read before it returns. False: it is no HTTP. */
  feed(bytes: Buffer): boolean {
    let rest = bytes;
    while (rest.length > 0) {
      const used = this.#step(rest);
      if (used < 0) return false;
      rest = rest.subarray(used);
    }
    return true;
  }

  /** The connection has ended. True: that was an answer's end. */
  ended(): boolean {
    if (this.#state !== 'until-closed') return false;
    this.#keep = false;
    this.#finish();
    return true;
  }

  /** Answers how many bytes it took; -1: they are wrong. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#head(bytes);
      case 'length':
      case 'chunk':
        return this.#body(bytes);
      case 'until-closed':
        this.#note(bytes);
        return bytes.length;
      case 'chunk-size':
      case 'chunk-end':
      case 'trailers':
        return this.#line(bytes);
    }
  }

  #head(bytes: Buffer): number {
    const before = this.#part.length;
    const all = before === 0 ? bytes : Buffer.concat([this.#part, bytes]);
    const end = all.indexOf(HEAD_END);
    if (end < 0) {
      if (all.length > HEAD_BYTES_MAX) return -1;
      // Not the connection's own memory, which is used again.
      this.#part = Buffer.from(all);
      return bytes.length;
    }
    if (before > 0) this.#part = Buffer.alloc(0);
    if (!this.#begin(all.toString('latin1', 0, end).toLowerCase())) return -1;
    return end + HEAD_END.length - before;
  }

  #begin(head: string): boolean {
    if (!head.startsWith('http/1.')) return false;
    this.#status = Number(head.slice(9, 12));
    if (!(this.#status >= 100)) return false;
    // 100 Continue and its like are no answers.
    if (this.#status < OK) return true;
    this.#keep = !head.includes('\r\nconnection: close') && !head.startsWith('http/1.0');
    this.#error = '';
    const length = valueOf(head, 'content-length');
    if (valueOf(head, 'transfer-encoding')?.includes('chunked') === true) {
      this.#state = 'chunk-size';
    } else if (length === undefined && this.#status !== 204 && this.#status !== 304) {
      this.#state = 'until-closed';
    } else {
      this.#left = Number(length ?? 0);
      if (!Number.isSafeInteger(this.#left) || this.#left < 0) return false;
      this.#state = 'length';
      if (this.#left === 0) this.#finish();
    }
    return true;
  }

  #body(bytes: Buffer): number {
    const used = Math.min(this.#left, bytes.length);
    this.#note(bytes.subarray(0, used));
    this.#left -= used;
    if (this.#left > 0) return used;
    if (this.#state === 'length') this.#finish();
    else this.#state = 'chunk-end';
    return used;
  }

  #line(bytes: Buffer): number {
    const end = bytes.indexOf(LINE_END);
    const used = end < 0 ? bytes.length : end + 1;
    const line = Buffer.concat([this.#part, bytes.subarray(0, used)]);
    if (end < 0) {
      this.#part = line;
      return line.length > HEAD_BYTES_MAX ? -1 : used;
    }
    this.#part = Buffer.alloc(0);
    const text = line.toString('latin1').trim();
    if (this.#state === 'chunk-size') {
      this.#left = parseInt(text, 16);
      if (!Number.isSafeInteger(this.#left) || this.#left < 0) return -1;
      this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    } else if (this.#state === 'chunk-end') {
      if (text !== '') return -1;
      this.#state = 'chunk-size';
    } else if (text === '') {
      this.#finish();
    }
    return used;
  }

  /** What an error says. */
  #note(bytes: Buffer): void {
    if (this.#status === OK || this.#error.length >= ERROR_BYTES_MAX) return;
    this.#error += bytes.toString('utf8', 0, ERROR_BYTES_MAX);
  }

  #finish(): void {
    this.#state = 'head';
    const error = this.#status === OK ? undefined : `status ${this.#status}: ${this.#error}`;
    this.#done(error, this.#keep);
  }
}

/** Of a head in lower case. */
function valueOf(head: string, name: string): string | undefined {
  const at = head.indexOf(`\r\n${name}:`);
  if (at < 0) return undefined;
  const begin = at + name.length + 3;
  const end = head.indexOf('\r\n', begin);
  return head.slice(begin, end < 0 ? head.length : end).trim();
}
