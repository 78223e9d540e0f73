// A model at a URL: V2 over HTTP with binary tensors, V1 with JSON, or gRPC (grpc/). Control plane.
// Source: docs/reference/protocols/v2-rest.md, docs/reference/protocols/v1-rest.md.
import { BINARY_TYPE, JSON_TYPE, JSON_LENGTH_HEADER } from '../../base/media-types.js';
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { requestOf } from '../../library/load-model.js';
import { tableAnswer } from '../../library/table-request.js';
import { byName, tensorAnswer } from '../../library/tensor-request.js';
import type { InferOptions, InputInfo, Inputs, Outputs, Tensor } from '../../library/types.js';
import { TABULAR_PLATFORMS } from '../../model/platforms.js';
import type { Datatype } from '../../model/snapshot.js';
import { parseExact } from '../../protocols/frames/exact-json.js';
import { echo } from '../../base/text.js';
import { plain, type Row } from './inputs.js';
import { v1Metadata, v1Text } from './v1-json.js';

const MODEL_PATH =
  /^(.*)\/(v[12])\/models\/([^/:]+)(?:\/versions\/([^/:]+))?(?:\/infer|:predict)?\/?$/;

/** Calls on a model, wherever it is. */
export interface Callable {
  readonly name: string;
  readonly version: string;
  readonly inputs: readonly InputInfo[];
  readonly isTable: boolean;
  infer(inputs: Inputs | readonly Row[], options: InferOptions): Promise<Outputs>;
  close(): Promise<void>;
}

export interface RemoteTarget {
  /** Scheme, host and port, and for HTTP the path before /v2. */
  readonly base: string;
  readonly isGrpc: boolean;
  /** any: V2, or V1 if a gRPC server has no V2. */
  readonly protocol: 'v1' | 'v2' | 'any';
  readonly model: string;
  /** "" = the server's choice. */
  readonly version: string;
}

/** `model`, `version`: given besides the URL. Errors: InvalidArgument. */
export function remoteTarget(text: string, model?: string, version?: string): RemoteTarget {
  const bad = (expected: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `${text}: expected ${expected}`);
  if (!URL.canParse(text)) throw bad('a URL');
  const { protocol: scheme, host, port, pathname, search } = new URL(text);
  if (!/^(https?|grpcs?):$/.test(scheme)) {
    throw bad('http:// or https:// (the HTTP port), grpc:// or grpcs:// (the gRPC port)');
  }
  const isGrpc = scheme.startsWith('grpc');
  if (isGrpc && (host === '' || (scheme === 'grpc:' && port === ''))) {
    throw bad(`${scheme}//HOST:PORT`);
  }
  const path = pathname.replace(/\/$/, '');
  const [, before = '', protocol, name = '', inside = ''] = MODEL_PATH.exec(path) ?? prefixOf(path);
  const named = model ?? decoded(name, bad);
  if (named === '') throw bad('/v2/models/NAME after the address, or --model NAME');
  if (isGrpc && (before !== '' || search !== '')) {
    throw bad(`only /v2/models/NAME or /v1/models/NAME after ${scheme}//${host}`);
  }
  return {
    base: `${scheme}//${host}${before}`,
    isGrpc,
    protocol: protocol === 'v1' || protocol === 'v2' ? protocol : isGrpc ? 'any' : 'v2',
    model: named,
    version: version ?? decoded(inside, bad),
  };
}

/** The part before the protocol, and the protocol if it is present. */
const prefixOf = (path: string): readonly string[] => /^(.*?)(?:\/(v[12]))?$/.exec(path) ?? [];

function decoded(text: string, bad: (expected: string) => ServalError): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw bad(`percent signs with two digits each, got ${echo(text)}`);
  }
}

/** Gets the model's metadata. Errors: the server's; ModelNotReady: no server. */
export async function openRemote(
  target: RemoteTarget,
  headers: Readonly<Record<string, string>>,
  signature: string | undefined,
): Promise<Callable> {
  if (target.isGrpc) return (await import('./grpc/open.js')).openGrpc(target, headers, signature);
  return target.protocol === 'v2'
    ? openV2(target, headers)
    : openV1(target, headers, signature ?? DEFAULT_SIGNATURE);
}

interface Reply {
  readonly body: Buffer;
  readonly jsonBytes: number;
}

async function call(url: string, init: RequestInit): Promise<Reply> {
  const unreachable = (error: unknown): ServalError => {
    const { cause } = error as { readonly cause?: unknown };
    const why = reasonOf(cause ?? error);
    return new ServalError(ErrorCode.ModelNotReady, `${url}: no response: ${why}`);
  };
  const answer = await fetch(url, init).catch((error: unknown) => {
    throw unreachable(error);
  });
  const body = Buffer.from(
    await answer.arrayBuffer().catch((error: unknown) => {
      throw unreachable(error);
    }),
  );
  if (answer.status !== 200) throw refusal(url, answer.status, body);
  return { body, jsonBytes: Number(answer.headers.get(JSON_LENGTH_HEADER) ?? 0) };
}

