// V2 responses that run no model, made from the registry's snapshot: server and model metadata,
// configuration, liveness and readiness, and the lookup rules shared with V2 over gRPC. Control
// plane, any thread; pure. Source: Predict Protocol V2; statuses:
// docs/reference/protocols/v2-rest.md.
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type {
  ModelSnapshot,
  RegistrySnapshot,
  SignatureInfo,
  TensorInfo,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { modelProblem, versionProblem, withReasons } from '../../models/registry/snapshot-build.js';
import { canonicalVersion, echoed } from '../request-text.js';
import { listPage } from '../rest/model-list.js';
import { seenVersion } from '../needs-load.js';
import { lookUp } from './lookup.js';

export const SERVER_NAME = 'serval';

/** Facts in the server's metadata. */
export interface ServerFacts {
  readonly serverVersion: string;
  /** Clients may register shared memory. */
  readonly clientShm: boolean;
  /** Clients may also register GPU memory: CUDA's runtime library is present. */
  readonly cudaShm?: boolean;
}

const EXTENSIONS: readonly string[] = [
  'binary_tensor_data',
  'classification',
  'logging',
  'model_configuration',
  'model_repository',
  'model_repository(unload_dependents)',
  'parameters',
  'schedule_policy',
  'sequence',
  'sequence(string_id)',
  'statistics',
  'tabular_v1',
  'trace',
];

/** Exactly the extensions that work. */
export function extensionsOf(facts: Pick<ServerFacts, 'clientShm' | 'cudaShm'>): readonly string[] {
  if (!facts.clientShm) return EXTENSIONS;
  const cuda = facts.cudaShm === true ? ['cuda_shared_memory'] : [];
  return [...EXTENSIONS, ...cuda, 'system_shared_memory'].sort();
}

const NOT_READY_NAMES_MAX = 10;

/**
 * 'json' responds to health requests as newer versions of the protocol do, 'empty' as the first
 * one.
 */
export type HealthBody = 'json' | 'empty';

export interface HealthReply {
  readonly status: number;
  readonly body: string;
}

/**
 * One input or output as V2 shows it. V2 cannot express an unknown rank: one dynamic dim stands for
 * it.
 */
const shownTensor = (tensor: TensorInfo): Pick<TensorInfo, 'name' | 'datatype' | 'shape'> => ({
  name: tensor.name,
  datatype: tensor.datatype,
  shape: tensor.unknownRank ? [-1] : tensor.shape,
});

type ShownTensor = ReturnType<typeof shownTensor>;

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly ShownTensor[];
  readonly outputs: readonly ShownTensor[];
  readonly [key: string]: unknown;
}

/**
 * Metadata of one ready model, for JSON and ModelMetadataResponse. Its inputs include the optional
 * ones that the configuration lists, as in Triton. `versions`: those that can be requested, lowest
 * first. Errors: those of lookUp; ModelNotReady if the version cannot be used.
 */
