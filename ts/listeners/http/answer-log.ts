// What the access log is told of requests that the engine writes no line of: refused ones,
// documents and control calls. Absent where the log is off: then a request costs a branch. Hot
// path's frame; the listener's thread.
import type { ErrorCode } from '../../base/errors.js';
import type { EngineRoute, HttpExchange, RequestHead, Route } from './listener.js';

export interface AnswerLog {
  /** `body`: of the answer; valid until return. */
  answered(asked: Asked, status: number, body: Uint8Array | string): void;
  /** Its client went away before it was answered. */
  left(asked: Asked): void;
  /** What could not be read as a request. `line`: the answer's status and its reason. */
  unread(line: string): void;
}

/** One request that the log has no line of yet. */
export class Asked {
  /** Of the error that is being answered; absent: its status says all. */
  code: ErrorCode | undefined;

  constructor(
    readonly log: AnswerLog,
    readonly method: string,
    readonly path: string,
    readonly begunMs: number,
  ) {}
}

class LoggedRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly method: string,
    private readonly path: string,
    private readonly log: AnswerLog,
  ) {}

  get engine(): EngineRoute | undefined {
    return this.route.engine;
  }

  get keyHeader(): ((head: RequestHead) => string | undefined) | undefined {
    return this.route.keyHeader && ((head) => this.route.keyHeader?.(head));
  }

  ask(exchange: HttpExchange): void {
    exchange.asked = new Asked(this.log, this.method, this.path, performance.now());
  }

  begin(head: RequestHead, exchange: HttpExchange): void {
    this.ask(exchange);
    this.route.begin(head, exchange);
    exchange.isConstant = false; // each answer has a line
  }

  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    this.route.data(exchange, chunk, last);
  }

  abort(exchange: HttpExchange): void {
    this.route.abort(exchange);
    const { asked } = exchange;
    exchange.asked = undefined;
    asked?.log.left(asked);
  }
}

/** `route`, with a line of each answer; `log` absent: as it is. */
export function logged(
  route: Route,
  method: string,
  path: string,
  log: AnswerLog | undefined,
): Route {
  return log === undefined ? route : new LoggedRoute(route, method, path, log);
}
