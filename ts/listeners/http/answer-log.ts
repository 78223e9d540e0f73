// Access log lines of requests that the engine does not log: refused ones, documents and control
// calls. Absent if the log is disabled: a request then costs one branch. Hot path's frame; the
// listener's thread.
import type { ErrorCode } from '../../base/errors.js';
import type { EngineRoute, HttpExchange, RequestHead, Route } from './listener.js';

export interface AnswerLog {
  /** `body`: of the response; valid until return. */
  answered(asked: Asked, status: number, body: Uint8Array | string): void;
  /** The client left before it was answered. */
  left(asked: Asked): void;
  /** Data that could not be parsed as a request. `line`: the response's status and its reason. */
  unread(line: string): void;
}

/** One request that the log has no line of yet. */
export class Asked {
  /** Code of the error being sent; absent: the status is sufficient. */
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
    exchange.isConstant = false; // each response is logged
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

/** Wraps `route` to log each response; returns it unchanged if `log` is absent. */
export function logged(
  route: Route,
  method: string,
  path: string,
  log: AnswerLog | undefined,
): Route {
  return log === undefined ? route : new LoggedRoute(route, method, path, log);
}
