// Maps Triton's model configuration, or its absence, to engine settings. Control plane; pure except
// for the machine's core count. Source: v2-protocol.md 3, 10; Triton's ONNX Runtime backend
// (README).
import { limitValue } from '../../access/key-limits.js';
import { availableParallelism } from 'node:os';
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import type {
  BatchPolicy,
  ModelSpec,
  Placement,
  TensorRtSpec,
  TensorRtTensor,
  PriorityQueuePolicy,
  ProviderOptions,
  QueuePolicy,
  TensorOverride,
} from '../../model/engine-api.js';
import type { TensorInfo } from '../../model/snapshot.js';
import { NO_BATCHING } from './batching-parameters.js';
import { graphRows } from './graph-rows.js';
import { openInputs, tensorrtProfiles } from './tensorrt-profiles.js';
import { read } from '../../protobuf/schema.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { isFil } from './boosters/fil.js';
import { isEnsemble } from './ensembles/steps.js';
import { hasRagged, raggedSettings } from './ragged/settings.js';
import { sequenceSettings, type InitialStates } from './sequences/settings.js';
import { optionName } from './runtime-options.js';
import { ANY_ROWS, isTrue, parameter } from './parameters.js';
import { NULL_BACKEND } from './triton-checks.js';
import { datatypeOfConfig } from '../../model/datatype.js';
import { takesModelsTensors } from './triton-config.js';
import type { TritonConfig } from './types.js';

export { batchingSettings } from './batching-parameters.js';

const TENSORRT_PRECISIONS: Readonly<Record<string, string>> = {
  FP16: 'trt_fp16_enable',
  BF16: 'trt_bf16_enable',
  INT8: 'trt_int8_enable',
};
/** Model parameters that set options of the CUDA provider, with the option value of each number. */
const CUDA_PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  cudnn_conv_algo_search: ['EXHAUSTIVE', 'HEURISTIC', 'DEFAULT'],
  gpu_mem_limit: [],
  arena_extend_strategy: ['kNextPowerOfTwo', 'kSameAsRequested'],
  do_copy_in_default_stream: [],
};
/** Triton's graph optimization levels as ONNX Runtime's; any other value means all. */
const GRAPH_LEVELS: Readonly<Record<string, number>> = { '-1': 1, '1': 2, '2': 0 };
const ALL_OPTIMIZATIONS = 99;

/**
 * `config` has been checked. `labels`: labels per output. `defaultMaxBatchSize`: maximum batch rows
 * when the configuration leaves inputs, outputs and max_batch_size to the model. `states`: initial
 * states from files.
 */
export function engineSettings(
  config: TritonConfig,
  labels: ReadonlyMap<string, readonly string[]>,
  defaultMaxBatchSize = 0,
  states: InitialStates = new Map(),
): Partial<ModelSpec> {
  const isNull = read.text(config, 'backend') === NULL_BACKEND;
  if (isEnsemble(config)) {
    return { ...ensembleSettings(config, labels), ...limitSettings(config) };
  }
  return {
    ...batchSettings(config, defaultMaxBatchSize),
    ...queueSettings(config),
    ...instanceSettings(config),
    ...tensorSettings(config, labels),
    // The engine has an input for each feature, which it also reads from one matrix.
    ...(isFil(config) ? { inputs: [] } : {}),
    ...(isTrue(parameter(config, 'extended_v2')) ? { extendedV2: true } : {}),
    ...sequenceSettings(config, states),
    ...raggedSettings(config),
    ...cacheSettings(config),
    ...(isDecoupled(config) ? { decoupled: true } : {}),
    ...limitSettings(config),
    ...weightSettings(config),
    ...isolationSettings(config),
    ...(isTrue(parameter(config, 'serval.retry')) ? { retry: true } : {}),
    ...graphSettings(config),
    ...(isNull ? nullSettings(config) : sessionSettings(config)),
  };
}

/** Limits of the model's requests; see docs/guides/limits.md. */
function limitSettings(config: TritonConfig): Partial<ModelSpec> {
  const value = (name: Parameters<typeof limitValue>[0]): number => {
    const text = parameter(config, name);
    return text === undefined ? 0 : (limitValue(name, text) ?? 0);
  };
  const limits = {
    maxInFlight: value('max_in_flight'),
    requestsPerSecond: value('requests_per_second'),
    rowsPerSecond: value('rows_per_second'),
  };
  return Object.values(limits).some((one) => one > 0) ? { limits } : {};
}

