// Responses of V2 over REST: errors, documents, wrong methods and paths. The listener's thread.
// Source: Predict Protocol V2; statuses: docs/reference/protocols/v2-rest.md.
import { JSON_TYPE } from '../../base/media-types.js';
import type { CallKind } from '../../access/groups.js';
import { ERRORS, ErrorCode, ServalError } from '../../base/errors.js';
import type { HttpExchange, Route } from '../../listeners/http/listener.js';
import { READ_CODINGS } from '../rest/content-encoding.js';
import { DocumentRoute, errorBody, errorHeaders } from '../rest/infer.js';
import type { HealthReply } from './documents.js';

/** The routes of one path by method. A missing method gets 405. */
export interface Endpoint {
  readonly call: CallKind;
  /** Access kind of POST, if it differs from GET's. */
  readonly posted?: CallKind;
  readonly GET?: () => Route;
  readonly POST?: () => Route;
}

export function failV2(
  exchange: HttpExchange,
  code: ErrorCode,
  message: string,
  retryAfterS?: number,
): void {
  const headers =
    code === ErrorCode.UnsupportedEncoding
      ? ['Accept-Encoding', READ_CODINGS.join(', ')]
      : errorHeaders(code, retryAfterS);
  exchange.note(code);
  exchange.send(ERRORS[code].v2Http, JSON_TYPE, errorBody(message), headers);
}

/**
 * Responds with a document made for each request, or with the ServalError that `make` throws.
 * `isConstant`: see HttpExchange.
 */
export function answerWith(make: () => HealthReply | string, isConstant = false): Route {
  return new DocumentRoute((_head, exchange) => {
    exchange.isConstant = isConstant;
    try {
      const made = make();
      if (typeof made === 'string') exchange.send(200, JSON_TYPE, made);
      else exchange.send(made.status, JSON_TYPE, made.body);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      failV2(exchange, error.code, error.message);
    }
  });
}

/** 405 with `Allow`. */
export function wrongMethod(endpoint: Pick<Endpoint, 'GET' | 'POST'>, method: string): Route {
  const allowed = (['GET', 'POST'] as const).filter((name) => endpoint[name] !== undefined);
  return new DocumentRoute((_head, exchange) => {
    const expected = allowed.join(' or ');
    const text = `method ${method.slice(0, 32)} is not allowed here, expected ${expected}`;
    exchange.send(ERRORS[ErrorCode.MethodNotAllowed].v2Http, JSON_TYPE, errorBody(text), [
      'Allow',
      allowed.join(', '),
    ]);
  });
}

export function noSuchPath(method: string, path: string): Route {
  return answerWith(() => {
    const text = `no such endpoint: ${method.slice(0, 32)} ${path.slice(0, 256)}`;
    throw new ServalError(ErrorCode.PathNotFound, text);
  });
}

/** A name in a URL, percent-decoded. */
export function decodedName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no model has such a name: the response is "not found"
  }
}
