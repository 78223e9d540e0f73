// engine.fbs tables to and from plain objects. Control plane, any thread.
import { type Builder, type ByteBuffer } from 'flatbuffers';
import type { Datatype, SignatureInfo, TensorInfo } from '../registry/snapshot.js';
import type {
  EngineStats,
  ExecModeName,
  LoadedModel,
  ModelRoute as ModelRouteInfo,
  ModelSpec as ModelSpecInfo,
  VersionRoute as VersionRouteInfo,
} from './engine-api.js';
import { DType } from './generated/serval/fb/dtype.js';
import { EngineStats as FbEngineStats } from './generated/serval/fb/engine-stats.js';
import { ExecMode } from './generated/serval/fb/exec-mode.js';
import { KeyValue } from './generated/serval/fb/key-value.js';
import { LabelRoute } from './generated/serval/fb/label-route.js';
import { ModelInfo } from './generated/serval/fb/model-info.js';
import { ModelRoute } from './generated/serval/fb/model-route.js';
import { ModelSpec } from './generated/serval/fb/model-spec.js';
import { Provider } from './generated/serval/fb/provider.js';
import { RouteTable } from './generated/serval/fb/route-table.js';
import { Signature } from './generated/serval/fb/signature.js';
import { TensorSpec } from './generated/serval/fb/tensor-spec.js';
import { VersionRoute } from './generated/serval/fb/version-route.js';

const DATATYPES: readonly [Datatype, DType][] = [
  ['BOOL', DType.Bool], ['UINT8', DType.Uint8], ['UINT16', DType.Uint16],
  ['UINT32', DType.Uint32], ['UINT64', DType.Uint64], ['INT8', DType.Int8],
  ['INT16', DType.Int16], ['INT32', DType.Int32], ['INT64', DType.Int64], ['FP16', DType.Fp16],
  ['FP32', DType.Fp32], ['FP64', DType.Fp64], ['BYTES', DType.Bytes], ['BF16', DType.Bf16],
];

const EXEC_MODES: Readonly<Record<ExecModeName, ExecMode>> = {
  auto: ExecMode.Auto,
  inline: ExecMode.Inline,
  queued: ExecMode.Queued,
};

function datatypeOf(dtype: DType): Datatype {
  const found = DATATYPES.find(([, code]) => code === dtype);
  if (found === undefined) throw new TypeError(`engine answered an unknown dtype ${dtype}`);
  return found[0];
}

function dtypeOf(datatype: Datatype): DType {
  return DATATYPES.find(([name]) => name === datatype)?.[1] ?? DType.Invalid;
}

function writeTensor(builder: Builder, tensor: TensorInfo): number {
  const name = builder.createString(tensor.name);
  const dims = TensorSpec.createDimsVector(builder, tensor.shape.map(BigInt));
  const symbols = TensorSpec.createSymbolsVector(
    builder,
    tensor.symbols.map((symbol) => builder.createString(symbol)),
  );
  return TensorSpec.createTensorSpec(
    builder, name, dtypeOf(tensor.datatype), dims, symbols, tensor.unknownRank,
  );
}

function writeSignature(builder: Builder, signature: SignatureInfo): number {
  const inputs = signature.inputs.map((input) => writeTensor(builder, input));
  const outputs = signature.outputs.map((output) => writeTensor(builder, output));
  const name = builder.createString(signature.name);
  const inputsAt = Signature.createInputsVector(builder, inputs);
  const outputsAt = Signature.createOutputsVector(builder, outputs);
  return Signature.createSignature(builder, name, inputsAt, outputsAt);
}

function writeProviders(builder: Builder, spec: ModelSpecInfo): number {
  const providers = (spec.providers ?? []).map((provider) => {
    const options = Object.entries(provider.options).map(([key, value]) =>
      KeyValue.createKeyValue(builder, builder.createString(key), builder.createString(value)),
    );
    const name = builder.createString(provider.name);
    return Provider.createProvider(builder, name, Provider.createOptionsVector(builder, options));
  });
  return ModelSpec.createProvidersVector(builder, providers);
}

/** ModelSpec bytes. Throws RangeError when the version is no int64. */
export function writeModelSpec(builder: Builder, spec: ModelSpecInfo): Uint8Array {
  const name = builder.createString(spec.name);
  const backend = builder.createString(spec.backend);
  const path = builder.createString(spec.path ?? '');
  const nullMode = builder.createString(spec.nullMode ?? '');
  const providers = writeProviders(builder, spec);
  const signature = spec.nullSignature ? writeSignature(builder, spec.nullSignature) : 0;
  ModelSpec.startModelSpec(builder);
  ModelSpec.addName(builder, name);
  ModelSpec.addVersion(builder, BigInt.asIntN(64, BigInt(spec.version)));
  ModelSpec.addBackend(builder, backend);
  ModelSpec.addPath(builder, path);
  ModelSpec.addProviders(builder, providers);
  ModelSpec.addNullMode(builder, nullMode);
  if (signature !== 0) ModelSpec.addNullSignature(builder, signature);
  const { intraOpThreads, interOpThreads, graphOptimization, instances } = spec;
  if (intraOpThreads !== undefined) ModelSpec.addIntraOpThreads(builder, intraOpThreads);
  if (interOpThreads !== undefined) ModelSpec.addInterOpThreads(builder, interOpThreads);
  if (graphOptimization !== undefined) ModelSpec.addGraphOptimization(builder, graphOptimization);
  if (instances !== undefined) ModelSpec.addInstances(builder, instances);
  if (spec.queueRequestsMax !== undefined) {
    ModelSpec.addQueueRequestsMax(builder, spec.queueRequestsMax);
  }
  if (spec.execMode !== undefined) ModelSpec.addExecMode(builder, EXEC_MODES[spec.execMode]);
  if (spec.inlineUsMax !== undefined) ModelSpec.addInlineUsMax(builder, spec.inlineUsMax);
  if (spec.nullDelayUs !== undefined) ModelSpec.addNullDelayUs(builder, BigInt(spec.nullDelayUs));
  builder.finish(ModelSpec.endModelSpec(builder));
  return Buffer.from(builder.asUint8Array());
}

