// What stands before the routes of an HTTP listener: callers are let in, or answered 401 or 403,
// before any of the body is read. Hot path where keys are set; the listener's thread. A route that
// anybody may call is handed on as it is, and costs nothing.
import type { HttpExchange, RequestHead, Route } from '../transport/listener.js';
import type { Cors } from './cors.js';
import { OwnPageRoute } from './own-page.js';
import {
  CHALLENGE,
  callAccess,
  judge,
  type CallAccess,
  type Entrance,
  type Policy,
} from './policy.js';

const JSON_TYPE = 'application/json';
const HEADERS: readonly string[] = ['WWW-Authenticate', CHALLENGE];

class GuardedRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly access: CallAccess,
    private readonly refused: () => void,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    const refusal = judge(this.access, head);
    if (refusal === undefined) {
      this.route.begin(head, exchange);
      return;
    }
    this.refused();
    const body = JSON.stringify({ error: refusal.message });
    exchange.send(refusal.http, JSON_TYPE, body, refusal.http === 401 ? HEADERS : undefined);
  }

  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    this.route.data(exchange, chunk, last);
  }

  abort(exchange: HttpExchange): void {
    this.route.abort(exchange);
  }
}

/** `route` behind its lock, where it has one; `refused` is told of callers who are not let in. What
 * changes the server is not for pages of others: only for those that `cors` lets in, and only with
 * a key, which no page can send unawares. */
export function guarded(
  route: Route,
  policy: Policy,
  entrance: Entrance,
  refused: () => void = () => undefined,
  cors?: Cors,
): Route {
  const access = callAccess(policy, route.call, entrance);
  const trusted = access.openTo === 'none' ? cors?.allows : undefined;
  const own = route.call?.changes === true ? new OwnPageRoute(route, trusted) : route;
  return access.openTo === 'all' ? own : new GuardedRoute(own, access, refused);
}
