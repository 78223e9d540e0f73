// Access check before the routes of an HTTP listener: callers are accepted, or get 401 or 403,
// before any of the body is read. Hot path if keys are set; the listener's thread. A route open to
// everybody is returned unwrapped and costs nothing.
import { JSON_TYPE } from '../../../base/media-types.js';
import type { EngineRoute, HttpExchange, RequestHead, Route } from '../listener.js';
import type { CallKind } from '../../../access/groups.js';
import { AcceptedKeys } from '../../../access/accepted-keys.js';
import type { Cors } from './cors.js';
import { OwnHostRoute, OwnPageRoute, type HostCheck } from './own-page.js';
import {
  CHALLENGE,
  callAccess,
  judgeCaller,
  type CallAccess,
  type Entrance,
  type Policy,
} from '../../../access/policy.js';

const HEADERS: readonly string[] = ['WWW-Authenticate', CHALLENGE];

/** Access to a kind of call, and the key that was accepted. */
interface Lock {
  readonly access: CallAccess;
  readonly accepted: AcceptedKeys;
}

/** Locks by policy (collected with it). Routes of the same call kind share one. */
const locks = new WeakMap<Policy, Map<string, Lock>>();

function lockOf(policy: Policy, call: CallKind | undefined, entrance: Entrance): Lock {
  let ofPolicy = locks.get(policy);
  if (ofPolicy === undefined) {
    ofPolicy = new Map();
    locks.set(policy, ofPolicy);
  }
  const name = `${entrance} ${call?.group} ${call?.changes}`;
  let lock = ofPolicy.get(name);
  if (lock === undefined) {
    lock = { access: callAccess(policy, call, entrance), accepted: new AcceptedKeys() };
    ofPolicy.set(name, lock);
  }
  return lock;
}

/** The same URL's route for a caller whose key has a number: ApiKey.caller. */
export type RouteOf = (caller: number) => Route;

class LockedRoute implements Route {
  constructor(
    private readonly route: Route,
    private readonly lock: Lock,
    private readonly refused: () => void,
    private readonly routeOf: RouteOf | undefined,
  ) {}

  /** Not if the caller's location grants access: that is not a header. */
  get engine(): EngineRoute | undefined {
    return this.lock.access.openTo === 'none' ? this.route.engine : undefined;
  }

  keyHeader(head: RequestHead): string | undefined {
    const { access, accepted } = this.lock;
    return access.checks.find(({ header }, check) => {
      const value = head.header(header);
      return value !== '' && accepted.find(check, value) !== undefined;
    })?.header;
  }

  begin(head: RequestHead, exchange: HttpExchange): void {
    const { access, accepted } = this.lock;
    const judged = judgeCaller(access, head, accepted);
    if (typeof judged === 'number') {
      exchange.keyed = judged === 0 ? undefined : this.#keyed(judged);
      (exchange.keyed?.route ?? this.route).begin(head, exchange);
      // The caller's location is not part of the rule, and a limited key may see other models.
      if (access.openTo !== 'none' || judged !== 0) exchange.isConstant = false;
      return;
    }
    exchange.keyed = undefined;
    this.refused();
    const body = JSON.stringify({ error: judged.message });
    exchange.send(judged.http, JSON_TYPE, body, judged.http === 401 ? HEADERS : undefined);
  }

  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    (exchange.keyed?.route ?? this.route).data(exchange, chunk, last);
  }

  abort(exchange: HttpExchange): void {
    (exchange.keyed?.route ?? this.route).abort(exchange);
  }

  #keyed(caller: number): { readonly caller: number; readonly route: Route } {
    return { caller, route: this.routeOf?.(caller) ?? this.route };
  }
}

/**
 * Wraps `route` with its lock, if it has one; `refused` is called for refused callers. Calls that
 * change the server are refused to pages of other origins, except those that `cors` allows, and
 * only with a key, which a page cannot send unknowingly. Without keys, `hosts` says which host
 * names count as the server, if that is checked. `routeOf`: the route of callers with limits;
 * absent: the same.
 */
export function locked(
  route: Route,
  policy: Policy,
  entrance: Entrance,
  refused: () => void = () => undefined,
  cors?: Cors,
  hosts?: HostCheck,
  routeOf?: RouteOf,
): Route {
  const lock = lockOf(policy, route.call, entrance);
  const { access } = lock;
  const trusted = access.openTo === 'none' ? cors?.allows : undefined;
  const ofOwnPages = (one: Route): Route =>
    route.call?.changes === true ? new OwnPageRoute(one, trusted, refused) : one;
  const own = ofOwnPages(route);
  const here = hosts && policy.keys === undefined ? new OwnHostRoute(own, hosts, refused) : own;
  if (access.openTo === 'all') return here;
  return new LockedRoute(here, lock, refused, routeOf && ((caller) => ofOwnPages(routeOf(caller))));
}
