// Caches routes by method and path; the router is called once for each. Hot path; the listener's
// thread.
import type { Route, Router } from '../listener.js';

const KEPT_ROUTES_MAX = 8192;
const KEPT_METHODS_MAX = 16;

export class RouteCache {
  readonly #router: Router;
  readonly #kept = new Map<string, Map<string, Route>>();
  readonly #keptPosts = new Map<string, Route>();

  constructor(router: Router) {
    this.#router = router;
  }

  clear(): void {
    this.#kept.clear();
    this.#keptPosts.clear();
  }

  find(method: string, path: string): Route {
    let routes = method === 'POST' ? this.#keptPosts : this.#kept.get(method);
    if (routes === undefined) {
      if (this.#kept.size >= KEPT_METHODS_MAX) this.#kept.clear();
      routes = new Map();
      this.#kept.set(method, routes);
    }
    let route = routes.get(path);
    if (route === undefined) {
      route = this.#router(method, path);
      if (routes.size >= KEPT_ROUTES_MAX) routes.clear();
      routes.set(path, route);
    }
    return route;
  }
}
