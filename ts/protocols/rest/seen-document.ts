// A JSON document that may need the load of a model that loads on demand. Control plane; the
// listener's thread.
import { JSON_TYPE } from '../../base/media-types.js';
import { ServalError } from '../../base/errors.js';
import type { HttpExchange, RequestHead, Route } from '../../listeners/http/listener.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import { afterLoad, NeedsLoad, type Demand } from '../needs-load.js';
import { answerLater, type Fail } from './body-route.js';

/** Makes the document; it may throw NeedsLoad and other ServalErrors. `query`: of the URL. */
export type MakeDocument = (snapshot: RegistrySnapshot, query: string) => string;

/** Needs no body (one that is sent is ignored). `isConstant`: see HttpExchange. */
export class SeenDocument implements Route {
  constructor(
    private readonly demand: Demand,
    private readonly snapshot: RegistrySnapshot,
    private readonly fail: Fail,
    private readonly make: MakeDocument,
    private readonly isConstant: boolean,
  ) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    const query = head.query();
    exchange.isConstant = this.isConstant;
    try {
      exchange.send(200, JSON_TYPE, this.make(this.snapshot, query));
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      if (error instanceof NeedsLoad) this.#later(query, exchange);
      else this.fail(exchange, error.code, error.message);
    }
  }
  data(): void {
    // The body is ignored.
  }
  abort(): void {
    // The load continues; the exchange drops the response.
  }

  #later(query: string, exchange: HttpExchange): void {
    exchange.isConstant = false;
    answerLater(exchange, this.fail, async () => ({
      contentType: JSON_TYPE,
      body: await afterLoad(this.demand, this.snapshot, (now) => this.make(now, query)),
    }));
  }
}
