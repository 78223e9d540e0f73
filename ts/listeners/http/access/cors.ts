// CORS: response headers for web pages of allowed origins, and preflight responses. Inactive
// without --cors-origins. The listener's thread. Source: Fetch 3.2; tfserving.md 1.1.
import { TEXT_TYPE } from '../../../base/media-types.js';
import {
  headerName,
  type EngineRoute,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../listener.js';

/** Structured-cloneable. */
export interface CorsSettings {
  /** Origins as browsers write them; undefined: all origins. */
  readonly origins: readonly string[] | undefined;
  /**
   * TensorFlow Serving's behaviour: every response lists the allowed methods and headers, not only
   * preflight responses.
   */
  readonly onEvery: boolean;
  /** Headers that carry keys, besides Authorization. */
  readonly keyHeaders: readonly string[];
}

const ORIGIN = headerName('origin');
const METHODS = 'GET, POST, OPTIONS';
const REQUEST_HEADERS = [
  'Accept, Accept-Encoding, Authorization, Content-Encoding, Content-Type',
  'Inference-Header-Content-Length, traceparent, tracestate',
];
/** Response headers that a page may read, besides those that every page may. */
const EXPOSED =
  'Allow, Content-Encoding, Inference-Header-Content-Length, Retry-After, serval-load-wait-ms, ' +
  'traceparent, WWW-Authenticate';
/** How long browsers may cache a preflight response. */
const PREFLIGHT_SECONDS = 7200;
const VARY: readonly string[] = ['Vary', 'Origin'];

export class Cors {
  /** Headers of a preflight response, besides headersFor(). */
  readonly preflightHeaders: readonly string[];
  /** Headers if any origin is allowed. */
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

  /** Whether pages of this origin are allowed. */
  readonly allows = (origin: string): boolean =>
    origin !== '' && (this.#any !== undefined || this.#byOrigin.has(origin));

  /** Headers of every response to this request. */
  headersFor(head: RequestHead): readonly string[] {
    return this.#any ?? this.#byOrigin.get(head.header(ORIGIN)) ?? VARY;
  }
}

/** Wraps `route`, so that pages of these origins may read its responses. */
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

/**
 * Preflights are answered before any key is checked: browsers send none with them. Other requests
 * with OPTIONS go to the route.
 */
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

/** `cors` undefined: pages of other origins are refused, and `route` is returned unchanged. */
export function withCors(route: Route, cors: Cors | undefined, method: string): Route {
  if (cors === undefined) return route;
  return method === 'OPTIONS' ? new PreflightRoute(route, cors) : new OpenRoute(route, cors);
}
