// The target of a benchmark: a model of this machine, for which a server is started, or a model at
// a running server. Control plane, main thread.
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { modelPath, placeOf } from '../../../config/values/model-path.js';
import { configError, type Written } from '../../../config/values/values.js';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';
import type { InputInfo } from '../../../library/types.js';
import { loadModelWith } from '../../../library/load-model.js';
import { MODEL_SETTINGS } from '../../../library/settings.js';
import { TABULAR_PLATFORMS } from '../../../model/platforms.js';
import type { LoadTarget } from '../load/sender.js';
import { ALL_PATHS, carrierOf, isOfV1, USUAL_PATHS } from '../paths.js';
import type { RequestPlace } from '../request/place.js';
import type { BenchPath } from '../types.js';
import { ChildServer } from './child-server.js';
import { foundModel } from './found-model.js';
import {
  grpcMetadata,
  restMetadata,
  servingMetadataOf,
  v1RestMetadata,
  type Metadata,
} from './metadata.js';
import { benchUrl, isBenchUrl, type BenchUrl } from './url.js';

/** The requested target. */
export interface TargetChoice {
  /** A path, NAME=PATH or a URL. */
  readonly target: string;
  readonly model: string | undefined;
  readonly version: string | undefined;
  /** REST over HTTP/2; default false. */
  readonly isHttp2?: boolean;
  /** Signature for TensorFlow Serving's APIs; undefined = serving_default. */
  readonly signature?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** PEM file; "" = the roots that Node trusts. */
  readonly tlsCa: string;
  /** Flags of `serval serve`, by name. */
  readonly settings: ReadonlyMap<string, Written>;
  /**
   * Paths that will be measured, so that nothing unneeded is started; undefined: those of V2, or
   * what the URL implies.
   */
  readonly paths: readonly BenchPath[] | undefined;
}

export interface BenchTarget {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly inputs: readonly InputInfo[];
  readonly isTable: boolean;
  readonly rowsOut: boolean;
  /** "this process' child", or the URL. */
  readonly server: string;
  /** Paths that can be measured. */
  readonly paths: readonly BenchPath[];
  /** Target of a path's requests; undefined: this process. */
  place(path: BenchPath): RequestPlace | undefined;
  load(path: BenchPath): LoadTarget;
  /** CPU seconds of the server's threads. */
  cpuSeconds(): number | undefined;
  close(): Promise<void>;
}

export const CHILD = "this process' child";
const REST: readonly BenchPath[] = ['rest-json', 'rest-binary'];
/** Available paths by the URL's protocol. */
const OFFERED: Readonly<
  Record<BenchUrl['kind'], Readonly<Record<BenchUrl['protocol'], readonly BenchPath[]>>>
> = {
  http: { v2: REST, v1: ['v1-json'], any: [...REST, 'v1-json'] },
  grpc: { v2: ['grpc'], v1: ['grpc-predict'], any: ['grpc', 'grpc-predict'] },
};

/** Errors: InvalidArgument; the server's error about the model; ModelNotReady: no server. */
export function openTarget(choice: TargetChoice): Promise<BenchTarget> {
  return isBenchUrl(choice.target) ? openUrl(choice) : openModelTarget(choice);
}

const isTabularPlatform = (platform: string): boolean =>
  Object.values(TABULAR_PLATFORMS).some((one) => one === platform);

/** Cells of tabular models may be missing, which binary tensors cannot express. */
const suits = (path: BenchPath, platform: string): boolean =>
  path !== 'rest-binary' || !isTabularPlatform(platform);

async function openUrl(choice: TargetChoice): Promise<BenchTarget> {
  const url = benchUrl(choice.target, choice.model, choice.version);
  const tlsCa = url.isTls ? choice.tlsCa : undefined;
  const { headers, signature = '', isHttp2 = false } = choice;
  const place: RequestPlace = { ...url, headers, signature, isHttp2 };
  const { metadata, paths } = await askUrl(url, place, choice);
  const { kind, host, port } = url;
  return {
    name: url.model,
    ...metadata,
    isTable: isTabularPlatform(metadata.platform),
    server: choice.target,
    paths: paths.filter((one) => suits(one, metadata.platform)),
    place: () => place,
    load: () => ({ kind: kind === 'http' && isHttp2 ? 'http2' : kind, host, port, tlsCa }),
    cpuSeconds: () => undefined,
    close: () => Promise.resolve(),
  };
}

interface Asked {
  readonly metadata: Metadata;
  readonly paths: readonly BenchPath[];
}

/**
 * Asks through the API to be measured; V2's if both are. If none is named and a gRPC server has no
 * V2, asks through TensorFlow Serving's.
 */
