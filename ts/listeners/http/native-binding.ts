// The addon's HTTP listener as seen by the thread that owns it: its calls, and its events as packed
// words (proto/engine.fbs ListenerEvent, EventWord). Control plane except for forwarded requests;
// one thread.
import { ListenerCommand, RequestFlag } from '../../base/generated/engine.js';
import type { HeaderName, RequestHead } from './listener.js';
import type { PemSource } from '../tls/settings.js';
import type { RuleStamp } from './routes/learned-rules.js';

/** Options of httpStart(). */
export interface NativeHttpOptions {
  readonly host: string;
  readonly port: number;
  readonly threads: number;
  readonly threadsMax: number;
  readonly cores: number;
  /** The server value that counts its threads. Absent: not counted. */
  readonly threadsValue?: string;
  readonly reusePort: boolean;
  readonly unixPath?: string;
  readonly unixMode?: number;
  /** The server value that counts them. Absent: not counted. */
  readonly connectionsValue?: string;
  readonly connectionsMax: number;
  readonly unsentBytesMax: number;
  readonly handshakeMsMax: number;
  /** Maximum bytes of a request's line, and of a whole head. */
  readonly targetBytesMax: number;
  readonly headBytesMax: number;
  /**
   * Timeouts: of a connection without a request; of a slow first request or head; of a body or
   * response that makes no progress.
   */
  readonly idleMs: number;
  readonly silentMs: number;
  readonly stalledMs: number;
  /** Timeout of an HTTP/2 connection without requests. */
  readonly connectionIdleMsMax: number;
  /**
   * The gRPC listener of this thread uses this port too, and starts first; includes its transport
   * settings.
   */
  readonly sharesPort: boolean;
  readonly tls?: {
    readonly certificate: PemSource;
    readonly key: PemSource;
    readonly roots?: PemSource;
    readonly clientRequired: boolean;
    readonly minVersion: string;
  };
}

/** The addon's calls (native/addon/listener_service.cc). */
export interface NativeHttpCalls {
  httpStart(options: NativeHttpOptions, onEvents: () => void): number;
  httpTake(): number;
  httpSend(thread: number, request: number, command: number, value: number, bytes: Buffer): void;
  httpDrain(ms: number): void;
  httpReloadCertificates(): void;
  /** `part`: see native/calls/route_generations.h. */
  httpForget(part: number): void;
  httpStop(): void;
}

/** The addon's calls for the second listener of a thread. */
export interface NativeAdminCalls {
  adminStart(options: object, onEvents: () => void): number;
  adminTake(): number;
  adminSend(thread: number, request: number, command: number, value: number, bytes: Buffer): void;
  adminDrain(ms: number): void;
  adminReloadCertificates(): void;
  adminForget(part: number): void;
  adminStop(): void;
}

/** A link for a thread's second listener. */
export function adminLink(link: {
  readonly native: NativeAdminCalls;
  read(call: (native: NativeAdminCalls) => number): Buffer;
}): NativeHttpLink {
  const { native } = link;
  const calls: NativeHttpCalls = {
    httpStart: (options, onEvents) => native.adminStart(options, onEvents),
    httpTake: () => native.adminTake(),
    httpSend: (...command) => native.adminSend(...command),
    httpDrain: (ms) => native.adminDrain(ms),
    httpReloadCertificates: () => native.adminReloadCertificates(),
    httpForget: (part) => native.adminForget(part),
    httpStop: () => native.adminStop(),
  };
  return { native: calls, read: (call) => link.read(() => call(calls)) };
}

/** A thread's link to the engine, as an HTTP listener uses it. */
export interface NativeHttpLink {
  readonly native: NativeHttpCalls;
  /** Makes a call and returns a copy of its result. Throws ServalError. */
  read(call: (native: NativeHttpCalls) => number): Buffer;
}

/** The line and headers of a forwarded request; names in lower case. */
export class NativeHead implements RequestHead {
  readonly #parts: readonly string[];
  readonly #isLocal: boolean;

  /** `payload` and `flags` are from ListenerEvent.Request. */
  constructor(payload: Buffer, flags: number) {
    this.#parts = payload.toString('latin1').split('\0');
    this.#isLocal = (flags & RequestFlag.Local) !== 0;
  }

