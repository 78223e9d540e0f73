// Web pages of other origins (CORS), where they are let in: what answers to them carry, and the
// preflights that browsers send ahead. Nothing of it is there without --cors-origins. The
// listener's thread. Source: Fetch 3.2; tfserving.md 1.1.
import {
  headerName,
  type EngineRoute,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../listener.js';

/** Structured-cloneable. */
export interface CorsSettings {
  /** As browsers write them; undefined: every one. */
  readonly origins: readonly string[] | undefined;
  /** TensorFlow Serving's: every answer says which methods and headers there may be, not only those
   * to preflights. */
  readonly onEvery: boolean;
  /** Headers that carry keys, beside Authorization. */
  readonly keyHeaders: readonly string[];
}

const ORIGIN = headerName('origin');
const METHODS = 'GET, POST, OPTIONS';
const REQUEST_HEADERS = [
  'Accept, Accept-Encoding, Authorization, Content-Encoding, Content-Type',
  'Inference-Header-Content-Length, traceparent, tracestate',
];
/** What a page may read of an answer, beside what every page may. */
const EXPOSED =
  'Allow, Content-Encoding, Inference-Header-Content-Length, Retry-After, traceparent, ' +
  'WWW-Authenticate';
/** Browsers keep a preflight's answer so long, or less. */
const PREFLIGHT_SECONDS = 7200;
const VARY: readonly string[] = ['Vary', 'Origin'];
const TEXT_TYPE = 'text/plain';

export class Cors {
  /** What is said to a preflight, beside headersFor(). */
  readonly preflightHeaders: readonly string[];
  /** Of any origin, where any may. */
  readonly #any: readonly string[] | undefined;
  readonly #byOrigin = new Map<string, readonly string[]>();

  constructor({ origins, onEvery, keyHeaders }: CorsSettings) {
    const headers = [...REQUEST_HEADERS, ...keyHeaders].join(', ');
    const permits = [
      ...['Access-Control-Allow-Methods', METHODS],
      ...['Access-Control-Allow-Headers', headers],
    ];
    const answers = (origin: string): readonly string[] => [
      ...['Access-Control-Allow-Origin', origin],
      ...['Access-Control-Expose-Headers', EXPOSED],
      ...(onEvery ? permits : []),
    ];
    this.#any = origins === undefined ? answers('*') : undefined;
    for (const origin of origins ?? []) this.#byOrigin.set(origin, [...answers(origin), ...VARY]);
    const age = ['Access-Control-Max-Age', String(PREFLIGHT_SECONDS)];
    this.preflightHeaders = onEvery ? age : [...permits, ...age];
  }

  /** Whether pages of this origin are let in. */
  readonly allows = (origin: string): boolean =>
    origin !== '' && (this.#any !== undefined || this.#byOrigin.has(origin));

  /** What every answer to this request carries. */
  headersFor(head: RequestHead): readonly string[] {
    return this.#any ?? this.#byOrigin.get(head.header(ORIGIN)) ?? VARY;
  }
}

/** `route`, whose answers pages of these origins may read. */
class OpenRoute implements Route {
  constructor(
    protected readonly route: Route,
    protected readonly cors: Cors,
  ) {}

  get engine(): EngineRoute | undefined {
    return this.route.engine;
  }

  get keyHeader(): ((head: RequestHead) => string | undefined) | undefined {
    return this.route.keyHeader && ((head) => this.route.keyHeader?.(head));
  }

  begin(head: RequestHead, exchange: HttpExchange): void {
    exchange.added = this.cors.headersFor(head);
    this.route.begin(head, exchange);
  }
  data(exchange: HttpExchange, chunk: ArrayBuffer, last: boolean): void {
    this.route.data(exchange, chunk, last);
  }
  abort(exchange: HttpExchange): void {
    this.route.abort(exchange);
  }
}

/** Preflights are answered before any key is asked for: browsers send none with them. Other
 * requests with OPTIONS are the route's. */
class PreflightRoute extends OpenRoute {
  override begin(head: RequestHead, exchange: HttpExchange): void {
    if (!this.cors.allows(head.header(ORIGIN))) {
      super.begin(head, exchange);
      return;
    }
    exchange.added = this.cors.headersFor(head);
    exchange.send(200, TEXT_TYPE, '', this.cors.preflightHeaders);
  }
}

/** `cors` undefined: pages of other origins are not let in, and `route` is handed on as it is. */
export function withCors(route: Route, cors: Cors | undefined, method: string): Route {
  if (cors === undefined) return route;
  return method === 'OPTIONS' ? new PreflightRoute(route, cors) : new OpenRoute(route, cors);
}
