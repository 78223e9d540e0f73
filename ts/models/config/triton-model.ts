// Compares a Triton model configuration with the loaded model, and builds the complete
// configuration that GET config returns. Control plane; pure. Source: v2-protocol.md 3, 11;
// Triton's configuration in JSON (every default written out) and its ONNX Runtime backend's
// auto-complete.
import { CUDA_PROVIDER, TENSORRT_PROVIDER } from '../../model/onnx-names.js';
import {
  ONNX_FILE,
  TENSORRT_FILE,
  TRITON_GRAPH,
  TRITON_SAVED_MODEL,
} from '../../base/file-names.js';
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import type { LoadedModel } from '../../model/engine-api.js';
import type { SignatureInfo, TensorInfo } from '../../model/snapshot.js';
import { tensorDims } from './engine-settings.js';
import { MODEL_CONFIG } from '../../protobuf/generated/model-config.js';
import { withDefaults } from '../../protobuf/schema-json.js';
import { read } from '../../protobuf/schema.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { NULL_BACKEND, TENSORRT_BACKEND, TABULAR_BACKEND } from './triton-checks.js';
import { configTypeOf } from '../../model/datatype.js';
import { ENSEMBLE_PLATFORM, TABULAR_PLATFORMS } from '../../model/platforms.js';
import { isEnsemble } from './ensembles/steps.js';
import { hasRagged } from './ragged/settings.js';
import { hasSequences } from './sequences/settings.js';
import { takesModelsTensors } from './triton-config.js';
import type { TritonConfig } from './types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

const NO_SIGNATURE: SignatureInfo = { name: '', inputs: [], outputs: [] };
/** Members of dynamic_batching that also apply to models that are not batched. */
const QUEUE_MEMBERS = [
  'priority_levels',
  'default_priority_level',
  'default_queue_policy',
  'priority_queue_policy',
];
const GPU_PROVIDERS = [CUDA_PROVIDER, TENSORRT_PROVIDER];

/** Values that Serval chooses if the configuration does not. */
export interface AutoComplete {
  /** Maximum batch rows; 0 = the model does not batch. */
  readonly maxBatchSize: number;
  /** Default: 1. */
  readonly instances?: number;
  /** Platform of the model's files; default: ONNX's. */
  readonly platform?: string;
  /** A step of this ensemble is decoupled. Default: false. */
  readonly decoupled?: boolean;
}

function signatureOf(loaded: LoadedModel): SignatureInfo {
  const { signatures } = loaded;
  const standard = signatures.find((signature) => signature.name === DEFAULT_SIGNATURE);
  return standard ?? signatures[0] ?? NO_SIGNATURE;
}

/**
 * Contradictions between the configuration and the model's names, types or dims; any of them keeps
 * it from being served.
 */
export function checkAgainstModel(
  config: TritonConfig,
  loaded: LoadedModel,
): readonly ConfigProblem[] {
  const signature = signatureOf(loaded);
  const problems: ConfigProblem[] = [];
  for (const [list, tensors] of [
    ['input', signature.inputs],
    ['output', signature.outputs],
  ] as const) {
    const written = read.children(config, list);
    const all = list === 'input' ? [...tensors, ...(signature.optionalInputs ?? [])] : tensors;
    for (const tensor of written) problems.push(...checkTensor(list, tensor, all, config));
    const names = new Set(written.map((tensor) => read.text(tensor, 'name')));
    const left = tensors.filter((tensor) => !names.has(tensor.name)).map((tensor) => tensor.name);
    if (list === 'input' && names.size > 0 && left.length > 0) {
      const known = tensors.map((tensor) => tensor.name).join(', ');
      const message = `expected every input of the model, ${known}; got none of ${left.join(', ')}`;
      problems.push({ place: 'model configuration: input', message });
    }
  }
  return problems;
}