/** Its share of the cores; see docs/guides/fairness.md. */
function weightSettings(config: TritonConfig): Partial<ModelSpec> {
  const weight = parameter(config, 'weight');
  return weight === undefined ? {} : { turnWeight: Number(weight) };
}

function cacheSettings(config: TritonConfig): Partial<ModelSpec> {
  const cached = read.bool(read.child(config, 'response_cache') ?? {}, 'enable');
  return cached ? { responseCache: true } : {};
}

function isDecoupled(config: TritonConfig): boolean {
  return read.bool(read.child(config, 'model_transaction_policy') ?? {}, 'decoupled');
}

/** By the largest batch; shared by all models that have it. */
const autoPolicies = new Map<number, BatchPolicy>();

/**
 * Batching of repository models without a configuration: queued requests are batched if the engine
 * finds that their rows do not affect each other.
 */
export function autoBatching(maxBatch: number): Partial<ModelSpec> {
  if (maxBatch < 2) return { batch: NO_BATCHING };
  const batch = autoPolicies.get(maxBatch) ?? {
    ...NO_BATCHING,
    mode: 'auto',
    rowsMax: maxBatch,
    onlyIfBatchable: true,
  };
  autoPolicies.set(maxBatch, batch);
  return { batch };
}

/**
 * Inner dims are padded only when batching is requested by name: the model sees the padding zeros,
 * and nothing proves that they do not change its results.
 */
function batchSettings(config: TritonConfig, defaultMaxBatchSize: number): Partial<ModelSpec> {
  const max = read.int(config, 'max_batch_size');
  const batching = read.child(config, 'dynamic_batching');
  // The proof does not cover joined elements: only the configuration asks for ragged batches.
  const open = takesModelsTensors(config) && !hasRagged(config);
  const extra = extraBatchSettings(config);
  const isWritten = config['max_batch_size'] !== undefined;
  if (max === 0 && open && !isWritten) {
    const auto = autoBatching(defaultMaxBatchSize).batch ?? NO_BATCHING;
    if (batching === undefined || auto.mode === 'off') {
      return { batch: { ...auto, ...extra, padInner: false } };
    }
    return { batch: { ...auto, ...extra, mode: 'on', ...delaySettings(batching) } };
  }
  if (max === 0) return { batch: NO_BATCHING, batchDim: false };
  const split = extra.split === true;
  const sizes = { rowsMax: max, requestRowsMax: split ? 0 : max };
  const policy: BatchPolicy = { ...NO_BATCHING, ...extra, ...sizes };
  if (batching !== undefined) {
    return { batchDim: true, batch: { ...policy, mode: 'on', ...delaySettings(batching) } };
  }
  const auto = open && max > 1;
  const mode = auto ? 'auto' : 'off';
  const unasked = { mode, onlyIfBatchable: auto, padInner: false } as const;
  return { batchDim: true, batch: { ...policy, ...unasked } };
}

function delaySettings(batching: MessageValue): Partial<BatchPolicy> {
  const preferred = new Set(read.ints(batching, 'preferred_batch_size'));
  return {
    preferredRows: [...preferred].sort((a, b) => a - b),
    delayUs: read.int(batching, 'max_queue_delay_microseconds'),
    preserveOrdering: read.bool(batching, 'preserve_ordering'),
  };
}

function extraBatchSettings(config: TritonConfig): Partial<BatchPolicy> {
  const allowed = parameter(config, 'serval.allowed_rows');
  const anyRows = allowed === ANY_ROWS;
  return {
    split: isTrue(parameter(config, 'serval.split')),
    padInner: isTrue(parameter(config, 'serval.pad_inner')),
    anyRows,
    allowedRows: allowed === undefined || anyRows ? [] : allowed.split(',').map(Number),
  };
}

