// ModelSpec as engine.fbs bytes. Control plane, any thread. Numbers are checked here, because the
// builder cuts what is too wide without a word; what they mean is checked by the engine.
import type { Builder } from 'flatbuffers';
import type {
  BatchPolicy as BatchPolicyInfo,
  ExecModeName,
  ModelSpec as ModelSpecInfo,
  QueuePolicy as QueuePolicyInfo,
  TensorOverride as TensorOverrideInfo,
} from '../model/engine-api.js';
import { addGraphs, writeGraphs } from './flat-graphs.js';
import { writeSignature } from './flat-tensors.js';
import { BatchMode } from './generated/serval/fb/batch-mode.js';
import { BatchPolicy } from './generated/serval/fb/batch-policy.js';
import { ExecMode } from './generated/serval/fb/exec-mode.js';
import { KeyValue } from './generated/serval/fb/key-value.js';
import { ModelSpec } from './generated/serval/fb/model-spec.js';
import { PriorityQueuePolicy } from './generated/serval/fb/priority-queue-policy.js';
import { Provider } from './generated/serval/fb/provider.js';
import { QueuePolicy } from './generated/serval/fb/queue-policy.js';
import { TensorOverride } from './generated/serval/fb/tensor-override.js';
import { TimeoutAction } from './generated/serval/fb/timeout-action.js';

const EXEC_MODES: Readonly<Record<ExecModeName, ExecMode>> = {
  auto: ExecMode.Auto,
  inline: ExecMode.Inline,
  queued: ExecMode.Queued,
};

const BATCH_MODES: Readonly<Record<BatchPolicyInfo['mode'], BatchMode>> = {
  off: BatchMode.Off,
  auto: BatchMode.Auto,
  on: BatchMode.On,
};

const TIMEOUT_ACTIONS: Readonly<Record<QueuePolicyInfo['timeoutAction'], TimeoutAction>> = {
  reject: TimeoutAction.Reject,
  delay: TimeoutAction.Delay,
};

const U64_MAX = 2n ** 64n - 1n;

function integer(member: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new RangeError(
    `ModelSpec.${member} is ${value}, expected an integer from ${min} to ${max}`,
  );
}

const u32 = (member: string, value: number): number => integer(member, value, 0, 2 ** 32 - 1);
const i32 = (member: string, value: number): number =>
  integer(member, value, -(2 ** 31), 2 ** 31 - 1);

/** Larger ones become the largest: the engine cuts times much earlier. */
function u64(member: string, value: number): bigint {
  const wide = BigInt(integer(member, value, 0, 2 ** 64));
  return wide > U64_MAX ? U64_MAX : wide;
}

function i64(member: string, value: string | number): bigint {
  const wide = BigInt(value);
  if (BigInt.asIntN(64, wide) === wide) return wide;
  throw new RangeError(`ModelSpec.${member} is ${value}, expected a 64-bit integer`);
}

function writePairs(builder: Builder, pairs: Readonly<Record<string, string>>): number[] {
  return Object.entries(pairs).map(([key, value]) =>
    KeyValue.createKeyValue(builder, builder.createString(key), builder.createString(value)),
  );
}

function writeProviders(builder: Builder, spec: ModelSpecInfo): number {
  const providers = (spec.providers ?? []).map((provider) => {
    const options = writePairs(builder, provider.options);
    const name = builder.createString(provider.name);
    return Provider.createProvider(builder, name, Provider.createOptionsVector(builder, options));
  });
  return ModelSpec.createProvidersVector(builder, providers);
}

function writeBatch(builder: Builder, batch: BatchPolicyInfo): number {
  const preferred = batch.preferredRows.map((rows) => u32('batch.preferredRows', rows));
  const allowed = batch.allowedRows.map((rows) => u32('batch.allowedRows', rows));
  return BatchPolicy.createBatchPolicy(
    builder,
    BATCH_MODES[batch.mode],
    u32('batch.rowsMax', batch.rowsMax),
    u32('batch.requestRowsMax', batch.requestRowsMax),
    BatchPolicy.createPreferredRowsVector(builder, preferred),
    BatchPolicy.createAllowedRowsVector(builder, allowed),
    u32('batch.delayUs', batch.delayUs),
    batch.split,
    batch.padInner,
    batch.preserveOrdering,
    batch.onlyIfBatchable,
  );
}

function writeQueuePolicy(builder: Builder, member: string, policy: QueuePolicyInfo): number {
  return QueuePolicy.createQueuePolicy(
    builder,
    TIMEOUT_ACTIONS[policy.timeoutAction],
    u64(`${member}.defaultTimeoutUs`, policy.defaultTimeoutUs),
    policy.allowTimeoutOverride,
    u32(`${member}.requestsMax`, policy.requestsMax),
  );
}

function writePriorityPolicies(builder: Builder, spec: ModelSpecInfo): number {
  const policies = (spec.priorityPolicies ?? []).map(({ level, policy }, i) => {
    const member = `priorityPolicies[${i}]`;
    const policyAt = writeQueuePolicy(builder, `${member}.policy`, policy);
    PriorityQueuePolicy.startPriorityQueuePolicy(builder);
    PriorityQueuePolicy.addLevel(builder, u32(`${member}.level`, level));
    PriorityQueuePolicy.addPolicy(builder, policyAt);
    return PriorityQueuePolicy.endPriorityQueuePolicy(builder);
  });
  return ModelSpec.createPriorityPoliciesVector(builder, policies);
}

