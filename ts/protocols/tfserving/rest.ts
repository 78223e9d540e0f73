// TensorFlow Serving's REST API. Hot path (predict, classify, regress) and documents; the
// listener's thread.
// Source: tensorflow/serving http_rest_api_handler; docs/reference/protocols/v1-rest.md.
import { JSON_TYPE } from '../../base/media-types.js';
import { INFERENCE, METADATA } from '../../access/groups.js';
import { ERRORS, ErrorCode, ServalError } from '../../base/errors.js';
import type { ListenerSnapshots, RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import type { Missing } from '../../engine/missing.js';
import { V1_CLASSIFY, V1_PREDICT, V1_REGRESS } from '../../model/request-kinds.js';
import {
  ofCall,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../listeners/http/listener.js';
import {
  DocumentRoute,
  errorBody,
  errorHeaders,
  InferRoute,
  type InferState,
  type RestContext,
} from '../rest/infer.js';
import type { Demand } from '../needs-load.js';
import { SeenDocument } from '../rest/seen-document.js';
import { findServable, withBlockedReason, QUEUE_FULL } from './documents.js';
import { v1ListJson, v1MetadataJson, v1StatusJson } from './rest-documents.js';

const NAME = '([^/:]+)';
const WHICH = '(?:/versions/(\\d+)|/labels/([^/:]+))?';
const POST_URL = new RegExp(`^/v1/models/${NAME}${WHICH}:(classify|regress|predict)$`, 'i');
const GET_URL = new RegExp(`^/v1/models(?:/${NAME})?${WHICH}(/metadata)?$`, 'i');
const LIST_URL = /^\/v1\/models$/i;
const METADATA_MODEL = /^\/v1\/models\/metadata$/i;
export interface V1Context extends RestContext {
  readonly control: Demand;
}

const VERBS: Readonly<Record<string, number>> = {
  predict: V1_PREDICT,
  classify: V1_CLASSIFY,
  regress: V1_REGRESS,
};

function fail(
  exchange: HttpExchange,
  code: ErrorCode,
  message: string,
  retryAfterS?: number,
): void {
  exchange.note(code);
  const headers = errorHeaders(code, retryAfterS);
  exchange.send(ERRORS[code].v1Http, JSON_TYPE, errorBody(message), headers);
}

/** Throws ServalError if the percent-encoding is invalid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ServalError(ErrorCode.InvalidArgument, `Malformed request: bad escape in ${text}`);
  }
}

function malformed(method: string, path: string, query: string): ServalError {
  const url = query === '' ? path : `${path}?${query}`;
  return new ServalError(ErrorCode.InvalidArgument, `Malformed request: ${method} ${url}`);
}

function malformedHead(head: RequestHead): ServalError {
  return malformed(head.method(), head.path(), head.query());
}

/** predict, classify and regress. Exactly one of `version` and `lookupError` is set. */
class V1InferRoute extends InferRoute {
  constructor(
    context: RestContext,
    protocol: number,
    private readonly version: VersionSnapshot | undefined,
    private readonly lookupError: ServalError | undefined,
    model: string,
  ) {
    super(context, protocol, version?.handle ?? 0, model);
  }

  protected readHead(head: RequestHead): void {
    if (head.query() !== '') throw malformedHead(head);
  }

  protected succeed({ exchange }: InferState, body: Uint8Array): void {
    exchange.send(200, JSON_TYPE, body);
  }

  protected fail(
    exchange: HttpExchange,
    code: ErrorCode,
    message: string,
    missing?: Missing,
    retryAfterS?: number,
  ): void {
    // The engine checked the body first, as TensorFlow Serving does, and found only the model
    // missing; the reason is known here.
    const known = code === ErrorCode.ModelNotFound ? this.lookupError : undefined;
    if (known !== undefined) fail(exchange, known.code, known.message);
    else if (retryAfterS !== undefined) fail(exchange, code, message, retryAfterS);
    else if (code === ErrorCode.QueueFull) fail(exchange, code, `${QUEUE_FULL}: ${message}`);
    else fail(exchange, code, withBlockedReason(this.version, message, missing?.signature));
  }
}

function documentText({ snapshot, shown }: ListenerSnapshots, path: string, query: string): string {
  if (LIST_URL.test(path)) return v1ListJson(shown, query);
  const match = query === '' ? GET_URL.exec(path) : null;
  if (match === null) throw malformed('GET', path, query);
  const [, name = '', version, label, metadata] = match;
  // The match is greedy upstream: /v1/models/metadata is a model of that name.
  const bare = METADATA_MODEL.test(path);
  const target = {
    name: bare ? 'metadata' : decoded(name),
    version,
    label: label === undefined ? undefined : decoded(label),
  };
  return metadata === undefined || bare
    ? v1StatusJson(shown, target)
    : v1MetadataJson(snapshot, target);
}

function documentRoute(
  demand: Demand,
  { snapshot, shown }: ListenerSnapshots,
  path: string,
): Route {
  const make = (now: RegistrySnapshot, query: string): string =>
    documentText({ snapshot: now, shown }, path, query);
  return new SeenDocument(demand, snapshot, fail, make, true);
}

function inferRoute(context: RestContext, snapshot: RegistrySnapshot, path: string): Route {
  const match = POST_URL.exec(path);
  const [, name = '', version, label, verb = ''] = match ?? [];
  // The verb is matched in any case, but only its lower-case form is valid.
  if (match === null || verb !== verb.toLowerCase()) {
    return new DocumentRoute((head, exchange) => {
      const error = malformedHead(head);
      fail(exchange, error.code, error.message);
    });
  }
  let found: VersionSnapshot | undefined;
  let lookupError: ServalError | undefined;
  let model = '';
  try {
    model = decoded(name);
    const target = { name: model, version, label: label && decoded(label) };
    found = findServable(snapshot, target);
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    lookupError = error;
  }
  return new V1InferRoute(context, VERBS[verb] ?? V1_PREDICT, found, lookupError, model);
}

/** The route of a URL under /v1/. The listener caches it until the snapshot changes. */
export function v1Route(
  context: V1Context,
  snapshots: ListenerSnapshots,
  method: string,
  path: string,
): Route {
  if (method === 'POST') return ofCall(INFERENCE, inferRoute(context, snapshots.snapshot, path));
  if (method === 'GET') return ofCall(METADATA, documentRoute(context.control, snapshots, path));
  const route = new DocumentRoute((head, exchange) => {
    if (method === 'OPTIONS') {
      const fromBrowser = /https?:\/\//.test(head.header('origin'));
      exchange.send(fromBrowser ? 200 : 400, JSON_TYPE, '');
      return;
    }
    const error = malformedHead(head);
    fail(exchange, error.code, error.message);
  });
  return ofCall(METADATA, route);
}