function readAll<T, U>(count: number, at: (i: number) => T | null, read: (item: T) => U): U[] {
  const out: U[] = [];
  for (let i = 0; i < count; i += 1) {
    const item = at(i);
    if (item !== null) out.push(read(item));
  }
  return out;
}

function readTensor(tensor: TensorSpec): TensorInfo {
  return {
    name: tensor.name() ?? '',
    datatype: datatypeOf(tensor.dtype()),
    shape: readAll<bigint, number>(tensor.dimsLength(), (i) => tensor.dims(i), Number),
    symbols: readAll<string, string>(tensor.symbolsLength(), (i) => tensor.symbols(i), String),
    unknownRank: tensor.unknownRank(),
  };
}

function readSignature(signature: Signature): SignatureInfo {
  return {
    name: signature.name() ?? '',
    inputs: readAll(signature.inputsLength(), (i) => signature.inputs(i), readTensor),
    outputs: readAll(signature.outputsLength(), (i) => signature.outputs(i), readTensor),
  };
}

/** What a load answered. */
export function readModelInfo(bytes: ByteBuffer): LoadedModel {
  const info = ModelInfo.getRootAsModelInfo(bytes);
  const metadata = readAll(info.metadataLength(), (i) => info.metadata(i), (entry) => [
    entry.key() ?? '',
    entry.value() ?? '',
  ]);
  return {
    handle: info.handle(),
    signatures: readAll(info.signaturesLength(), (i) => info.signatures(i), readSignature),
    producer: info.producer() ?? '',
    graphName: info.graphName() ?? '',
    description: info.description() ?? '',
    domain: info.domain() ?? '',
    modelVersion: info.modelVersion().toString(),
    metadata: Object.fromEntries(metadata) as Record<string, string>,
    fileBytes: Number(info.fileBytes()),
    loadUs: Number(info.loadUs()),
    providers: readAll<string, string>(info.providersLength(), (i) => info.providers(i), String),
  };
}

function writeVersion(builder: Builder, route: VersionRouteInfo): number {
  const reason = builder.createString(route.reason);
  return VersionRoute.createVersionRoute(
    builder, BigInt(route.version), route.handle, route.ready, reason,
  );
}

/** RouteTable bytes. */
export function writeRoutes(
  builder: Builder,
  epoch: number,
  models: readonly ModelRouteInfo[],
): Uint8Array {
  const offsets = models.map((model) => {
    const versions = model.versions.map((version) => writeVersion(builder, version));
    const labels = Object.entries(model.labels).map(([label, version]) =>
      LabelRoute.createLabelRoute(builder, builder.createString(label), BigInt(version)),
    );
    const name = builder.createString(model.name);
    const versionsAt = ModelRoute.createVersionsVector(builder, versions);
    const labelsAt = ModelRoute.createLabelsVector(builder, labels);
    const first = BigInt(model.defaultVersion);
    return ModelRoute.createModelRoute(builder, name, first, versionsAt, labelsAt);
  });
  const modelsAt = RouteTable.createModelsVector(builder, offsets);
  builder.finish(RouteTable.createRouteTable(builder, BigInt(epoch), modelsAt));
  return Buffer.from(builder.asUint8Array());
}

/** EngineStats bytes as an object. */
export function readStats(bytes: ByteBuffer): EngineStats {
  const stats = FbEngineStats.getRootAsEngineStats(bytes);
  return {
    models: readAll(stats.modelsLength(), (i) => stats.models(i), (model) => ({
      handle: model.handle(),
      requestsInline: Number(model.requestsInline()),
      requestsQueued: Number(model.requestsQueued()),
      failures: Number(model.failures()),
      cancelled: Number(model.cancelled()),
      queueFull: Number(model.queueFull()),
      queueNs: Number(model.queueNs()),
      computeNs: Number(model.computeNs()),
    })),
    tensorBytesCopied: Number(stats.tensorBytesCopied()),
    tensorBytesViewed: Number(stats.tensorBytesViewed()),
    bodiesOpen: Number(stats.bodiesOpen()),
    ticketsOpen: Number(stats.ticketsOpen()),
  };
}
