// Parses PredictionService's model metadata: the response of GetModelMetadata. Control plane; pure.
// Source: proto/wire/tensorflow_serving.proto; tfserving.md 2.
import { ANY } from '../../../protobuf/generated/any-fields.js';
import {
  GET_MODEL_METADATA_RESPONSE,
  SIGNATURE_DEF_MAP,
} from '../../../protobuf/generated/tensorflow-serving-fields.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { InputInfo } from '../../../library/types.js';
import { DATA_TYPES, dtypeOfCode } from '../../../model/datatype.js';
import { WireReader } from '../../../protobuf/reader.js';
import { emptyModelSpec, readModelSpec } from '../../../protobuf/serving-messages.js';
import { ReadContext, readMapEntry } from '../../../importers/tensorflow/proto/read-context.js';
import { readSignatureDef } from '../../../importers/tensorflow/proto/signature-def.js';
import type { SignatureDef, TensorInfoDef } from '../../../importers/tensorflow/types.js';
import { SIGNATURES } from './predict-request.js';

export interface ServingMetadata {
  readonly version: string;
  readonly signatures: ReadonlyMap<string, SignatureDef>;
}

/** Errors: Internal: not such a response. */
export function servingMetadata(message: Uint8Array): ServingMetadata {
  const reader = new WireReader(message, 'GetModelMetadataResponse', 0, ErrorCode.Internal);
  const spec = emptyModelSpec();
  let signatures: ReadonlyMap<string, SignatureDef> = new Map();
  while (reader.next()) {
    if (reader.field === GET_MODEL_METADATA_RESPONSE.modelSpec)
      readModelSpec(reader.nested('ModelSpec'), spec);
    else if (reader.field === GET_MODEL_METADATA_RESPONSE.metadata) {
      const [name, found] = readMapEntry(
        reader.nested('metadata'),
        (any) => signatureMap(any.nested('Any')),
        () => signatures,
      );
      if (name === SIGNATURES) signatures = found;
    } else reader.skip();
  }
  return { version: spec.version ?? '', signatures };
}

/** An Any with a SignatureDefMap. */
function signatureMap(any: WireReader): ReadonlyMap<string, SignatureDef> {
  const signatures = new Map<string, SignatureDef>();
  const context = new ReadContext();
  while (any.next()) {
    if (any.field !== ANY.value) {
      any.skip();
      continue;
    }
    const map = any.nested('SignatureDefMap');
    while (map.next()) {
      if (map.field !== SIGNATURE_DEF_MAP.signatureDef) {
        map.skip();
        continue;
      }
      const [name, one] = readMapEntry(
        map.nested('signature_def'),
        (value) => readSignatureDef(value.nested('SignatureDef'), context),
        () => undefined,
      );
      if (one !== undefined) signatures.set(name, one);
    }
  }
  return signatures;
}

/** `where`: the server. Errors: SignatureNotFound naming the existing ones. */
export function signatureOf(
  { signatures }: ServingMetadata,
  signature: string,
  where: string,
  model: string,
): SignatureDef {
  const defined = signatures.get(signature);
  if (defined !== undefined) return defined;
  const known = [...signatures.keys()].join(', ');
  const message = `${where}: no signature '${signature}' of ${model}: ${known}`;
  throw new ServalError(ErrorCode.SignatureNotFound, message);
}

/** Errors: Unimplemented: an unsupported data type. */
export function inputInfo(name: string, { dtypeCode, shape }: TensorInfoDef): InputInfo {
  const dtype = dtypeOfCode(dtypeCode);
  const datatype = dtype === undefined ? undefined : DATA_TYPES[dtype].v2;
  if (datatype === undefined) {
    const message = `input '${name}' is of TensorFlow's data type ${dtypeCode}`;
    throw new ServalError(ErrorCode.Unimplemented, `${message}, which cannot be sent`);
  }
  const dims = (shape?.dims ?? []).map(({ size }) => Number(size));
  return { name, datatype, shape: dims, unknownRank: shape?.unknownRank ?? true };
}
