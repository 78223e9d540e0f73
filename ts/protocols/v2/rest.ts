// Predict Protocol V2 over REST. Hot path (infer) and documents; the listener's thread.
// Source: the Predict Protocol V2 text and Triton's extensions;
// docs/reference/protocols/v2-rest.md.
import { BINARY_TYPE, JSON_TYPE, JSON_LENGTH_HEADER } from '../../base/media-types.js';
import { HEALTH, INFERENCE, METADATA, MODEL_CONFIG, STATISTICS } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ListenerSnapshots, RegistrySnapshot } from '../../model/snapshot.js';
import type { Missing } from '../../engine/missing.js';
import { V2_REST } from '../../model/request-kinds.js';
import {
  headerName,
  ofCall,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../listeners/http/listener.js';
import { echoed } from '../request-text.js';
import { LaterRoute } from '../rest/body-route.js';
import type { EngineReadings } from '../engine-readings.js';
import { SeenDocument, type MakeDocument } from '../rest/seen-document.js';
import { countRefused, InferRoute, type InferState, type RestContext } from '../rest/infer.js';
import {
  modelConfigJson,
  modelListJson,
  modelMetadataJson,
  modelReady,
  serverLive,
  serverMetadataJson,
  serverReady,
  type HealthBody,
  type ServerFacts,
} from './documents.js';
import { lookUp } from './lookup.js';
import { controlEndpoint, type ControlContext } from './rest-control.js';
import {
  answerWith,
  decodedName,
  failV2,
  noSuchPath,
  wrongMethod,
  type Endpoint,
} from './rest-replies.js';
import { sharedMemoryEndpoint } from './shared-memory/rest.js';
import { modelStatistics, statisticsTargets } from './statistics.js';

const MODEL_URL =
  /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/(ready|infer|config|stats))?$/;
const ACCEPT_ENCODING = headerName('accept-encoding');
const JSON_LENGTH = headerName(JSON_LENGTH_HEADER.toLowerCase());
const DIGITS = /^\d{1,15}$/;

export interface V2Context extends RestContext, ControlContext, ServerFacts {
  readonly readings: EngineReadings;
  readonly healthBody: HealthBody;
}

class V2InferRoute extends InferRoute {
  constructor(context: V2Context, handle: number, model: string) {
    super(context, V2_REST, handle, model);
  }

  protected readHead(head: RequestHead, state: InferState): void {
    state.acceptEncoding = head.header(ACCEPT_ENCODING);
    const length = head.header(JSON_LENGTH);
    if (length === '') return;
    if (!DIGITS.test(length)) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `${JSON_LENGTH_HEADER}: expected a whole number of bytes, got '${length.slice(0, 64)}'`,
      );
    }
    state.jsonBytes = Number(length);
  }

  protected succeed(state: InferState, body: Uint8Array, jsonBytes: number): void {
    const { exchange, answerCoding: coding } = state;
    if (jsonBytes === 0 && coding === '') {
      exchange.send(200, JSON_TYPE, body);
      return;
    }
    const headers: string[] = coding === '' ? [] : ['Content-Encoding', coding];
    if (jsonBytes !== 0) headers.push(JSON_LENGTH_HEADER, String(jsonBytes));
    exchange.send(200, jsonBytes === 0 ? JSON_TYPE : BINARY_TYPE, body, headers);
  }

  protected fail(
    exchange: HttpExchange,
    code: ErrorCode,
    message: string,
    _missing?: Missing,
    retryAfterS?: number,
  ): void {
    failV2(exchange, code, message, retryAfterS);
  }
}

function refusing(context: V2Context, error: ServalError): Route {
  return answerWith(() => {
    countRefused(context, error.code);
    throw error;
  });
}

/** Source of the text: Triton's http_server.cc. */
const decoupledError = (name: string): ServalError =>
  new ServalError(
    ErrorCode.Unimplemented,
    "HTTP end point doesn't support models with decoupled transaction policy: use generate, " +
      `generate_stream or gRPC's ModelStreamInfer for '${echoed(name)}'`,
  );