function refusal(url: string, status: number, body: Buffer): ServalError {
  const text = body.toString('utf8', 0, 65_536);
  let message = text;
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') message = error;
  } catch {
    message = echo(text);
  }
  const code = status === 404 ? ErrorCode.ModelNotFound : ErrorCode.InvalidArgument;
  const own = status >= 500 ? ErrorCode.BackendFailed : code;
  return new ServalError(own, `${url}: status ${status}: ${message}`);
}

function jsonOf(url: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new ServalError(
      ErrorCode.Internal,
      `${url}: expected JSON, got ${echo(body.toString())}`,
    );
  }
}

const modelUrl = ({ base, protocol, model, version }: RemoteTarget): string => {
  const versioned = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
  return `${base}/${protocol}/models/${encodeURIComponent(model)}${versioned}`;
};

interface V2Metadata {
  readonly platform?: string;
  readonly versions?: readonly string[];
  readonly inputs?: readonly { name: string; datatype: Datatype; shape: readonly number[] }[];
}

async function openV2(
  target: RemoteTarget,
  headers: Readonly<Record<string, string>>,
): Promise<Callable> {
  const url = modelUrl(target);
  const { body } = await call(url, { headers });
  const metadata = jsonOf(url, body) as V2Metadata;
  const inputs = (metadata.inputs ?? []).map((one) => ({ ...one, unknownRank: false }));
  const isTable = Object.values(TABULAR_PLATFORMS).some((one) => one === metadata.platform);
  return {
    name: target.model,
    version: target.version || (metadata.versions?.at(-1) ?? ''),
    inputs,
    isTable,
    infer: async (values, options) => {
      const request = requestOf({ inputs, isTable }, values, options);
      const { jsonBytes } = request;
      const length = jsonBytes < 0 ? {} : { [JSON_LENGTH_HEADER]: String(jsonBytes) };
      const type = jsonBytes < 0 ? JSON_TYPE : BINARY_TYPE;
      const answer = await call(`${url}/infer`, {
        method: 'POST',
        headers: { 'content-type': type, ...length, ...headers },
        body: request.body,
      });
      return isTable ? tableAnswer(answer.body) : tensorAnswer(answer.body, answer.jsonBytes);
    },
    close: () => Promise.resolve(),
  };
}

async function openV1(
  target: RemoteTarget,
  headers: Readonly<Record<string, string>>,
  signature: string,
): Promise<Callable> {
  const url = modelUrl(target);
  const { body } = await call(`${url}/metadata`, { headers });
  const { version, inputs } = v1Metadata(jsonOf(url, body), signature, url);
  return {
    name: target.model,
    version: target.version || version,
    inputs,
    isTable: false,
    infer: async (values) => {
      const reply = await call(`${url}:predict`, {
        method: 'POST',
        headers,
        body: v1Body(values, signature),
      });
      return v1Outputs(reply.body);
    },
    close: () => Promise.resolve(),
  };
}

function v1Body(values: Inputs | readonly Row[], signature: string): string {
  if (Array.isArray(values)) return v1Text({ signature_name: signature, instances: values });
  const inputs = Object.fromEntries(
    Object.entries(values as Inputs).map(([name, value]) => [name, nestedValue(value)]),
  );
  return v1Text({ signature_name: signature, inputs });
}

/** Nested lists, also of {data, shape}. */
function nestedValue(value: unknown): unknown {
  const { data, shape } = (value ?? {}) as { data?: ArrayLike<unknown>; shape?: readonly number[] };
  if (data === undefined || shape === undefined) return value;
  let level: unknown[] = Array.from(data);
  for (const dim of [...shape].reverse()) {
    const grouped: unknown[] = [];
    for (let i = 0; i < level.length; i += dim) grouped.push(level.slice(i, i + dim));
    level = grouped;
  }
  return level[0];
}

/** V1 reports no datatypes: values have their JSON types. */
function v1Outputs(body: Buffer): Outputs {
  const answer = plain(parseExact(body.toString('utf8'))) as {
    readonly outputs?: unknown;
    readonly predictions?: unknown;
  };
  const values = answer.outputs ?? answer.predictions;
  const isNamed = typeof values === 'object' && values !== null && !Array.isArray(values);
  const named = isNamed ? Object.entries(values) : [['predictions', values] as const];
  return byName(named.map(([name, value]) => v1Tensor(name, value)));
}

function v1Tensor(name: string, value: unknown): Tensor {
  const shape: number[] = [];
  for (let at = value; Array.isArray(at); at = at[0] as unknown) shape.push(at.length);
  const data = Array.isArray(value) ? (value.flat(Infinity) as Tensor['data']) : [value];
  return { name, datatype: 'JSON', shape, data: data as Tensor['data'] };
}
