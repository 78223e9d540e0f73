// engine.fbs tables to and from plain objects: a load's answer and the route table here, the others
// in flat-spec.ts and flat-stats.ts. Control plane, any thread.
import { type Builder, type ByteBuffer } from 'flatbuffers';
import type {
  LoadedModel,
  ModelRoute as ModelRouteInfo,
  VersionRoute as VersionRouteInfo,
} from '../model/engine-api.js';
import { readAll, readSignature } from './flat-tensors.js';
import { BatchMode } from './generated/serval/fb/batch-mode.js';
import { BatchProof } from './generated/serval/fb/batch-proof.js';
import { LabelRoute } from './generated/serval/fb/label-route.js';
import { ModelInfo } from './generated/serval/fb/model-info.js';
import { ModelRoute } from './generated/serval/fb/model-route.js';
import { RouteTable } from './generated/serval/fb/route-table.js';
import { VersionRoute } from './generated/serval/fb/version-route.js';

export { writeModelSpec } from './flat-spec.js';
export { readStats } from './flat-stats.js';

const BATCH_MODES: Readonly<Record<BatchMode, LoadedModel['batchMode']>> = {
  [BatchMode.Off]: 'off',
  [BatchMode.Auto]: 'auto',
  [BatchMode.On]: 'on',
};
const BATCH_PROOFS: Readonly<Record<BatchProof, LoadedModel['batchProof']>> = {
  [BatchProof.Untried]: 'untried',
  [BatchProof.Proven]: 'proven',
  [BatchProof.Contradicted]: 'contradicted',
  [BatchProof.Undecided]: 'undecided',
};

/** What a load answered. */
export function readModelInfo(bytes: ByteBuffer): LoadedModel {
  const info = ModelInfo.getRootAsModelInfo(bytes);
  const metadata = readAll(
    info.metadataLength(),
    (i) => info.metadata(i),
    (entry) => [entry.key() ?? '', entry.value() ?? ''],
  );
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
    batchMode: BATCH_MODES[info.batchMode()],
    inputsBatchable: info.inputsBatchable(),
    batchProof: BATCH_PROOFS[info.batchProof()],
    batchFinding: info.batchFinding() ?? '',
  };
}

function writeVersion(builder: Builder, route: VersionRouteInfo): number {
  const reason = builder.createString(route.reason);
  return VersionRoute.createVersionRoute(
    builder,
    BigInt(route.version),
    route.handle,
    route.ready,
    reason,
  );
}

/** RouteTable bytes: a model that goes is one without versions. */
export function writeRoutes(
  builder: Builder,
  epoch: number,
  models: readonly ModelRouteInfo[],
  removed: readonly string[],
): Uint8Array {
  const gone = removed.map((name) => ({ name, defaultVersion: -1, versions: [], labels: {} }));
  const offsets = [...models, ...gone].map((model: ModelRouteInfo) => {
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