async function askUrl(
  { kind, protocol }: BenchUrl,
  place: RequestPlace,
  { paths: wanted, signature, tlsCa }: TargetChoice,
): Promise<Asked> {
  const offered = OFFERED[kind][protocol];
  const usual = offered.filter((one) => isOfV1(one) === (signature !== undefined));
  const asked = wanted?.filter((one) => offered.includes(one)) ?? usual;
  const measured = asked.length > 0 ? asked : offered;
  checkSignature(signature, measured);
  const ask = async (ofV1: boolean): Promise<Metadata> => {
    if (kind === 'http') return (ofV1 ? v1RestMetadata : restMetadata)(place, tlsCa);
    const ca = place.isTls ? tlsCa : undefined;
    return (ofV1 ? servingMetadataOf : grpcMetadata)(place, ca);
  };
  const ofV1 = measured.every(isOfV1);
  const answered = (own: boolean, metadata: Metadata): Asked => {
    return { metadata, paths: wanted ? offered : offered.filter((one) => isOfV1(one) === own) };
  };
  const mayBeServing = kind === 'grpc' && (wanted ?? offered).includes('grpc-predict');
  try {
    return answered(ofV1, await ask(ofV1));
  } catch (error) {
    if (ofV1 || !mayBeServing || !isUnimplemented(error)) throw error;
    return answered(true, await ask(true));
  }
}

const isUnimplemented = (error: unknown): boolean =>
  error instanceof ServalError && error.code === ErrorCode.Unimplemented;

/** Errors: InvalidArgument: V2 always calls the model's default signature. */
function checkSignature(signature: string | undefined, paths: readonly BenchPath[]): void {
  const other = paths.find((one) => !isOfV1(one));
  if (signature === undefined || other === undefined) return;
  const expected = `expected only --paths ${ALL_PATHS.filter(isOfV1).join(',')}`;
  throw configError('--signature', `${expected}, as other paths have no signatures; got ${other}`);
}

async function openModelTarget(choice: TargetChoice): Promise<BenchTarget> {
  const { path, name } = await servedPath(choice);
  const { version = '', headers, settings, signature = '', isHttp2 = false } = choice;
  const wanted = choice.paths ?? USUAL_PATHS;
  checkSignature(choice.signature, wanted);
  const own = new Map([...settings].filter(([flag]) => MODEL_SETTINGS.includes(flag)));
  own.set('log-level', { where: 'log-level', texts: ['error'], folder: '' });
  const engine: LoadTarget = {
    kind: 'engine',
    path,
    choice: { name, version: choice.version },
    settings: own,
  };
  if (wanted.every((one) => carrierOf(one) === 'none')) {
    return engineAlone(path, choice, engine, own);
  }
  const child = await ChildServer.start([path, ...serveArguments(settings)]);
  const { host } = child;
  const portOf = (one: BenchPath): number =>
    carrierOf(one) === 'grpc' ? child.grpcPort : child.httpPort;
  const place = (port: number): RequestPlace => {
    const own = { model: name, version, label: '', signature, headers };
    return { host, port, isTls: false, isHttp2, prefix: '', ...own };
  };
  try {
    const metadata = await childMetadata(place(child.httpPort));
    const offered = choice.paths === undefined ? USUAL_PATHS : ALL_PATHS;
    return {
      name,
      ...metadata,
      isTable: isTabularPlatform(metadata.platform),
      server: CHILD,
      paths: offered.filter((one) => suits(one, metadata.platform)),
      place: (one) => (carrierOf(one) === 'none' ? undefined : place(portOf(one))),
      load: (one) => {
        const carrier = carrierOf(one);
        if (carrier === 'none') return engine;
        const kind = carrier === 'http' && isHttp2 ? 'http2' : carrier;
        return { kind, host, port: portOf(one), tlsCa: undefined };
      },
      cpuSeconds: () => child.cpuSeconds(),
      close: () => child.close(),
    };
  } catch (error) {
    await child.close();
    throw error;
  }
}

/** Inputs of the requested signature, which V2 does not report. */
async function childMetadata(place: RequestPlace): Promise<Metadata> {
  const metadata = await restMetadata(place, '');
  if (place.signature === '') return metadata;
  return { ...(await v1RestMetadata(place, '')), platform: metadata.platform };
}

/** No server: loads the model to learn its inputs. */
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
    rowsOut: true,
    server: 'none',
    paths: ['engine'],
    place: () => undefined,
    load: () => engine,
    cpuSeconds: () => undefined,
    close: () => Promise.resolve(),
  };
}

/**
 * The path of the one model, also within a folder of several. Errors: InvalidArgument,
 * ModelNotFound.
 */
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

/** The PEM text of --tls-ca. Errors: InvalidArgument. */
export function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw configError('--tls-ca', `${basename(path)}: ${reasonOf(error)}`);
  }
}
