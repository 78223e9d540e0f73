// TensorFlow Serving's GET documents, made from the registry's snapshot: model status and model
// metadata. Control plane, any thread; pure.
// Source: tensorflow/serving get_model_status.proto, get_model_metadata.proto as proto3 JSON with
// the field names kept, one-space indent, defaults printed, final newline;
// docs/reference/protocols/v1-rest.md.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type {
  RegistrySnapshot,
  SignatureDefDoc,
  TensorInfoDoc,
  VersionSnapshot,
} from '../../model/snapshot.js';
import {
  canonicalCode,
  dtypeName,
  findServable,
  signatureDocs,
  statusVersions,
  type ServableTarget,
} from './documents.js';
import { seenVersion } from '../needs-load.js';
import { listPage } from '../rest/model-list.js';
import { tensorProtoJson } from './tensor-json.js';

/** The URL's target: a model and at most one of version (digits) and label, percent-decoded. */
export type V1Target = ServableTarget;

const document = (value: object): string => `${JSON.stringify(value, null, 1)}\n`;

function requireName(name: string): void {
  if (name !== '') return;
  throw new ServalError(ErrorCode.InvalidArgument, 'Missing model name in request.');
}

function statusEntry(version: VersionSnapshot): object {
  return {
    version: version.version,
    state: version.state,
    status: {
      error_code: canonicalCode(version.errorCode).name,
      error_message: version.errorMessage,
    },
  };
}

/**
 * The body of GET /v1/models/NAME[/versions/V|/labels/L]: all versions, newest first, or the named
 * one. A label is applied here (TensorFlow Serving ignores it). Errors: ModelNotFound;
 * InvalidArgument for an unknown label or a version beyond int64.
 */
export function v1StatusJson(snapshot: RegistrySnapshot, target: V1Target): string {
  requireName(target.name);
  return document({ model_version_status: statusVersions(snapshot, target).map(statusEntry) });
}

/**
 * The body of GET /v1/models: names, and the status of each as in v1StatusJson(). TensorFlow
 * Serving has no such list; `models` is KServe's. Errors: those of listPage().
 */
export function v1ListJson(snapshot: RegistrySnapshot, query: string): string {
  const { models, next } = listPage(snapshot, query);
  const statuses = models.map((model) => [model.name, model.versions.map(statusEntry)]);
  return document({
    models: models.map((model) => model.name),
    model_version_status: Object.fromEntries(statuses),
    ...(next !== undefined && { next }),
  });
}

/** Fields that the message does not have are omitted. */
function tensorEntry(tensor: TensorInfoDoc): object {
  const { shape, cooSparse, composite } = tensor;
  return {
    dtype: dtypeName(tensor.dtypeCode) ?? tensor.dtypeCode,
    ...(shape && { tensor_shape: { dim: shape.dims, unknown_rank: shape.unknownRank } }),
    ...(tensor.name === undefined ? {} : { name: tensor.name }),
    ...(cooSparse && {
      coo_sparse: {
        values_tensor_name: cooSparse.values,
        indices_tensor_name: cooSparse.indices,
        dense_shape_tensor_name: cooSparse.shape,
      },
    }),
    ...(composite && { composite_tensor: { components: composite.map(tensorEntry) } }),
  };
}

// fromEntries defines own properties, so a tensor called __proto__ is handled like any other.
const tensorMap = (tensors: SignatureDefDoc['inputs']): object =>
  Object.fromEntries(tensors.map(([alias, tensor]) => [alias, tensorEntry(tensor)]));

function signatureEntry(signature: SignatureDefDoc): object {
  const defaults = signature.defaults.map(
    ([alias, proto]) => [alias, tensorProtoJson(Buffer.from(proto, 'base64'))] as const,
  );
  return {
    inputs: tensorMap(signature.inputs),
    outputs: tensorMap(signature.outputs),
    method_name: signature.methodName,
    defaults: Object.fromEntries(defaults),
  };
}

/**
 * The body of GET /v1/models/NAME[/versions/V|/labels/L]/metadata. Errors: ModelNotFound if no such
 * version is available; InvalidArgument as for the status.
 */
export function v1MetadataJson(snapshot: RegistrySnapshot, target: V1Target): string {
  requireName(target.name);
  const version = seenVersion(target.name, findServable(snapshot, target));
  const signatures = signatureDocs(version).map(([name, doc]) => [name, signatureEntry(doc)]);
  return document({
    model_spec: { name: target.name, signature_name: '', version: version.version },
    metadata: { signature_def: { signature_def: Object.fromEntries(signatures) } },
  });
}
