// TensorFlow Serving's REST API. Hot path (predict) and documents; the listener's thread.
// Source: tensorflow/serving http_rest_api_handler; docs/protocols/v1-rest.md.
import { ERRORS, ErrorCode, ServalError } from '../errors.js';
import type { RegistrySnapshot, VersionSnapshot } from '../registry/snapshot.js';
import { V1_PREDICT } from '../native/port.js';
import type { HttpExchange, RequestHead, Route } from '../transport/listener.js';
import { canonicalVersion } from './request-text.js';
import { DocumentRoute, errorBody, InferRoute, type RestContext } from './rest-infer.js';
import { v1MetadataJson, v1StatusJson, type V1Target } from './v1-documents.js';

const JSON_TYPE = 'application/json';
const NAME = '([^/:]+)';
const WHICH = '(?:/versions/(\\d+)|/labels/([^/:]+))?';
const POST_URL = new RegExp(`^/v1/models/${NAME}${WHICH}:(classify|regress|predict)$`, 'i');
const GET_URL = new RegExp(`^/v1/models(?:/${NAME})?${WHICH}(/metadata)?$`, 'i');
const METADATA_MODEL = /^\/v1\/models\/metadata$/i;
// Clients match on TensorFlow Serving's words; ours, which say more, follow. Source: tfserving.md
// 1.10.
const QUEUE_FULL = 'The batch scheduling queue to which this task was submitted is full';

function fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
  exchange.send(ERRORS[code].v1Http, JSON_TYPE, errorBody(message));
}

/** Throws ServalError where the percent-encoding is broken. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ServalError(ErrorCode.InvalidArgument, `Malformed request: bad escape in ${text}`);
  }
}

function malformed(head: RequestHead): ServalError {
  const query = head.query();
  const url = query === '' ? head.path() : `${head.path()}?${query}`;
  return new ServalError(ErrorCode.InvalidArgument, `Malformed request: ${head.method()} ${url}`);
}

/** The version that a target means in this snapshot. Errors: InvalidArgument (label, version
 * text). */
function findVersion(snapshot: RegistrySnapshot, target: V1Target): VersionSnapshot | undefined {
  const model = Object.hasOwn(snapshot.models, target.name)
    ? snapshot.models[target.name]
    : undefined;
  let wanted = model?.defaultVersion;
  if (target.label !== undefined) {
    const labels = model?.labels ?? {};
    wanted = Object.hasOwn(labels, target.label) ? labels[target.label] : undefined;
    if (model !== undefined && wanted === undefined) {
      const text = `Unrecognized servable version label: ${target.label}`;
      throw new ServalError(ErrorCode.InvalidArgument, text);
    }
  } else if (target.version !== undefined) {
    wanted = canonicalVersion(target.version);
    if (wanted === undefined) {
      const text = `Failed to convert version: ${target.version} to numeric.`;
      throw new ServalError(ErrorCode.InvalidArgument, text);
    }
  }
  const version = model?.versions.find((entry) => entry.version === wanted);
  return version?.state === 'AVAILABLE' ? version : undefined;
}

function notFoundText(target: V1Target): string {
  const which = target.version === undefined
    ? `Latest(${target.name})`
    : `Specific(${target.name}, ${canonicalVersion(target.version) ?? target.version})`;
  return `Servable not found for request: ${which}`;
}

class PredictRoute extends InferRoute {
  constructor(
    context: RestContext,
    private readonly target: V1Target,
    version: VersionSnapshot | undefined,
    private readonly lookupError: ServalError | undefined,
  ) {
    super(context, V1_PREDICT, version?.handle ?? 0);
  }

  protected readHead(head: RequestHead): void {
    if (head.query() !== '') throw malformed(head);
  }

  protected succeed(exchange: HttpExchange, body: Uint8Array): void {
    exchange.send(200, JSON_TYPE, body);
  }

  protected fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
    // The engine looked at the body first, as TensorFlow Serving does, and found only the model
    // missing: the words are ours to choose.
    if (code === ErrorCode.ModelNotFound) {
      const known = this.lookupError;
      if (known !== undefined) fail(exchange, known.code, known.message);
      else fail(exchange, code, notFoundText(this.target));
      return;
    }
    fail(exchange, code, code === ErrorCode.QueueFull ? `${QUEUE_FULL}: ${message}` : message);
  }
}

