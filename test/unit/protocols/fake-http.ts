// An exchange without a socket, for routes: records what was sent, and runs one request.
import { HttpExchange, type RequestHead, type Route } from '../../../ts/listeners/http/listener.js';

export interface Sent {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers: readonly string[];
}

export class FakeExchange extends HttpExchange {
  readonly answered: Promise<Sent>;
  sends = 0;
  #sent: (sent: Sent) => void = () => undefined;

  constructor() {
    super();
    this.answered = new Promise((resolve) => {
      this.#sent = resolve;
    });
  }

  send(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    headers?: readonly string[],
  ): void {
    if (this.finished) return;
    this.finished = true;
    this.sends += 1;
    const text = Buffer.from(body as string).toString('utf8');
    this.#sent({ status, contentType, body: text, headers: headers ?? [] });
  }
}

export interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunks; none = no body, which a listener reports by one empty chunk. */
  /** True if the client is on this machine, which is the default. */
  readonly local?: boolean;
  readonly body?: readonly (string | Uint8Array)[];
}

export function headOf(asked: Asked): RequestHead {
  return {
    method: () => asked.method ?? 'GET',
    path: () => asked.path ?? '/',
    query: () => asked.query ?? '',
    header: (name) => asked.headers?.[Buffer.from(name as string).toString()] ?? '',
    isLocal: () => asked.local ?? true,
  };
}

/**
 * Begins a request as a listener does; the chunks' memory is overwritten after they were passed.
 */
export function begin(route: Route, asked: Asked = {}): FakeExchange {
  const exchange = new FakeExchange();
  route.begin(headOf(asked), exchange);
  const chunks = asked.body ?? [''];
  chunks.forEach((chunk, at) => {
    if (exchange.finished) return;
    const bytes = Uint8Array.from(Buffer.from(chunk as string));
    route.data(exchange, bytes.buffer, at === chunks.length - 1);
    bytes.fill(0);
  });
  return exchange;
}

/** Resolves to the response to a request. */
export function ask(route: Route, asked: Asked = {}): Promise<Sent> {
  return begin(route, asked).answered;
}
