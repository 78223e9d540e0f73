// What is measured: a model of this machine, which gets a server of its own, or a model at a
// running server. Control plane, main thread.
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { modelPath, placeOf } from '../../config/model-path.js';
import { configError, type Written } from '../../config/values.js';
import { ErrorCode, ServalError, reasonOf } from '../../errors.js';
import type { InputInfo } from '../../library/types.js';
import { loadModelWith } from '../../library/load-model.js';
import { MODEL_SETTINGS } from '../../library/settings.js';
import { BENCH_CALL_MS } from '../../limits.js';
import { TABULAR_PLATFORMS } from '../../model/platforms.js';
import { dataTypeOf } from '../../model/datatype.js';
import type { Datatype } from '../../model/snapshot.js';
import { MODEL_METADATA_RESPONSE } from '../../protobuf/generated/inference.js';
import { decodeWire } from '../../protobuf/schema-read.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { echo } from '../../text.js';
import type { LoadTarget } from '../load/sender.js';
import type { RequestPlace } from '../request/bodies.js';
import type { BenchPath } from '../types.js';
import { prefixed } from '../load/http2.js';
import { ChildServer } from './child-server.js';
import { foundModel } from './found-model.js';
import { grpcCall } from './grpc-call.js';
import { benchUrl, isBenchUrl, type BenchUrl } from './url.js';

/** What is asked for. */
export interface TargetChoice {
  /** A path, NAME=PATH or a URL. */
  readonly target: string;
  readonly model: string | undefined;
  readonly version: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** PEM; "" = what Node trusts. */
  readonly tlsCa: string;
  /** Flags of `serval serve`, by name. */
  readonly settings: ReadonlyMap<string, Written>;
  /** Paths that will be asked for: what none of them needs is not started. */
  readonly paths: readonly BenchPath[];
}

export interface BenchTarget {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly inputs: readonly InputInfo[];
  readonly isTable: boolean;
  /** "this process' child", or the URL. */
  readonly server: string;
  /** What can be measured of it. */
  readonly paths: readonly BenchPath[];
  /** Where requests of a path go; undefined: into this process. */
  place(path: BenchPath): RequestPlace | undefined;
  load(path: BenchPath): LoadTarget;
  /** Seconds that the server's threads have run. */
  cpuSeconds(): number | undefined;
  close(): Promise<void>;
}

export const CHILD = "this process' child";
const REST: readonly BenchPath[] = ['rest-json', 'rest-binary'];
const GRPC: readonly BenchPath[] = ['grpc'];
const ALL: readonly BenchPath[] = ['engine', ...REST, ...GRPC];
const NETWORK: readonly BenchPath[] = [...REST, ...GRPC];

/** Errors: InvalidArgument; what the server says of the model; ModelNotReady: no server. */
export function openTarget(choice: TargetChoice): Promise<BenchTarget> {
  return isBenchUrl(choice.target) ? openUrl(choice) : openModelTarget(choice);
}

interface Metadata {
  readonly platform: string;
  readonly version: string;
  readonly inputs: readonly InputInfo[];
}

const isTablePlatform = (platform: string): boolean =>
  Object.values(TABULAR_PLATFORMS).some((one) => one === platform);

/** Cells of models of columns may be missing, which tensors in binary do not say. */
const suits = (path: BenchPath, platform: string): boolean =>
  path !== 'rest-binary' || !isTablePlatform(platform);

async function openUrl(choice: TargetChoice): Promise<BenchTarget> {
  const url = benchUrl(choice.target, choice.model, choice.version);
  const tlsCa = url.isTls ? choice.tlsCa : undefined;
  const { headers } = choice;
  const metadata =
    url.kind === 'http'
      ? await restMetadata(url, headers, choice.tlsCa)
      : await grpcMetadata(url, headers, tlsCa);
  const place: RequestPlace = { ...url, headers };
  const { kind, host, port } = url;
  return {
    name: url.model,
    ...metadata,
    isTable: isTablePlatform(metadata.platform),
    server: choice.target,
    paths: (url.kind === 'grpc' ? GRPC : REST).filter((one) => suits(one, metadata.platform)),
    place: () => place,
    load: () => ({ kind, host, port, tlsCa }),
    cpuSeconds: () => undefined,
    close: () => Promise.resolve(),
  };
}

