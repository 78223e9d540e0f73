// GET /openapi.json[?model=NAME]. The main thread builds it; the listener's thread forwards it.
// Control plane.
import { JSON_TYPE } from '../../base/media-types.js';
import type { ModelControl } from '../../protocols/control.js';
import { METADATA } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ofCall, type Route } from '../../listeners/http/listener.js';
import { LaterRoute } from '../../protocols/rest/body-route.js';
import { echoed } from '../../protocols/request-text.js';
import { failV2, wrongMethod } from '../../protocols/v2/rest-replies.js';

const PATH = '/openapi.json';
/** The page of other servers: the console if it is enabled, else the document. */
const DOCS_PATH = '/docs';
const CONSOLE_PATH = '/';

/** A response to GET that sends the client to another path of this server. */
function redirect(to: string): Route {
  return {
    begin: (_, exchange) => exchange.send(302, JSON_TYPE, '', ['Location', to]),
    data: () => undefined,
    abort: () => undefined,
  };
}

/** undefined: the URL is not this route's. */
export function openApiRoute(
  { control, console }: { readonly control: ModelControl; readonly console: boolean },
  method: string,
  path: string,
): Route | undefined {
  if (path === DOCS_PATH) {
    const get = (): Route => redirect(console ? CONSOLE_PATH : PATH);
    return ofCall(METADATA, method === 'GET' ? get() : wrongMethod({ GET: get }, method));
  }
  if (path !== PATH) return undefined;
  const get = (): Route =>
    new LaterRoute(failV2, async (head) => {
      const asked = new URLSearchParams(head.query());
      const other = [...asked.keys()].find((name) => name !== 'model');
      if (other !== undefined) {
        const text = `query: expected 'model', got '${echoed(other)}'`;
        throw new ServalError(ErrorCode.InvalidArgument, text);
      }
      return { contentType: JSON_TYPE, body: await control.openApi(asked.get('model') ?? '') };
    });
  return ofCall(METADATA, method === 'GET' ? get() : wrongMethod({ GET: get }, method));
}
