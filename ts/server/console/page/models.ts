// The server's models: the list, kept up to date, and the signatures of one. The browser's thread.
import { DEFAULT_SIGNATURE } from '../../../base/signatures.js';
import { DATA_TYPES, type Dtype } from '../../../model/datatype.js';
import type { Datatype, SignatureInfo, TensorInfo } from '../../../model/snapshot.js';
import { getJson, part, post } from './api.js';
import type { ModelConfig } from './structure/flow.js';

export interface VersionEntry {
  readonly version: string;
  readonly state: string;
  readonly reason?: string;
}

export interface ModelEntry {
  readonly name: string;
  readonly ready: boolean;
  readonly default_version?: string;
  readonly platform?: string;
  readonly reason?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly versions: readonly VersionEntry[];
}

interface ListAnswer {
  readonly details: readonly ModelEntry[];
  readonly next?: string;
}

/** Maximum number of listed models; the rest is not shown. */
const MODELS_MAX = 100_000;

/** Every model, by name. */
export async function listModels(): Promise<readonly ModelEntry[]> {
  const models: ModelEntry[] = [];
  let after: string | undefined;
  do {
    const query = after === undefined ? '' : `?after=${part(after)}`;
    const page = await getJson<ListAnswer>(`/v2/models${query}`);
    models.push(...page.details);
    after = page.next;
  } while (after !== undefined && models.length < MODELS_MAX);
  return models;
}

interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly reason?: string;
}

/** State of a model in the repository index that was loaded and no longer is. */
const UNLOADED = 'unloaded';

/** Models of the repositories that the list has not, because they were never loaded or are not
 * any more; none where the caller may not ask for the index. */
export async function unlisted(listed: readonly ModelEntry[]): Promise<readonly ModelEntry[]> {
  const names = new Set(listed.map(({ name }) => name));
  const entries = (await post('/v2/repository/index').catch(() => [])) as readonly IndexEntry[];
  const found = new Map<string, ModelEntry>();
  for (const { name, version, reason } of entries) {
    if (names.has(name)) continue;
    const versions = found.get(name)?.versions ?? [];
    const why = reason === undefined || reason === UNLOADED ? {} : { reason };
    const more = version === undefined ? [] : [{ version, state: 'END', ...why }];
    found.set(name, { name, ready: false, versions: [...versions, ...more], ...why });
  }
  return [...found.values()];
}

/** "ready", "loading" or "failed": what a dot's colour says. */
export function mood(model: ModelEntry): 'ready' | 'partly' | 'loading' | 'failed' | 'off' {
  const states = model.versions.map(({ state }) => state);
  const failed = model.versions.some(({ reason }) => reason !== undefined);
  if (model.ready) return failed ? 'partly' : 'ready';
  if (states.some((state) => state === 'LOADING' || state === 'START')) return 'loading';
  return failed || (model.versions.length === 0 && model.reason !== undefined) ? 'failed' : 'off';
}

export interface ModelFacts {
  readonly platform: string;
  /** It takes rows of columns, which have no fixed tensors. */
  readonly isTable: boolean;
  /** The default one first. */
  readonly signatures: readonly SignatureInfo[];
  /** undefined: it is served without one. */
  readonly config: ModelConfig | undefined;
}

interface V2Tensor extends Pick<TensorInfo, 'name' | 'datatype' | 'shape'> {
  readonly parameters?: { readonly labels?: readonly string[] };
}

interface V2Metadata {
  readonly platform: string;
  readonly inputs: readonly V2Tensor[];
  readonly outputs: readonly V2Tensor[];
}

interface V1Tensor {
  readonly dtype: string | number;
  readonly tensor_shape?: {
    readonly dim: readonly { readonly size: string; readonly name: string }[];
    readonly unknown_rank: boolean;
  };
}

interface V1Signature {
  readonly inputs: Readonly<Record<string, V1Tensor>>;
  readonly outputs: Readonly<Record<string, V1Tensor>>;
  readonly method_name: string;
}

interface V1Metadata {
  readonly metadata: {
    readonly signature_def: { readonly signature_def: Readonly<Record<string, V1Signature>> };
  };
}