function writeOverrides(
  builder: Builder,
  member: string,
  overrides: readonly TensorOverrideInfo[],
): number[] {
  return overrides.map((tensor, i) => {
    const dims = tensor.dims.map((dim) => i64(`${member}[${i}].dims`, dim));
    const modelDims = tensor.modelDims.map((dim) => i64(`${member}[${i}].modelDims`, dim));
    const labels = tensor.labels.map((label) => builder.createString(label));
    return TensorOverride.createTensorOverride(
      builder,
      builder.createString(tensor.name),
      TensorOverride.createDimsVector(builder, dims),
      TensorOverride.createModelDimsVector(builder, modelDims),
      TensorOverride.createLabelsVector(builder, labels),
    );
  });
}

/** What must be written before the table that names it; 0 = absent. */
function writeParts(builder: Builder, spec: ModelSpecInfo) {
  const inputs = writeOverrides(builder, 'inputs', spec.inputs ?? []);
  const outputs = writeOverrides(builder, 'outputs', spec.outputs ?? []);
  const devices = (spec.devices ?? []).map((device) => i32('devices', device));
  const config = writePairs(builder, spec.sessionConfig ?? {});
  return {
    name: builder.createString(spec.name),
    backend: builder.createString(spec.backend),
    path: builder.createString(spec.path ?? ''),
    nullMode: builder.createString(spec.nullMode ?? ''),
    providers: writeProviders(builder, spec),
    nullSignature: spec.nullSignature ? writeSignature(builder, spec.nullSignature) : 0,
    batch: spec.batch ? writeBatch(builder, spec.batch) : 0,
    queuePolicy: spec.queuePolicy ? writeQueuePolicy(builder, 'queuePolicy', spec.queuePolicy) : 0,
    priorityPolicies: writePriorityPolicies(builder, spec),
    inputs: ModelSpec.createInputsVector(builder, inputs),
    outputs: ModelSpec.createOutputsVector(builder, outputs),
    devices: ModelSpec.createDevicesVector(builder, devices),
    sessionConfig: ModelSpec.createSessionConfigVector(builder, config),
    graphs: writeGraphs(builder, spec),
  };
}

function addParts(builder: Builder, parts: ReturnType<typeof writeParts>): void {
  ModelSpec.addName(builder, parts.name);
  ModelSpec.addBackend(builder, parts.backend);
  ModelSpec.addPath(builder, parts.path);
  ModelSpec.addNullMode(builder, parts.nullMode);
  ModelSpec.addProviders(builder, parts.providers);
  ModelSpec.addNullSignature(builder, parts.nullSignature);
  ModelSpec.addBatch(builder, parts.batch);
  ModelSpec.addQueuePolicy(builder, parts.queuePolicy);
  ModelSpec.addPriorityPolicies(builder, parts.priorityPolicies);
  ModelSpec.addInputs(builder, parts.inputs);
  ModelSpec.addOutputs(builder, parts.outputs);
  ModelSpec.addDevices(builder, parts.devices);
  ModelSpec.addSessionConfig(builder, parts.sessionConfig);
  addGraphs(builder, parts.graphs);
}

const I32_MEMBERS = [
  ['intraOpThreads', ModelSpec.addIntraOpThreads],
  ['interOpThreads', ModelSpec.addInterOpThreads],
  ['graphOptimization', ModelSpec.addGraphOptimization],
  ['instances', ModelSpec.addInstances],
  ['queueRequestsMax', ModelSpec.addQueueRequestsMax],
  ['inlineUsMax', ModelSpec.addInlineUsMax],
] as const;

const U32_MEMBERS = [
  ['priorityLevels', ModelSpec.addPriorityLevels],
  ['defaultPriority', ModelSpec.addDefaultPriority],
] as const;

/** ModelSpec bytes. Absent members are left out: the engine has the defaults. Throws RangeError
 * naming the member when a number does not fit, SyntaxError when the version is no number. */
export function writeModelSpec(builder: Builder, spec: ModelSpecInfo): Uint8Array {
  const parts = writeParts(builder, spec);
  ModelSpec.startModelSpec(builder);
  addParts(builder, parts);
  ModelSpec.addVersion(builder, i64('version', spec.version));
  for (const [member, add] of I32_MEMBERS) {
    const value = spec[member];
    if (value !== undefined) add(builder, i32(member, value));
  }
  for (const [member, add] of U32_MEMBERS) {
    const value = spec[member];
    if (value !== undefined) add(builder, u32(member, value));
  }
  if (spec.execMode !== undefined) ModelSpec.addExecMode(builder, EXEC_MODES[spec.execMode]);
  if (spec.nullDelayUs !== undefined) {
    ModelSpec.addNullDelayUs(builder, i64('nullDelayUs', spec.nullDelayUs));
  }
  if (spec.batchDim !== undefined) ModelSpec.addBatchDim(builder, spec.batchDim);
  builder.finish(ModelSpec.endModelSpec(builder));
  return Buffer.from(builder.asUint8Array());
}
