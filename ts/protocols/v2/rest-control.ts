// Triton's repository and logging extensions over REST, and Serval's own reload. Control requests
// with small JSON bodies (a load may carry a model); the listener's thread forwards them. Source:
// v2-protocol.md 2, 10, 11.
import { constants } from 'node:buffer';
import { JSON_TYPE } from '../../base/media-types.js';
import type { ModelControl, RepositoryIndexEntry } from '../control.js';
import {
  CONTROL,
  CONTROL_CHANGE,
  LOGGING,
  LOGGING_CHANGE,
  TRACING,
  TRACING_CHANGE,
} from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { Route } from '../../listeners/http/listener.js';
import { BodyRoute, LaterRoute, type Answer, type BodyLimits } from '../rest/body-route.js';
import {
  base64Bytes,
  loadModel,
  loadRequest,
  unloadDependents,
  unloadModel,
  wrongKind,
  type ControlParameters,
} from './control.js';
import { decodedName, failV2, type Endpoint } from './rest-replies.js';

/** Maximum body of a control request that carries no model. */
export const SMALL_BODY_BYTES_MAX = 1_048_576;
/** Maximum length of one JavaScript string, in ASCII characters. */
const LOAD_BODY_BYTES_MAX = constants.MAX_STRING_LENGTH;

const INDEX_URL = /^\/v2\/repository(?:\/([^/]+))?\/index$/;
const MODEL_URL = /^\/v2\/repository(?:\/([^/]+))?\/models\/([^/]+)\/(load|unload)$/;

const TRACE_URL = /^\/v2\/models\/([^/]+)\/trace\/setting$/;

export interface ControlContext extends BodyLimits {
  readonly control: ModelControl;
}

export type JsonObject = Readonly<Record<string, unknown>>;

function asObject(where: string, value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongKind(where, 'an object', value);
  }
  return value as JsonObject;
}

// An empty body is allowed: clients send one to the index.
function readObject(body: Buffer): JsonObject {
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new ServalError(
      ErrorCode.MalformedBody,
      `request body is not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}`,
    );
  }
  return asObject('request body', value);
}

export const member = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function parametersOf(object: JsonObject): ControlParameters {
  const parameters = member(object, 'parameters');
  return parameters === undefined ? [] : Object.entries(asObject('parameters', parameters));
}

export const json = (value: unknown): Answer => ({
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});
export const NOTHING: Answer = { contentType: JSON_TYPE, body: '' };

export function bodyRoute(
  context: ControlContext,
  bytesMax: number,
  make: (body: JsonObject) => Promise<Answer>,
): Route {
  const bodyBytesMax = Math.min(context.bodyBytesMax, bytesMax);
  const inflatedBytesMax = Math.min(context.inflatedBytesMax, bytesMax);
  return new BodyRoute(
    { bodyBytesMax, inflatedBytesMax, held: context.held },
    failV2,
    async (body) => make(readObject(body)),
  );
}

/** Members without content are absent, as in Triton. */
const indexEntry = (entry: RepositoryIndexEntry): object => ({
  name: entry.name,
  ...(entry.version === '' ? {} : { version: entry.version }),
  state: entry.state,
  ...(entry.reason === '' ? {} : { reason: entry.reason }),
});

function indexRoute(context: ControlContext, repository: string): Route {
  return bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) => {
    const ready = member(body, 'ready');
    if (ready !== undefined && typeof ready !== 'boolean') {
      throw wrongKind('ready', 'a boolean', ready);
    }
    const entries = await context.control.index(repository, ready ?? false);
    return json(entries.map(indexEntry));
  });
}

function loadRoute(context: ControlContext, repository: string, model: string): Route {
  return bodyRoute(context, LOAD_BODY_BYTES_MAX, async (body) => {
    const request = loadRequest(model, parametersOf(body), base64Bytes);
    await loadModel(context.control, repository, request);
    return NOTHING;
  });
}

function unloadRoute(context: ControlContext, repository: string, model: string): Route {
  return bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) => {
    const dependents = unloadDependents(parametersOf(body));
    await unloadModel(context.control, repository, model, dependents);
    return NOTHING;
  });
}

function reloadRoute(context: ControlContext): Route {
  return bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) => {
    const [name] = Object.keys(body);
    if (name !== undefined) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `request body: expected no members, got '${name.slice(0, 64)}'`,
      );
    }
    await context.control.reload();
    return json({});
  });
}

const loggingEndpoint = (context: ControlContext): Endpoint => ({
  call: LOGGING,
  posted: LOGGING_CHANGE,
  GET: () => new LaterRoute(failV2, async () => json(await context.control.logSettings())),
  POST: () =>
    bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) =>
      json(await context.control.updateLogSettings(body)),
    ),
});

/** Trace settings of one model, "" = of all. */
const traceEndpoint = (context: ControlContext, model: string): Endpoint => ({
  call: TRACING,
  posted: TRACING_CHANGE,
  GET: () => new LaterRoute(failV2, async () => json(await context.control.traceSettings(model))),
  POST: () =>
    bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) =>
      json(await context.control.updateTraceSettings(model, body)),
    ),
});

/** The control endpoint at a path; undefined if there is none. */
export function controlEndpoint(context: ControlContext, path: string): Endpoint | undefined {
  if (path === '/v2/logging') return loggingEndpoint(context);
  if (path === '/v2/trace/setting') return traceEndpoint(context, '');
  const traced = TRACE_URL.exec(path);
  if (traced !== null) return traceEndpoint(context, decodedName(traced[1] ?? ''));
  if (path === '/v2/repository/reload') {
    return { call: CONTROL_CHANGE, POST: () => reloadRoute(context) };
  }
  const index = INDEX_URL.exec(path);
  if (index !== null) {
    return { call: CONTROL, POST: () => indexRoute(context, decodedName(index[1] ?? '')) };
  }
  const found = MODEL_URL.exec(path);
  if (found === null) return undefined;
  const [, repository = '', model = '', verb] = found;
  const make = verb === 'load' ? loadRoute : unloadRoute;
  return {
    call: CONTROL_CHANGE,
    POST: () => make(context, decodedName(repository), decodedName(model)),
  };
}