export function modelMetadata(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): ModelMetadata {
  const { model, version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  const signature = defaultOf(seenVersion(name, version).signatures);
  const { inputs, optionalInputs = [] } = signature;
  return {
    name: model.name,
    versions: model.versions
      .filter((entry) => entry.state === 'AVAILABLE')
      .map((entry) => entry.version)
      .reverse(),
    platform: version.platform,
    inputs: [...inputs, ...optionalInputs.filter(({ inConfig }) => inConfig)].map(shownTensor),
    outputs: signature.outputs.map(shownTensor),
  };
}

function defaultOf(signatures: readonly SignatureInfo[]): SignatureInfo {
  const named = signatures.find((entry) => entry.name === DEFAULT_SIGNATURE);
  return named ?? signatures[0] ?? { name: DEFAULT_SIGNATURE, inputs: [], outputs: [] };
}

/**
 * The body of GET /v2/models/NAME[/versions/V]: the fields of the message, and some that only JSON
 * has: optional inputs that no configuration lists, and the class names of an output, from the
 * model or its label file. Errors: those of modelMetadata.
 */
export function modelMetadataJson(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): string {
  const said = modelMetadata(snapshot, name, versionText);
  const { version } = lookUp(snapshot, name, versionText);
  const { optionalInputs = [], outputs: own } = defaultOf(version?.signatures ?? []);
  const unlisted = optionalInputs.filter(({ inConfig }) => inConfig !== true);
  const labelled = own.some(({ labels }) => labels !== undefined);
  if (unlisted.length === 0 && !labelled) return JSON.stringify(said);
  return JSON.stringify({
    ...said,
    ...(unlisted.length > 0 ? { optional_inputs: unlisted.map(shownTensor) } : {}),
    outputs: said.outputs.map((tensor, i) => {
      const labels = own[i]?.labels;
      return labels === undefined ? tensor : { ...tensor, parameters: { labels } };
    }),
  });
}

const listedVersion = (version: VersionSnapshot): object => ({
  version: version.version,
  state: version.state,
  ...(version.errorMessage !== '' && { reason: versionProblem(version) }),
});

/** Members without content are absent. */
function listedModel(listed: ModelSnapshot): object {
  const model = withReasons(listed);
  const { name, versions, labels, defaultVersion } = model;
  const served = versions.find((entry) => entry.version === defaultVersion);
  const reason = defaultVersion === undefined ? modelProblem(model) : '';
  return {
    name,
    ready: defaultVersion !== undefined,
    ...(defaultVersion !== undefined && { default_version: defaultVersion }),
    ...(served !== undefined && { platform: served.platform }),
    ...(reason !== '' && { reason }),
    ...(Object.keys(labels).length > 0 && { labels }),
    versions: versions.map(listedVersion),
  };
}

/**
 * The body of GET /v2/models: names and their details, highest version first. The protocol has no
 * such list; `models` is what KServe's server returns. Errors: those of listPage().
 */
export function modelListJson(snapshot: RegistrySnapshot, query: string): string {
  const { models, next } = listPage(snapshot, query);
  return JSON.stringify({
    models: models.map((model) => model.name),
    details: models.map(listedModel),
    ...(next !== undefined && { next }),
  });
}

/**
 * The body of GET /v2/models/NAME[/versions/V]/config: Triton's ModelConfig as JSON text. Errors:
 * those of lookUp; ModelNotReady if the version cannot be used.
 */
export function modelConfigJson(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): string {
  const { version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  if (seenVersion(name, version).configJson !== '') return version.configJson;
  throw new ServalError(
    ErrorCode.Internal,
    `model '${echoed(name)}' version ${version.version} is served without a configuration`,
  );
}

/** The body of GET /v2. */
export function serverMetadataJson(facts: ServerFacts): string {
  const extensions = extensionsOf(facts);
  return JSON.stringify({ name: SERVER_NAME, version: facts.serverVersion, extensions });
}

const healthReply = (ready: boolean, kind: HealthBody, body: object): HealthReply => ({
  status: ready ? 200 : 400,
  body: kind === 'json' ? JSON.stringify(body) : '',
});

/** GET /v2/health/live: a server that can respond is live. */
export function serverLive(kind: HealthBody): HealthReply {
  return healthReply(true, kind, { live: true });
}

/** Whether the server as a whole accepts inference requests. */
export function isServerReady(snapshot: RegistrySnapshot): boolean {
  return snapshot.ready && !snapshot.draining;
}

/** GET /v2/health/ready: 200, or 400 with the reason. */
export function serverReady(snapshot: RegistrySnapshot, kind: HealthBody): HealthReply {
  if (isServerReady(snapshot)) return healthReply(true, kind, { ready: true });
  const names = Object.values(snapshot.models)
    .filter((model) => model.defaultVersion === undefined)
    .map((model) => echoed(model.name));
  const listed = names.slice(0, NOT_READY_NAMES_MAX).join(', ');
  const unlisted = names.length - NOT_READY_NAMES_MAX;
  const more = unlisted > 0 ? ` and ${unlisted} more` : '';
  const models = names.length === 0 ? '' : `: ${listed}${more}`;
  const { faults } = snapshot;
  const reasons =
    names.length > 0 || faults.length === 0
      ? [...faults, `not every model is ready${models}`]
      : faults;
  const error = snapshot.draining ? 'the server is shutting down' : reasons.join('; ');
  return healthReply(false, kind, { ready: false, error });
}

/** Why a loaded version cannot run now; "" if it can. */
export type OutageOf = (model: string, version: string) => string;

const NO_OUTAGE: OutageOf = () => '';

/**
 * The result of ModelReady over gRPC: an unknown model is not ready, as pollers expect. Errors:
 * ModelNotFound: a version that is not an int64. Source: tritonclient's
 * simple_grpc_model_control.py.
 */
export function isModelReady(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
  outageOf: OutageOf = NO_OUTAGE,
): boolean {
  try {
    const { version } = lookUp(snapshot, name, versionText);
    return version !== undefined && outageOf(name, version.version) === '';
  } catch (error) {
    const isVersion = !versionText || canonicalVersion(versionText) !== undefined;
    if (isVersion && error instanceof ServalError && error.code === ErrorCode.ModelNotFound) {
      return false;
    }
    throw error;
  }
}

/**
 * GET /v2/models/NAME[/versions/V]/ready: 200, or 400 with the reason if the model is known but
 * cannot be used. Errors: ModelNotFound.
 */
export function modelReady(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
  kind: HealthBody,
  outageOf: OutageOf = NO_OUTAGE,
): HealthReply {
  const { model, version, reason } = lookUp(snapshot, name, versionText);
  const outage = version === undefined ? reason : outageOf(model.name, version.version);
  return version === undefined || outage !== ''
    ? healthReply(false, kind, { name: model.name, ready: false, error: outage })
    : healthReply(true, kind, { name: model.name, ready: true });
}