function checkTensor(
  list: string,
  written: MessageValue,
  tensors: readonly TensorInfo[],
  config: TritonConfig,
): readonly ConfigProblem[] {
  const name = read.text(written, 'name');
  const place = `model configuration: ${list} "${name}"`;
  const tensor = tensors.find((one) => one.name === name);
  if (tensor === undefined) {
    const known = tensors.map((one) => one.name).join(', ');
    return [{ place, message: `the model has no such ${list}; it has ${known}` }];
  }
  const problems: ConfigProblem[] = [];
  const type = read.text(written, 'data_type');
  const expected = configTypeOf(tensor.datatype);
  if (type !== expected) {
    problems.push({ place, message: `data_type: the model has ${expected}, got ${type}` });
  }
  const message = dimsProblem(written, tensor, config);
  return message === undefined ? problems : [...problems, { place, message }];
}

/** `tensor` has either the model's own dims or those of the configuration. */
function dimsProblem(
  written: MessageValue,
  tensor: TensorInfo,
  config: TritonConfig,
): string | undefined {
  if (tensor.unknownRank) return undefined;
  const { dims, modelDims } = tensorDims(written, config);
  const hasBatch = read.int(config, 'max_batch_size') > 0;
  if (hasBatch && tensor.shape[0] !== -1) {
    return (
      "max_batch_size: expected 0, because the first dim of the model's tensor is not dynamic:  " +
      `[${tensor.shape.join(', ')}]`
    );
  }
  if (fits(dims, tensor.shape) || (modelDims.length > 0 && fits(modelDims, tensor.shape))) {
    return undefined;
  }
  const got = (modelDims.length > 0 ? modelDims : dims).slice(hasBatch ? 1 : 0);
  const expected = tensor.shape.slice(hasBatch ? 1 : 0).join(', ');
  return `dims: the model has [${expected}], got [${got.join(', ')}]`;
}

/** A dynamic dim matches any size. */
function fits(dims: readonly number[], shape: readonly number[]): boolean {
  return (
    dims.length === shape.length &&
    dims.every((dim, i) => dim === -1 || shape[i] === -1 || dim === shape[i])
  );
}

/** Triton's default_model_filename, by platform. */
const MODEL_FILES: Readonly<Record<string, string>> = {
  onnxruntime_onnx: ONNX_FILE,
  onnx_onnxv1: ONNX_FILE,
  tensorflow_savedmodel: TRITON_SAVED_MODEL,
  tensorflow_graphdef: TRITON_GRAPH,
  tensorrt_plan: TENSORRT_FILE,
  [TABULAR_PLATFORMS.spark]: 'model',
  [TABULAR_PLATFORMS.mleap]: 'model.zip',
  [TABULAR_PLATFORMS.pmml]: 'model.pmml',
  [TABULAR_PLATFORMS.xgboost]: 'model.ubj',
  [TABULAR_PLATFORMS.lightgbm]: 'model.txt',
  [TABULAR_PLATFORMS.catboost]: 'model.cbm',
  [TABULAR_PLATFORMS.ydf]: 'model',
  [TABULAR_PLATFORMS.sklearn]: 'model.skops',
};

/**
 * Builds the complete configuration of a served model. `name` is the model's; `config` is as
 * written.
 */
export function completeConfig(
  name: string,
  config: TritonConfig | undefined,
  loaded: LoadedModel,
  auto: AutoComplete,
): TritonConfig {
  const written = config ?? {};
  if (isEnsemble(written)) return completeEnsemble(name, written, auto.decoupled ?? false);
  const isNull = read.text(written, 'backend') === NULL_BACKEND;
  const { platform = 'onnxruntime_onnx' } = auto;
  const maxBatchSize = maxBatchSizeOf(config, loaded, auto);
  const signature = signatureOf(loaded);
  const tensors = (list: string, own: readonly TensorInfo[]): readonly MessageValue[] => {
    const listed = read.children(written, list);
    return listed.length > 0 ? listed : own.map((tensor) => tensorOf(tensor, maxBatchSize));
  };
  const batching = batchingOf(written, loaded, maxBatchSize);
  const complete: MessageValue = {
    ...written,
    name,
    platform: read.text(written, 'platform') || (isNull ? '' : platform),
    backend: read.text(written, 'backend') || backendOf(platform),
    version_policy: versionPolicy(written),
    max_batch_size: maxBatchSize,
    input: tensors('input', signature.inputs),
    output: tensors('output', signature.outputs),
    optimization: optimizationOf(written),
    dynamic_batching: batching,
    instance_group: instanceGroups(name, written, loaded, auto.instances ?? 1),
    default_model_filename:
      read.text(written, 'default_model_filename') || (isNull ? '' : (MODEL_FILES[platform] ?? '')),
  };
  return withDefaults(complete, MODEL_CONFIG) as TritonConfig;
}

