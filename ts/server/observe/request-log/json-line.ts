// Formats logged requests as lines of JSON: request and response as JSON values, or the bytes of
// both in base64. Control plane, main thread; pure. docs/guides/request-logging.md has the members.
import { ERRORS, ErrorCode } from '../../../base/errors.js';
import { Protocol, type LoggedRequest } from '../../../base/generated/engine.js';
import { v1Text, v2BodyText } from './bodies.js';
import type { FormOf } from './log-sink.js';
import {
  predictRequestText,
  predictResponseText,
  v2RequestText,
  v2ResponseText,
  v2StreamText,
} from './messages.js';
import type { ValuesMax } from '../../../config/observation/request-log-settings.js';

type TextOf = (request: LoggedRequest, max: ValuesMax) => string;

const requestBody: TextOf = ({ request }, max) => v1Text(request, max);
const responseBody: TextOf = ({ response }, max) => v1Text(response, max);
const v2Request: TextOf = ({ request }, max) => v2RequestText(request, max);

/** Protocols with a JSON form; messages of others are logged as bytes. */
const TEXTS: ReadonlyMap<number, readonly [request: TextOf, response: TextOf]> = new Map([
  [Protocol.V1Predict, [requestBody, responseBody]],
  [Protocol.V1Classify, [requestBody, responseBody]],
  [Protocol.V1Regress, [requestBody, responseBody]],
  [Protocol.V2Rest, [v2Body, v2Answer]],
  [Protocol.V2Grpc, [v2Request, ({ response }, max) => v2ResponseText(response, max)]],
  [Protocol.V2GrpcStream, [v2Request, ({ response }, max) => v2StreamText(response, max)]],
  [
    Protocol.TfPredict,
    [
      ({ request }, max) => predictRequestText(request, max),
      ({ response }, max) => predictResponseText(response, max),
    ],
  ],
]);

function v2Body({ request, jsonBytes }: LoggedRequest, max: ValuesMax): string {
  // A body without JSON is a single tensor that it does not describe.
  if (jsonBytes === 0) throw new TypeError('a body without JSON');
  return v2BodyText(request, jsonBytes < 0 ? request.length : jsonBytes, 'inputs', max);
}

function v2Answer({ response, responseJsonBytes }: LoggedRequest, max: ValuesMax): string {
  return v2BodyText(response, responseJsonBytes || response.length, 'outputs', max);
}

const base64 = (bytes: Uint8Array): string => `"${Buffer.from(bytes).toString('base64')}"`;

/**
 * `"request":{...}`, or `"request_base64":"..."` if there is no JSON form or it fails; nothing in
 * that case if no values are requested.
 */
function member(name: string, text: (() => string) | undefined, bytes: Uint8Array, max: number) {
  if (text !== undefined) {
    try {
      return [`"${name}":${text()}`];
    } catch {
      // Falls back to the raw bytes.
    }
  }
  if (!Number.isFinite(max)) return [`"${name}_base64":${base64(bytes)}`];
  return [`"${name}_bytes":${bytes.length}`];
}

const errorText = ({ response, responseJsonBytes }: LoggedRequest): string =>
  Buffer.from(response.subarray(responseJsonBytes)).toString('utf8');

function line(request: LoggedRequest, isRaw: boolean, max: ValuesMax): string {
  const texts = isRaw ? undefined : TEXTS.get(request.protocol);
  const { id, code } = request;
  const members = [
    `"time":"${new Date(request.timeMs).toISOString()}"`,
    `"protocol":${JSON.stringify(request.protocolName)}`,
    `"model":${JSON.stringify(request.model)}`,
    `"version":${JSON.stringify(request.version)}`,
    ...(id === '' ? [] : [`"id":${JSON.stringify(id)}`]),
    `"code":"${ERRORS[code as ErrorCode]?.name ?? code}"`,
    `"total_us":${request.totalUs}`,
    ...(isRaw && request.jsonBytes >= 0 ? [`"request_json_bytes":${request.jsonBytes}`] : []),
    ...member('request', texts && ((): string => texts[0](request, max)), request.request, max),
  ];
  if (code !== ErrorCode.Ok) {
    members.push(`"error":${JSON.stringify(errorText(request))}`);
  } else {
    const { responseJsonBytes } = request;
    if (isRaw && responseJsonBytes > 0) members.push(`"response_json_bytes":${responseJsonBytes}`);
    const text = texts && ((): string => texts[1](request, max));
    members.push(...member('response', text, request.response, max));
  }
  return `{${members.join(',')}}\n`;
}

/** `isRaw`: logs the bytes of both. `max`: maximum values per tensor. */
export const jsonForm =
  (isRaw: boolean, max: ValuesMax): FormOf =>
  (request) => ({ kind: 'record', bytes: Buffer.from(line(request, isRaw, max)) });
