// Triton's generate extension: POST /v2/models/NAME[/versions/V]/generate and generate_stream. Each
// request has one response, which generate_stream sends as one server-sent event. The listener's
// thread. Source: Triton's docs/protocol/extension_generate.md.
import { INFERENCE } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { EVENTS_TYPE, JSON_TYPE } from '../../base/media-types.js';
import { ofCall, type Route } from '../../listeners/http/listener.js';
import type {
  ListenerSnapshots,
  RegistrySnapshot,
  SignatureInfo,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { seenVersion } from '../needs-load.js';
import type { Answer } from '../rest/body-route.js';
import {
  askEngine,
  rewrittenRoute,
  type Question,
  type RewriteContext,
} from '../v2/rest-rewritten.js';
import { lookUp } from '../v2/lookup.js';
import { decodedName, wrongMethod } from '../v2/rest-replies.js';
import { generateAnswer } from './answer.js';
import { generateRequest } from './request.js';

const GENERATE_URL = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/generate(_stream)?$/;
const NO_SIGNATURE: SignatureInfo = { name: '', inputs: [], outputs: [] };

/** undefined: the URL is not this route's. */
export function generateRoute(
  context: RewriteContext,
  { snapshot }: ListenerSnapshots,
  method: string,
  path: string,
): Route | undefined {
  const match = GENERATE_URL.exec(path);
  if (match === null) return undefined;
  const name = decodedName(match[1] ?? '');
  const version = match[2] === undefined ? undefined : decodedName(match[2]);
  const isStream = match[3] !== undefined;
  const found = (now: RegistrySnapshot): VersionSnapshot => servedVersion(now, name, version);
  const make = (text: string, question: Question): Promise<Answer> =>
    generated(context, text, question, isStream);
  const post = (): Route => rewrittenRoute(context, snapshot, found, make);
  return ofCall(INFERENCE, method === 'POST' ? post() : wrongMethod({ POST: post }, method));
}

/** Errors: those of lookUp(); ModelNotReady; NeedsLoad. */
function servedVersion(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): VersionSnapshot {
  const { version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  return seenVersion(name, version);
}

/** Errors: those of generateRequest() and askEngine(). */
async function generated(
  { link }: RewriteContext,
  text: string,
  question: Question,
  isStream: boolean,
): Promise<Answer> {
  const [signature = NO_SIGNATURE] = question.version.signatures; // V2's own choice
  const request = generateRequest(text, signature);
  const body = generateAnswer(await askEngine(link, question, request));
  return isStream
    ? { contentType: EVENTS_TYPE, body: `data: ${body}\n\n` }
    : { contentType: JSON_TYPE, body };
}