function inferRoute(
  context: V2Context,
  snapshot: RegistrySnapshot,
  name: string,
  version: string | undefined,
): Route {
  try {
    const found = lookUp(snapshot, name, version);
    if (found.version?.decoupled === true) return refusing(context, decoupledError(name));
    if (found.version?.handle !== undefined) {
      return new V2InferRoute(context, found.version.handle, name);
    }
    return refusing(context, new ServalError(ErrorCode.ModelNotReady, found.reason));
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    return refusing(context, error);
  }
}

/** Statistics of one version, of a model's versions, or with "" of all models'. */
function statisticsRoute(
  context: V2Context,
  snapshot: RegistrySnapshot,
  name: string,
  version: string,
): Route {
  return new LaterRoute(failV2, async () => {
    const targets = statisticsTargets(snapshot, name, version);
    const stats = await context.readings.stats(targets.map((target) => target.handle));
    return { contentType: JSON_TYPE, body: JSON.stringify(modelStatistics(targets, stats)) };
  });
}

function listRoute({ shown }: ListenerSnapshots): Route {
  return new LaterRoute(failV2, async (head) => ({
    contentType: JSON_TYPE,
    body: modelListJson(shown, head.query()),
  }));
}

function modelEndpoint(
  context: V2Context,
  { snapshot, shown }: ListenerSnapshots,
  match: RegExpExecArray,
): Endpoint {
  const name = decodedName(match[1] ?? '');
  const version = match[2] === undefined ? undefined : decodedName(match[2]);
  const { healthBody, readings, control } = context;
  const document = (make: MakeDocument, isConstant: boolean): Route =>
    new SeenDocument(control, snapshot, failV2, make, isConstant);
  switch (match[3]) {
    case 'infer':
      return { call: INFERENCE, POST: () => inferRoute(context, snapshot, name, version) };
    case 'ready':
      return {
        call: HEALTH,
        GET: () =>
          answerWith(() =>
            modelReady(shown, name, version, healthBody, (...of) => readings.outage(...of)),
          ),
      };
    case 'config':
      return {
        call: MODEL_CONFIG,
        GET: () => document((now) => modelConfigJson(now, name, version), false),
      };
    case 'stats':
      return {
        call: STATISTICS,
        GET: () => statisticsRoute(context, snapshot, name, version ?? ''),
      };
    default:
      return {
        call: METADATA,
        GET: () => document((now) => modelMetadataJson(now, name, version), true),
      };
  }
}

function endpointAt(
  context: V2Context,
  snapshots: ListenerSnapshots,
  path: string,
): Endpoint | undefined {
  const { healthBody } = context;
  switch (path) {
    case '/v2':
      return { call: METADATA, GET: () => answerWith(() => serverMetadataJson(context), true) };
    case '/v2/models':
      return { call: METADATA, GET: () => listRoute(snapshots) };
    case '/v2/health/live':
      return { call: HEALTH, GET: () => answerWith(() => serverLive(healthBody), true) };
    case '/v2/health/ready':
    case '/health': // of load balancers and other inference servers
    case '/ping': // of SageMaker and TorchServe
      return {
        call: HEALTH,
        GET: () => answerWith(() => serverReady(snapshots.shown, healthBody), true),
      };
    case '/v2/models/stats': // a model of this name has no metadata here, as in Triton
      return { call: STATISTICS, GET: () => statisticsRoute(context, snapshots.snapshot, '', '') };
  }
  const model = MODEL_URL.exec(path);
  if (model !== null) return modelEndpoint(context, snapshots, model);
  return controlEndpoint(context, path) ?? sharedMemoryEndpoint(context, path);
}

/** The route of a URL under /v2. The listener caches it until the snapshot changes. */
export function v2Route(
  context: V2Context,
  snapshots: ListenerSnapshots,
  method: string,
  path: string,
): Route {
  const endpoint = endpointAt(context, snapshots, path);
  if (endpoint === undefined) return noSuchPath(method, path);
  const make = method === 'GET' || method === 'POST' ? endpoint[method] : undefined;
  if (make === undefined) return ofCall(endpoint.call, wrongMethod(endpoint, method));
  const { call, posted = call } = endpoint;
  return ofCall(method === 'POST' ? posted : call, make());
}