/** These settings also apply to models that do not batch. */
function queueSettings(config: TritonConfig): Partial<ModelSpec> {
  const batching = read.child(config, 'dynamic_batching');
  if (batching === undefined) return {};
  const levels = read.int(batching, 'priority_levels');
  const policies = read
    .entries(batching, 'priority_queue_policy')
    .map(
      ([level, policy]): PriorityQueuePolicy => ({
        level: Number(level),
        policy: queuePolicy(policy),
      }),
    )
    .sort((a, b) => a.level - b.level);
  return {
    queuePolicy: queuePolicy(read.child(batching, 'default_queue_policy')),
    priorityLevels: levels,
    defaultPriority: levels === 0 ? 0 : read.int(batching, 'default_priority_level'),
    priorityPolicies: levels === 0 ? [] : policies,
  };
}

function queuePolicy(policy: MessageValue | undefined): QueuePolicy {
  return {
    timeoutAction: read.text(policy, 'timeout_action') === 'DELAY' ? 'delay' : 'reject',
    defaultTimeoutUs: Math.min(
      read.int(policy, 'default_timeout_microseconds'),
      Number.MAX_SAFE_INTEGER,
    ),
    allowTimeoutOverride: read.bool(policy, 'allow_timeout_override'),
    requestsMax: read.int(policy, 'max_queue_size'),
  };
}

/** `count` is per GPU when GPUs are listed. */
function instanceSettings(config: TritonConfig): Partial<ModelSpec> {
  const groups = read.children(config, 'instance_group');
  if (groups.length === 0) return {};
  const counts = groups.map((group) => {
    const gpus = isOnGpu(group) ? read.ints(group, 'gpus').length : 0;
    return Math.max(1, read.int(group, 'count')) * Math.max(1, gpus);
  });
  const instances = counts.reduce((sum, count) => sum + count, 0);
  const settings = { instances, ...rateSettings(read.child(groups[0], 'rate_limiter')) };
  if (!groups.some(isOnGpu)) return settings;
  const devices = [...new Set(groups.flatMap((group) => read.ints(group, 'gpus')))];
  return { ...settings, devices, providers: gpuProviders(config) };
}

/** The rate limiter of all groups. Triton treats priority 0 as 1. */
function rateSettings(limiter: MessageValue | undefined): Partial<ModelSpec> {
  if (limiter === undefined) return {};
  const rateResources = read.children(limiter, 'resources').map((resource) => ({
    name: read.text(resource, 'name'),
    global: read.bool(resource, 'global'),
    count: read.int(resource, 'count'),
  }));
  return { rateResources, ratePriority: Math.max(1, read.int(limiter, 'priority')) };
}

function isOnGpu(group: MessageValue): boolean {
  return read.text(group, 'kind') === 'KIND_GPU';
}

/** Best provider first; CUDA runs the nodes that TensorRT does not support. */
function gpuProviders(config: TritonConfig): readonly ProviderOptions[] {
  const providers: ProviderOptions[] = [];
  let cuda: Readonly<Record<string, string>> = cudaParameters(config);
  for (const accelerator of accelerators(config, 'gpu_execution_accelerator')) {
    const options = read.entries<string>(accelerator, 'parameters');
    if (read.text(accelerator, 'name') === 'tensorrt') {
      const own = tensorrtOptions(options);
      providers.push({ name: 'tensorrt', options: { ...tensorrtProfiles(config), ...own } });
    } else {
      cuda = { ...cuda, ...Object.fromEntries(options) };
    }
  }
  return [...providers, { name: 'cuda', options: cuda }];
}

/** Input of the placement decision when --providers leaves the choice open. */
export function placementOf(config: TritonConfig): Placement {
  const groups = read.children(config, 'instance_group');
  const isCpu =
    groups.length > 0 && groups.every((group) => read.text(group, 'kind') === 'KIND_CPU');
  const providers = gpuProviders(config);
  const optionsOf = (name: string): Readonly<Record<string, string>> | undefined =>
    providers.find((one) => one.name === name)?.options;
  return {
    kind: groups.some(isOnGpu) ? 'gpu' : isCpu ? 'cpu' : 'auto',
    tensorrt: optionsOf('tensorrt'),
    cuda: optionsOf('cuda') ?? {},
    profiles: tensorrtProfiles(config),
    open: openInputs(config),
  };
}

function accelerators(config: TritonConfig, list: string): readonly MessageValue[] {
  const optimization = read.child(config, 'optimization');
  return read.children(read.child(optimization, 'execution_accelerators'), list);
}