async function openModelTarget(choice: TargetChoice): Promise<BenchTarget> {
  const { path, name } = await servedPath(choice);
  const { version = '', headers, settings } = choice;
  const own = new Map([...settings].filter(([flag]) => MODEL_SETTINGS.includes(flag)));
  own.set('log-level', { where: 'log-level', texts: ['error'], folder: '' });
  const engine: LoadTarget = {
    kind: 'engine',
    path,
    choice: { name, version: choice.version },
    settings: own,
  };
  if (!choice.paths.some((one) => NETWORK.includes(one))) {
    return engineAlone(path, choice, engine, own);
  }
  const child = await ChildServer.start([path, ...serveArguments(settings)]);
  const { host } = child;
  const place = (port: number): RequestPlace => {
    return { host, port, isTls: false, prefix: '', model: name, version, headers };
  };
  try {
    const metadata = await restMetadata(place(child.httpPort), headers, '');
    return {
      name,
      ...metadata,
      isTable: isTablePlatform(metadata.platform),
      server: CHILD,
      paths: ALL.filter((one) => suits(one, metadata.platform)),
      place: (one) =>
        one === 'engine' ? undefined : place(one === 'grpc' ? child.grpcPort : child.httpPort),
      load: (one) => {
        if (one === 'engine') return engine;
        const { httpPort, grpcPort } = child;
        return one === 'grpc'
          ? { kind: 'grpc', host, port: grpcPort, tlsCa: undefined }
          : { kind: 'http', host, port: httpPort, tlsCa: undefined };
      },
      cpuSeconds: () => child.cpuSeconds(),
      close: () => child.close(),
    };
  } catch (error) {
    await child.close();
    throw error;
  }
}

/** No server: the model is loaded to be asked what it takes. */
async function engineAlone(
  path: string,
  { model: name, version }: TargetChoice,
  engine: LoadTarget,
  settings: ReadonlyMap<string, Written>,
): Promise<BenchTarget> {
  const loaded = await loadModelWith(path, { name, version }, settings);
  await loaded.close();
  return {
    name: loaded.name,
    version: loaded.version,
    platform: loaded.platform,
    inputs: loaded.inputs,
    isTable: loaded.isTable,
    server: 'none',
    paths: ['engine'],
    place: () => undefined,
    load: () => engine,
    cpuSeconds: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** One model's own path, of a folder of several too. Errors: InvalidArgument, ModelNotFound. */
async function servedPath({
  target,
  model,
}: TargetChoice): Promise<{ readonly path: string; readonly name: string }> {
  const given = modelPath(process.cwd(), target);
  const { model: found, isOnly } = await foundModel(given, model);
  const { name, basePath, source, versions } = found;
  if (isOnly && typeof given === 'string') return { path: given, name };
  const file = source === 'file' ? versions[0]?.path : undefined;
  const path = isOnly ? placeOf(given) : (file ?? basePath);
  return { path: `${name}=${path}`, name };
}

function serveArguments(settings: ReadonlyMap<string, Written>): readonly string[] {
  return [...settings].flatMap(([name, { texts, folder }]) =>
    texts.map((text) => `--${name}=${isPath(name) ? resolve(folder, text) : text}`),
  );
}

const isPath = (name: string): boolean => name === 'model-cache' || name === 'onnxruntime-library';

/** Errors: what the server says; ModelNotReady: no answer. */
async function restMetadata(
  { host, port, isTls, prefix, model, version }: Omit<RequestPlace, 'headers'>,
  headers: Readonly<Record<string, string>>,
  tlsCa: string,
): Promise<Metadata> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const versioned = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
  const path = `${prefix}/v2/models/${encodeURIComponent(model)}${versioned}`;
  const { httpCall } = await import('./http-call.js');
  const request = { host, port, isTls, tlsCa, path, headers, timeoutMs: BENCH_CALL_MS };
  const body = await httpCall(request);
  try {
    return metadataOf(JSON.parse(body.toString('utf8')) as RawMetadata, version);
  } catch (error) {
    const text = `${address}${path}: expected metadata of V2: ${reasonOf(error)}`;
    throw new ServalError(ErrorCode.Internal, text);
  }
}

async function grpcMetadata(
  { host, port, model, version }: BenchUrl,
  headers: Readonly<Record<string, string>>,
  tlsCa: string | undefined,
): Promise<Metadata> {
  const message = new ProtobufWriter().string(1, model).string(2, version).concat();
  const answer = await grpcCall({ host, port, tlsCa, headers }, 'ModelMetadata', prefixed(message));
  const { value } = decodeWire(answer, MODEL_METADATA_RESPONSE, 'ModelMetadata');
  return metadataOf(value as RawMetadata, version);
}

interface RawMetadata {
  readonly platform?: string;
  readonly versions?: readonly string[];
  readonly inputs?: readonly {
    readonly name?: string;
    readonly datatype?: string;
    readonly shape?: readonly (number | string)[];
  }[];
}

function metadataOf(raw: RawMetadata, version: string): Metadata {
  return {
    platform: raw.platform ?? '',
    version: version || (raw.versions?.at(-1) ?? ''),
    inputs: (raw.inputs ?? []).map(({ name = '', datatype = '', shape = [] }) => {
      if (dataTypeOf(datatype as Datatype) === undefined) {
        const text = `input '${name}': datatype ${echo(datatype)} cannot be sent`;
        throw new ServalError(ErrorCode.Unimplemented, text);
      }
      const own = { name, datatype: datatype as Datatype, shape: shape.map(Number) };
      return { ...own, unknownRank: false };
    }),
  };
}

/** The PEM text of --tls-ca. Errors: InvalidArgument. */
export function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw configError('--tls-ca', `${basename(path)}: ${reasonOf(error)}`);
  }
}
