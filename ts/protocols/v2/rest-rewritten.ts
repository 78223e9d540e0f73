// REST routes whose body becomes the text of a V2 request to one version, and whose response is
// made from the text of the V2 response. Clients that can use V2 directly are faster with it. The
// listener's thread.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { FRAME_BODY_BYTES_MAX } from '../../base/limits.js';
import type { RequestLink } from '../../engine/link.js';
import { PromiseTarget } from '../../engine/promised.js';
import type { Route } from '../../listeners/http/listener.js';
import { V2_REST } from '../../model/request-kinds.js';
import type { RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import { afterLoad, unlessUnseen } from '../needs-load.js';
import type { V2Context } from './rest.js';
import { answerWith, failV2 } from './rest-replies.js';
import { BodyRoute, type Answer } from '../rest/body-route.js';

export type RewriteContext = Pick<
  V2Context,
  'link' | 'bodyBytesMax' | 'inflatedBytesMax' | 'held' | 'control'
>;

/** The version and query of a request, and the signal that its client has left. */
export interface Question {
  readonly version: VersionSnapshot;
  readonly query: string;
  readonly left: AbortSignal;
}

/**
 * `found`: the version in a snapshot; its errors are the response. `make`: the response to the
 * text of a body.
 */
export function rewrittenRoute(
  context: RewriteContext,
  snapshot: RegistrySnapshot,
  found: (now: RegistrySnapshot) => VersionSnapshot,
  make: (text: string, question: Question) => Promise<Answer>,
): Route {
  try {
    const known = unlessUnseen(() => found(snapshot));
    const bodyBytesMax = Math.min(context.bodyBytesMax, FRAME_BODY_BYTES_MAX);
    const inflatedBytesMax = Math.min(context.inflatedBytesMax, FRAME_BODY_BYTES_MAX);
    const limits = { bodyBytesMax, inflatedBytesMax, held: context.held };
    return new BodyRoute(limits, failV2, async (body, query, left) => {
      const version = known ?? (await afterLoad(context.control, snapshot, found));
      return make(textOf(body), { version, query, left });
    });
  } catch (error) {
    return answerWith(() => {
      throw error;
    });
  }
}

/** Errors: MalformedBody. */
function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new ServalError(ErrorCode.MalformedBody, 'expected a body in UTF-8, got other bytes');
  }
}

/** The text of the V2 response. Errors: the engine's; Cancelled if the client has left. */
export async function askEngine(
  link: RequestLink,
  { version, left }: Question,
  request: string,
): Promise<string> {
  left.throwIfAborted();
  const { buffer } = Uint8Array.from(Buffer.from(request));
  const target = new PromiseTarget((answer) => answer.toString('utf8'));
  link.infer(V2_REST, version.handle ?? 0, buffer, -1, target);
  left.addEventListener('abort', () => link.cancel(target), { once: true });
  return target.promise;
}
