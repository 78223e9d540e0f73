// Predict Protocol V2 over REST. Hot path (infer) and documents; the listener's thread.
// Source: the Predict Protocol V2 text and Triton's extensions; docs/protocols/v2-rest.md.
import { ERRORS, ErrorCode, ServalError } from '../errors.js';
import type { RegistrySnapshot } from '../registry/snapshot.js';
import { V2_REST } from '../native/port.js';
import {
  headerName, type HttpExchange, type RequestHead, type Route,
} from '../transport/listener.js';
import { DocumentRoute, errorBody, InferRoute, type RestContext } from './rest-infer.js';
import {
  lookUp, modelMetadataJson, modelReady, serverLive, serverMetadataJson, serverReady,
  type HealthBody, type HealthReply,
} from './v2-documents.js';

const JSON_TYPE = 'application/json';
const BINARY_TYPE = 'application/octet-stream';
const LENGTH_HEADER = 'Inference-Header-Content-Length';
const MODEL_URL = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/(ready|infer))?$/;
const ACCEPT_ENCODING = headerName('accept-encoding');
const JSON_LENGTH = headerName('inference-header-content-length');
const DIGITS = /^\d{1,15}$/;

export interface V2Context extends RestContext {
  readonly healthBody: HealthBody;
  readonly serverVersion: string;
}

function fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
  const headers = code === ErrorCode.UnsupportedEncoding
    ? ['Accept-Encoding', 'gzip, deflate']
    : undefined;
  exchange.send(ERRORS[code].v2Http, JSON_TYPE, errorBody(message), headers);
}

class V2InferRoute extends InferRoute {
  constructor(context: V2Context, handle: number) {
    super(context, V2_REST, handle);
  }

  protected readHead(head: RequestHead, exchange: HttpExchange): void {
    exchange.acceptEncoding = head.header(ACCEPT_ENCODING);
    const length = head.header(JSON_LENGTH);
    if (length === '') return;
    if (!DIGITS.test(length)) {
      throw new ServalError(ErrorCode.InvalidArgument,
        `${LENGTH_HEADER}: expected a whole number of bytes, got '${length.slice(0, 64)}'`);
    }
    exchange.jsonBytes = Number(length);
  }

  protected succeed(exchange: HttpExchange, body: Uint8Array, jsonBytes: number): void {
    const coding = exchange.answerCoding;
    if (jsonBytes === 0 && coding === '') {
      exchange.send(200, JSON_TYPE, body);
      return;
    }
    const headers: string[] = coding === '' ? [] : ['Content-Encoding', coding];
    if (jsonBytes !== 0) headers.push(LENGTH_HEADER, String(jsonBytes));
    exchange.send(200, jsonBytes === 0 ? JSON_TYPE : BINARY_TYPE, body, headers);
  }

  protected fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
    fail(exchange, code, message);
  }
}

function answerWith(make: () => HealthReply | string): Route {
  return new DocumentRoute((_head, exchange) => {
    try {
      const made = make();
      if (typeof made === 'string') exchange.send(200, JSON_TYPE, made);
      else exchange.send(made.status, JSON_TYPE, made.body);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      fail(exchange, error.code, error.message);
    }
  });
}

function wrongMethod(allowed: 'GET' | 'POST', method: string): Route {
  return new DocumentRoute((_head, exchange) => {
    const text = `method ${method.slice(0, 32)} is not allowed here, expected ${allowed}`;
    exchange.send(ERRORS[ErrorCode.MethodNotAllowed].v2Http, JSON_TYPE, errorBody(text),
      ['Allow', allowed]);
  });
}

function noSuchPath(method: string, path: string): Route {
  return answerWith(() => {
    const text = `no such endpoint: ${method.slice(0, 32)} ${path.slice(0, 256)}`;
    throw new ServalError(ErrorCode.PathNotFound, text);
  });
}

function decodedName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no model has such a name: "not found" says it
  }
}

function modelRoute(
  context: V2Context,
  snapshot: RegistrySnapshot,
  match: RegExpExecArray,
): Route {
  const name = decodedName(match[1] ?? '');
  const version = match[2] === undefined ? undefined : decodedName(match[2]);
  const { healthBody } = context;
  if (match[3] === 'ready') {
    return answerWith(() => modelReady(snapshot, name, version, healthBody));
  }
  if (match[3] === undefined) return answerWith(() => modelMetadataJson(snapshot, name, version));
  try {
    const found = lookUp(snapshot, name, version);
    if (found.version?.handle !== undefined) {
      return new V2InferRoute(context, found.version.handle);
    }
    return answerWith(() => {
      throw new ServalError(ErrorCode.ModelNotReady, found.reason);
    });
  } catch (error) {
    return answerWith(() => {
      throw error;
    });
  }
}

/** The route of a URL under /v2. Kept by the listener until the snapshot changes. */
export function v2Route(
  context: V2Context,
  snapshot: RegistrySnapshot,
  method: string,
  path: string,
): Route {
  const { healthBody, serverVersion } = context;
  const model = MODEL_URL.exec(path);
  const allowed = model?.[3] === 'infer' ? 'POST' : 'GET';
  let make: (() => Route) | undefined;
  if (model !== null) make = () => modelRoute(context, snapshot, model);
  else if (path === '/v2') make = () => answerWith(() => serverMetadataJson(serverVersion));
  else if (path === '/v2/health/live') make = () => answerWith(() => serverLive(healthBody));
  else if (path === '/v2/health/ready') {
    make = () => answerWith(() => serverReady(snapshot, healthBody));
  }
  if (make === undefined) return noSuchPath(method, path);
  return method === allowed ? make() : wrongMethod(allowed, method);
}