const TABULAR_PLATFORM = /^(spark|mleap|pmml)/;
/** Signatures of SavedModels that run once at load and are never called. */
const INTERNAL = /^__saved_model_/;

/** undefined: no type that is served. */
function datatypeOf({ dtype }: V1Tensor): Datatype | undefined {
  const name = typeof dtype === 'string' ? dtype.replace(/^DT_|_REF$/g, '').toLowerCase() : '';
  return Object.hasOwn(DATA_TYPES, name) ? DATA_TYPES[name as Dtype].v2 : undefined;
}

function tensorOf(name: string, tensor: V1Tensor): TensorInfo {
  const { dim = [], unknown_rank: unknownRank = true } = tensor.tensor_shape ?? {};
  return {
    name,
    datatype: datatypeOf(tensor) ?? 'BYTES',
    shape: dim.map(({ size }) => Number(size)),
    symbols: dim.map((one) => one.name),
    unknownRank,
  };
}

const tensorsOf = (tensors: V1Signature['inputs']): TensorInfo[] =>
  Object.entries(tensors).map(([name, tensor]) => tensorOf(name, tensor));

function signatureOf(name: string, signature: V1Signature): SignatureInfo {
  return {
    name,
    inputs: tensorsOf(signature.inputs),
    outputs: tensorsOf(signature.outputs),
    methodName: signature.method_name,
  };
}

/**
 * V2 knows the types of columns and the names of classes, V1 the ranks and the names of dimensions.
 */
function together(v2: V2Metadata['inputs'], v1: readonly TensorInfo[]): TensorInfo[] {
  return v2.map(({ name, datatype, shape, parameters }) => {
    const known = v1.find((one) => one.name === name);
    const symbols = known?.symbols ?? shape.map(() => '');
    const labels = parameters?.labels;
    return {
      ...{ name, datatype, shape, symbols, unknownRank: known?.unknownRank ?? false },
      ...(labels !== undefined && { labels }),
    };
  });
}

/** Reads the facts of the version that answers by default, or of a given one. */
export async function modelFacts(name: string, version: string): Promise<ModelFacts> {
  const of = `/models/${part(name)}/versions/${part(version)}`;
  const [v2, v1, config] = await Promise.all([
    getJson<V2Metadata>(`/v2${of}`),
    getJson<V1Metadata>(`/v1${of}/metadata`).catch(() => undefined),
    getJson<ModelConfig>(`/v2${of}/config`).catch(() => undefined),
  ]);
  const all = Object.entries(v1?.metadata.signature_def.signature_def ?? {})
    .filter(([signature]) => !INTERNAL.test(signature))
    .map(([signature, def]) => signatureOf(signature, def));
  const first = all.find((one) => one.name === DEFAULT_SIGNATURE) ?? all[0];
  const main: SignatureInfo = {
    name: first?.name ?? DEFAULT_SIGNATURE,
    inputs: together(v2.inputs, first?.inputs ?? []),
    outputs: together(v2.outputs, first?.outputs ?? []),
    ...(first?.methodName !== undefined && { methodName: first.methodName }),
  };
  return {
    platform: v2.platform,
    isTable: TABULAR_PLATFORM.test(v2.platform),
    signatures: [main, ...all.filter((one) => one !== first)],
    config,
  };
}

/** The types of a model's outputs, by name. `version`: "" = the one that answers by default. */
export async function outputTypes(
  name: string,
  version: string,
): Promise<ReadonlyMap<string, string>> {
  const of = version === '' ? '' : `/versions/${part(version)}`;
  const { outputs } = await getJson<V2Metadata>(`/v2/models/${part(name)}${of}`);
  return new Map(together(outputs, []).map((tensor) => [tensor.name, typeText(tensor)]));
}

/** "FP32[batch, 4]". */
export function typeText({ datatype, shape, symbols, unknownRank }: TensorInfo): string {
  if (unknownRank) return `${datatype}[…]`;
  const dims = shape.map((dim, axis) => (dim >= 0 ? String(dim) : symbols[axis] || '?'));
  return `${datatype}[${dims.join(', ')}]`;
}