  method(): string {
    return this.#parts[0] ?? '';
  }
  path(): string {
    return this.#parts[1] ?? '';
  }
  query(): string {
    return this.#parts[2] ?? '';
  }
  isLocal(): boolean {
    return this.#isLocal;
  }

  /** Repeated headers are joined into one list (RFC 9110 5.3). */
  header(name: string | HeaderName): string {
    const wanted = typeof name === 'string' ? name : nameText(name);
    const parts = this.#parts;
    let value: string | undefined;
    for (let i = 3; i + 1 < parts.length; i += 2) {
      const given = parts[i] ?? '';
      if (given.length !== wanted.length || given.toLowerCase() !== wanted) continue;
      value = value === undefined ? parts[i + 1] : `${value}, ${parts[i + 1]}`;
    }
    return value ?? '';
  }
}

const texts = new Map<HeaderName, string>();

function nameText(name: HeaderName): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = Buffer.from(name).toString('latin1');
    texts.set(name, text);
  }
  return text;
}

const U32 = 4;
/** Used instead of a protocol: the rule contains the response (native/calls/learned_routes.h). */
const ANSWER = 0xffff_ffff;

function linesOf(headers: readonly string[]): string {
  let lines = '';
  for (let i = 0; i + 1 < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return lines;
}

const NOTHING = Buffer.alloc(0);

/** The commands for one request. No effect if it has ended. */
export class NativeRequest {
  constructor(
    private readonly native: NativeHttpCalls,
    readonly thread: number,
    readonly id: number,
  ) {}

  /** Answers it. Borrows `body` until return. `headers`: names and values, alternating. */
  answer(
    status: number,
    contentType: string,
    headers: readonly string[],
    body: Uint8Array | string,
  ): void {
    const lines = `${contentType}\0${linesOf(headers)}`;
    const linesBytes = Buffer.byteLength(lines, 'latin1');
    const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const bytes = Buffer.allocUnsafe(U32 + linesBytes + bodyBytes);
    bytes.writeUInt32LE(linesBytes);
    bytes.write(lines, U32, 'latin1');
    if (typeof body === 'string') bytes.write(body, U32 + linesBytes);
    else bytes.set(body, U32 + linesBytes);
    this.native.httpSend(this.thread, this.id, ListenerCommand.Answer, status, bytes);
  }

  /** Lets a waiting client send the body. */
  wantBody(): void {
    this.native.httpSend(this.thread, this.id, ListenerCommand.Pause, 0, NOTHING);
  }

  /** Allows the engine to serve requests like this one. */
  learn(rule: LearnedRule, { handle, protocol }: LearnedModel): void {
    this.#learn(rule, protocol, handle, '', '');
  }

  /** Sets a constant response to requests like this one. */
  learnAnswer(rule: LearnedRule, { status, contentType, body }: LearnedAnswer): void {
    this.#learn(rule, ANSWER, status, `${contentType}\0`, body);
  }

  #learn(
    { method, path, host, stamp, key, added }: LearnedRule,
    protocol: number,
    value: number,
    contentType: string,
    body: Uint8Array | string,
  ): void {
    const texts = `${method}\0${path}\0${host}\0${key.header}\0${key.value}\0${linesOf(added)}\0`;
    const { route, generation, part, partGeneration } = stamp;
    const words = [protocol, route, generation, part, partGeneration, key.caller];
    const head = Buffer.alloc(words.length * U32);
    for (const [index, word] of words.entries()) head.writeUInt32LE(word, index * U32);
    const bytes = Buffer.concat([
      head,
      Buffer.from(texts + contentType, 'latin1'),
      typeof body === 'string' ? Buffer.from(body) : body,
    ]);
    this.native.httpSend(this.thread, this.id, ListenerCommand.Learn, value, bytes);
  }
}

/** See ListenerCommand.Learn. */
export interface LearnedRule {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly stamp: RuleStamp;
  /**
   * Headers of its responses, besides their own: names and values, alternating. If there are any,
   * requests with Origin do not match.
   */
  readonly added: readonly string[];
  /** The header that granted access, and ApiKey.caller; "" if the route is open to everybody. */
  readonly key: { readonly header: string; readonly value: string; readonly caller: number };
}

/** The model that serves the requests, and the protocol. */
export interface LearnedModel {
  readonly handle: number;
  readonly protocol: number;
}

/** A response whose headers are the rule's `added`. */
export interface LearnedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array | string;
}