/** Like Triton's: without instances, optimization and a model file. */
function completeEnsemble(name: string, written: MessageValue, decoupled: boolean): TritonConfig {
  const complete = {
    ...written,
    name,
    platform: ENSEMBLE_PLATFORM,
    version_policy: versionPolicy(written),
    ...((decoupled || 'model_transaction_policy' in written) && {
      model_transaction_policy: { decoupled },
    }),
  };
  return withDefaults(complete, MODEL_CONFIG) as TritonConfig;
}

function backendOf(platform: string): string {
  if (Object.values<string>(TABULAR_PLATFORMS).includes(platform)) return TABULAR_BACKEND;
  if (platform === 'tensorrt_plan') return TENSORRT_BACKEND;
  return platform.startsWith('tensorflow_') ? 'tensorflow' : 'onnxruntime';
}

function maxBatchSizeOf(
  config: TritonConfig | undefined,
  loaded: LoadedModel,
  auto: AutoComplete,
): number {
  const written = read.int(config, 'max_batch_size');
  if (written > 0 || hasSequences(config) || hasRagged(config)) return written;
  if (!takesModelsTensors(config)) return written;
  return loaded.inputsBatchable ? auto.maxBatchSize : 0;
}

function tensorOf(tensor: TensorInfo, maxBatchSize: number): MessageValue {
  const dims = tensor.unknownRank ? [-1] : tensor.shape.slice(maxBatchSize > 0 ? 1 : 0);
  const plain = { name: tensor.name, data_type: configTypeOf(tensor.datatype) };
  if (dims.length > 0) return { ...plain, dims };
  // Triton's dims are never empty: a scalar has one element.
  return { ...plain, dims: [1], ...(maxBatchSize > 0 ? { reshape: { shape: [] } } : {}) };
}

function versionPolicy(written: MessageValue): MessageValue {
  const policy = read.child(written, 'version_policy');
  if (policy === undefined || Object.keys(policy).length === 0) {
    return { latest: { num_versions: 1 } };
  }
  const latest = read.child(policy, 'latest');
  return latest === undefined
    ? policy
    : { latest: { num_versions: Math.max(1, read.int(latest, 'num_versions')) } };
}

/**
 * Preferred sizes default to the largest batch. A model that is not batched has the block only for
 * its queue settings.
 */
function batchingOf(
  written: MessageValue,
  loaded: LoadedModel,
  maxBatchSize: number,
): MessageValue | undefined {
  const batching = read.child(written, 'dynamic_batching');
  if (loaded.batchMode === 'off') {
    const queues = Object.keys(batching ?? {}).some((name) => QUEUE_MEMBERS.includes(name));
    return queues ? batching : undefined;
  }
  if (batching === undefined && maxBatchSize < 2) return undefined;
  const preferred = read.ints(batching, 'preferred_batch_size');
  const sizes = preferred.length === 0 && maxBatchSize > 0 ? [maxBatchSize] : preferred;
  return { ...batching, preferred_batch_size: sizes };
}

function optimizationOf(written: MessageValue): MessageValue {
  const pinned = { enable: true };
  const optimization = read.child(written, 'optimization');
  return { input_pinned_memory: pinned, output_pinned_memory: pinned, ...optimization };
}

function instanceGroups(
  name: string,
  written: MessageValue,
  loaded: LoadedModel,
  instances: number,
): readonly MessageValue[] {
  const onGpu = loaded.providers.some((provider) => GPU_PROVIDERS.includes(provider));
  const kind = onGpu ? 'KIND_GPU' : 'KIND_CPU';
  const groups = read.children(written, 'instance_group');
  if (groups.length === 0) return [{ name, kind, count: instances }];
  return groups.map((group, i) => {
    const own = read.text(group, 'kind');
    return {
      ...group,
      name: read.text(group, 'name') || `${name}_${i}`,
      kind: own === '' || own === 'KIND_AUTO' ? kind : own,
      count: Math.max(1, read.int(group, 'count')),
    };
  });
}