// What TensorFlow Serving says of a signature that is no classify or regress signature, in its
// order of checks. Source: tensorflow/serving classifier.cc and regressor.cc.
function predictOnlyError(verb: string, version: VersionSnapshot): ServalError {
  const [signature] = version.signatures;
  const inputs = signature?.inputs.map((input) => input.name) ?? [];
  const outputs = signature?.outputs.map((output) => output.name) ?? [];
  const kind = verb === 'classify' ? 'classification' : 'regression';
  const shown = `inputs: ${inputs.join(', ')}; outputs: ${outputs.join(', ')}; `
    + 'method_name: tensorflow/serving/predict';
  let text = `No ${kind} outputs found in SignatureDef: ${shown}`;
  if (inputs.length !== 1) text = 'Expected one input Tensor.';
  else if (verb === 'regress' && outputs.length !== 1) text = 'Expected one output Tensor.';
  else if (verb === 'classify' && outputs.length !== 1 && outputs.length !== 2) {
    text = `Expected one or two output Tensors, found ${outputs.length}`;
  } else if (inputs[0] !== 'inputs') {
    text = `No ${kind} inputs found in SignatureDef: ${shown}`;
  }
  return new ServalError(ErrorCode.InvalidArgument, text);
}

/** classify and regress: an ONNX model has a predict signature only. */
class PredictOnlyRoute extends InferRoute {
  constructor(
    context: RestContext,
    private readonly target: V1Target,
    private readonly verb: string,
    private readonly version: VersionSnapshot | undefined,
    private readonly lookupError: ServalError | undefined,
  ) {
    super(context, V1_PREDICT, 0);
  }

  protected readHead(head: RequestHead): void {
    if (head.query() !== '') throw malformed(head);
  }

  protected succeed(exchange: HttpExchange): void {
    fail(exchange, ErrorCode.Internal, 'a predict-only model answered');
  }

  protected fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
    if (code !== ErrorCode.ModelNotFound) {
      fail(exchange, code, message);
    } else if (this.lookupError !== undefined) {
      fail(exchange, this.lookupError.code, this.lookupError.message);
    } else if (this.version === undefined) {
      fail(exchange, ErrorCode.ModelNotFound, notFoundText(this.target));
    } else {
      const error = predictOnlyError(this.verb, this.version);
      fail(exchange, error.code, error.message);
    }
  }
}

function documentRoute(snapshot: RegistrySnapshot, path: string): Route {
  return new DocumentRoute((head, exchange) => {
    try {
      const match = head.query() === '' ? GET_URL.exec(path) : null;
      if (match === null) throw malformed(head);
      const [, name = '', version, label, metadata] = match;
      // Greedy match upstream: /v1/models/metadata is a model of that name.
      const bare = METADATA_MODEL.test(path);
      const target = {
        name: bare ? 'metadata' : decoded(name),
        version,
        label: label === undefined ? undefined : decoded(label),
      };
      const text = metadata === undefined || bare
        ? v1StatusJson(snapshot, target)
        : v1MetadataJson(snapshot, target);
      exchange.send(200, JSON_TYPE, text);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      fail(exchange, error.code, error.message);
    }
  });
}

function inferRoute(context: RestContext, snapshot: RegistrySnapshot, path: string): Route {
  const match = POST_URL.exec(path);
  const [, name = '', version, label, verb = ''] = match ?? [];
  // The verb is found whatever its case, but only its lower-case form is known.
  if (match === null || verb !== verb.toLowerCase()) {
    return new DocumentRoute((head, exchange) => {
      const error = malformed(head);
      fail(exchange, error.code, error.message);
    });
  }
  let target: V1Target = { name, version, label };
  let found: VersionSnapshot | undefined;
  let lookupError: ServalError | undefined;
  try {
    target = { name: decoded(name), version, label: label && decoded(label) };
    found = findVersion(snapshot, target);
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    lookupError = error;
  }
  if (verb === 'predict') return new PredictRoute(context, target, found, lookupError);
  return new PredictOnlyRoute(context, target, verb, found, lookupError);
}

/** The route of a URL under /v1/. Kept by the listener until the snapshot changes. */
export function v1Route(
  context: RestContext,
  snapshot: RegistrySnapshot,
  method: string,
  path: string,
): Route {
  if (method === 'POST') return inferRoute(context, snapshot, path);
  if (method === 'GET') return documentRoute(snapshot, path);
  return new DocumentRoute((head, exchange) => {
    if (method === 'OPTIONS') {
      const fromBrowser = /https?:\/\//.test(head.header('origin'));
      exchange.send(fromBrowser ? 200 : 400, JSON_TYPE, '');
      return;
    }
    const error = malformed(head);
    fail(exchange, error.code, error.message);
  });
}