function tensorrtOptions(
  parameters: readonly (readonly [string, string])[],
): Readonly<Record<string, string>> {
  const options = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (name === 'precision_mode') {
      const enable = TENSORRT_PRECISIONS[value];
      if (enable !== undefined) options.set(enable, '1');
    } else {
      options.set(optionName('tensorrt', name), value);
    }
  }
  return Object.fromEntries(options);
}

function cudaParameters(config: TritonConfig): Readonly<Record<string, string>> {
  const options = new Map<string, string>();
  for (const [name, words] of Object.entries(CUDA_PARAMETERS)) {
    const value = parameter(config, name);
    if (value !== undefined) options.set(name, words[Number(value)] ?? value);
  }
  return Object.fromEntries(options);
}

/** Settings for CUDA graphs; the engine pads batches to the sizes that have a graph. */
function graphSettings(config: TritonConfig): Partial<ModelSpec> {
  const rows = graphRows(config);
  return rows === undefined ? {} : { graphRows: rows };
}

/** Whether the model's sessions run in their own process. */
function isolationSettings(config: TritonConfig): Partial<ModelSpec> {
  const mode = parameter(config, 'isolation');
  if (mode === 'none') return { isolation: { mode, group: '' } };
  if (mode !== 'process') return {};
  return { isolation: { mode, group: parameter(config, 'isolation_group') ?? '' } };
}

/** Threads, optimizations and ONNX Runtime's session options. */
function sessionSettings(config: TritonConfig): Partial<ModelSpec> {
  const intra = parameter(config, 'intra_op_thread_count');
  const level = read.child(read.child(config, 'optimization'), 'graph');
  const [openvino] = accelerators(config, 'cpu_execution_accelerator');
  const onGpu = read.children(config, 'instance_group').some(isOnGpu);
  const session = new Map<string, string>();
  for (const [name, value] of read.entries(config, 'parameters')) {
    const text = read.text(value, 'string_value');
    if (name === 'enable_mem_arena' || name === 'enable_mem_pattern') {
      session.set(name, isTrue(text) ? '1' : '0');
    } else if (name.startsWith('session.')) {
      session.set(name, text);
    }
  }
  return {
    ...(intra === undefined ? {} : { intraOpThreads: Number(intra) }),
    ...interOpSettings(config),
    ...(level === undefined ? {} : { graphOptimization: graphLevel(read.int(level, 'level')) }),
    ...(openvino !== undefined && !onGpu ? { providers: [openvinoProvider(openvino)] } : {}),
    ...(session.size === 0 ? {} : { sessionConfig: Object.fromEntries(session) }),
  };
}

function openvinoProvider(accelerator: MessageValue): ProviderOptions {
  const own = read
    .entries<string>(accelerator, 'parameters')
    .map(([name, value]) => [optionName('openvino', name), value] as const);
  return { name: 'openvino', options: { device_type: 'CPU', ...Object.fromEntries(own) } };
}

/** The engine runs operators in parallel if given a number; Triton's 0 means all cores. */
function interOpSettings(config: TritonConfig): Partial<ModelSpec> {
  const mode = parameter(config, 'execution_mode');
  if (mode === undefined) return {};
  if (mode === '0') return { interOpThreads: 0 };
  const count = Number(parameter(config, 'inter_op_thread_count') ?? 0);
  return { interOpThreads: count > 0 ? count : availableParallelism() };
}

function graphLevel(level: number): number {
  return GRAPH_LEVELS[String(level)] ?? ALL_OPTIMIZATIONS;
}

function tensorSettings(
  config: TritonConfig,
  labels: ReadonlyMap<string, readonly string[]>,
): Partial<ModelSpec> {
  const overrides = (list: string): readonly TensorOverride[] =>
    read.children(config, list).map((tensor) => {
      const name = read.text(tensor, 'name');
      const own = list === 'output' ? labels.get(name) : undefined;
      const optional = list === 'input' && read.bool(tensor, 'optional');
      const ragged = list === 'input' && read.bool(tensor, 'allow_ragged_batch');
      return { name, ...tensorDims(tensor, config), labels: own ?? [], optional, ragged };
    });
  const [inputs, outputs] = [overrides('input'), overrides('output')];
  return {
    ...(inputs.length === 0 ? {} : { inputs }),
    ...(outputs.length === 0 ? {} : { outputs }),
  };
}

/** Tensors of a TensorRT engine: ragged ones are flat there, and it also has computed inputs. */
export function tensorRtOf(config: TritonConfig): TensorRtSpec {
  const { batchInputs = [], batchOutputs = [] } = raggedSettings(config);
  const scattered = new Set(batchOutputs.map((one) => one.output));
  const tensors = (list: string): readonly TensorRtTensor[] =>
    read.children(config, list).map((tensor) => {
      const { dims, modelDims } = tensorDims(tensor, config);
      const reshaped = read.child(tensor, 'reshape') !== undefined;
      const [name, type] = [read.text(tensor, 'name'), read.text(tensor, 'data_type')];
      const isFlat = read.bool(tensor, 'allow_ragged_batch') || scattered.has(name);
      return { name, type, dims: isFlat ? [-1] : reshaped ? modelDims : dims };
    });
  const computed = batchInputs.map(({ input, kind, datatype }) => ({
    name: input,
    type: `TYPE_${datatype}`,
    dims: kind === 'itemshape' ? [-1, -1] : [-1],
  }));
  return { inputs: [...tensors('input'), ...computed], outputs: tensors('output') };
}

/**
 * The dims that clients see, and those of the model's own tensor if they differ; both include the
 * batch dim.
 */
export function tensorDims(
  tensor: MessageValue,
  config: TritonConfig,
): { readonly dims: readonly number[]; readonly modelDims: readonly number[] } {
  const batch = read.int(config, 'max_batch_size') > 0 ? [-1] : [];
  const reshape = read.child(tensor, 'reshape');
  return {
    dims: [...batch, ...read.ints(tensor, 'dims')],
    modelDims: reshape === undefined ? [] : [...batch, ...read.ints(reshape, 'shape')],
  };
}

/**
 * Settings of an ensemble, without its steps: they are bound when their models are loaded. It is
 * not batched itself, since its steps are.
 */
function ensembleSettings(
  config: TritonConfig,
  labels: ReadonlyMap<string, readonly string[]>,
): Partial<ModelSpec> {
  const tensors = (list: string, optional: boolean): readonly TensorInfo[] =>
    read
      .children(config, list)
      .filter((tensor) => read.bool(tensor, 'optional') === optional)
      .map((tensor) => ownTensor(tensor, config));
  const optionalInputs = tensors('input', true);
  return {
    ...batchSettings(config, 0),
    ...tensorSettings(config, labels),
    ...(isTrue(parameter(config, 'extended_v2')) ? { extendedV2: true } : {}),
    ...cacheSettings(config),
    backend: 'ensemble',
    ensembleSignature: {
      name: DEFAULT_SIGNATURE,
      inputs: tensors('input', false),
      outputs: tensors('output', false),
      ...(optionalInputs.length > 0 && { optionalInputs }),
    },
  };
}

/** The null backend serves the model that the configuration describes. */
function nullSettings(config: TritonConfig): Partial<ModelSpec> {
  const mode = parameter(config, 'mode');
  const delayUs = parameter(config, 'delay_us');
  const tensors = (list: string): readonly TensorInfo[] =>
    read.children(config, list).map((tensor) => ownTensor(tensor, config));
  return {
    backend: 'null',
    nullMode: mode === 'delay' || mode === 'fail' ? mode : 'echo',
    nullSignature: {
      name: DEFAULT_SIGNATURE,
      inputs: tensors('input'),
      outputs: tensors('output'),
    },
    ...(delayUs === undefined ? {} : { nullDelayUs: Number(delayUs) }),
  };
}

function ownTensor(tensor: MessageValue, config: TritonConfig): TensorInfo {
  const { dims, modelDims } = tensorDims(tensor, config);
  const shape = modelDims.length === 0 ? dims : modelDims;
  return {
    name: read.text(tensor, 'name'),
    datatype: datatypeOfConfig(read.text(tensor, 'data_type')) ?? 'BYTES',
    shape,
    symbols: shape.map(() => ''),
    unknownRank: false,
  };
}
