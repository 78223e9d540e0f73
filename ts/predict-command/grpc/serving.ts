// TensorFlow Serving's PredictionService: the signatures of a version, and one Predict. Control
// plane. Source: proto/wire/tensorflow_serving.proto; tfserving.md 2.
import { ErrorCode, ServalError } from '../../errors.js';
import { elementValues } from '../../library/elements.js';
import { columnsOf } from '../../library/table-request.js';
import { byName, encodeInputs } from '../../library/tensor-request.js';
import type { EncodedTensor, InputInfo, Inputs, Outputs, Tensor } from '../../library/types.js';
import { DATA_TYPES, dtypeOfCode, dataTypeOf } from '../../model/datatype.js';
import { WireReader } from '../../protobuf/reader.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { emptyModelSpec, readModelSpec } from '../../protobuf/serving-messages.js';
import { tensorBytes, tensorStrings } from '../../tensorflow/lower/tensors.js';
import { ReadContext, readMapEntry } from '../../tensorflow/proto/read-context.js';
import { readSignatureDef } from '../../tensorflow/proto/signature-def.js';
import { readTensor } from '../../tensorflow/proto/tensor-proto.js';
import type { SignatureDef, TensorInfoDef } from '../../tensorflow/types.js';
import type { Callable, RemoteTarget } from '../remote.js';
import type { Channel } from './channel.js';
import { textsBytes, textsOf } from './contents.js';

const SERVICE = '/tensorflow.serving.PredictionService';
const SIGNATURES = 'signature_def';

export async function openServing(
  channel: Channel,
  target: RemoteTarget,
  signature: string,
): Promise<Callable> {
  const asked = new ProtobufWriter();
  asked.message(1, (spec) => writeSpec(spec, target, '')).string(2, SIGNATURES);
  const metadata = metadataOf(await channel.call(`${SERVICE}/GetModelMetadata`, asked.toBuffer()));
  const defined = metadata.signatures.get(signature);
  if (defined === undefined) {
    const known = [...metadata.signatures.keys()].join(', ');
    const message = `${target.base}: no signature '${signature}' of ${target.model}: ${known}`;
    throw new ServalError(ErrorCode.SignatureNotFound, message);
  }
  const inputs = [...defined.inputs].map(([name, info]) => inputInfo(name, info));
  return {
    name: target.model,
    version: metadata.version || target.version,
    inputs,
    isTable: false,
    infer: async (values, { outputs = [] }) => {
      const columns = Array.isArray(values) ? columnsOf(values) : (values as Inputs);
      const message = new ProtobufWriter();
      message.message(1, (spec) => writeSpec(spec, target, signature));
      for (const tensor of encodeInputs(inputs, columns)) writeInput(message, tensor);
      for (const name of outputs) message.string(3, name);
      return predicted(await channel.call(`${SERVICE}/Predict`, message.toBuffer()));
    },
    close: () => Promise.resolve(channel.close()),
  };
}

/** A version that is no number is a label. */
function writeSpec(out: ProtobufWriter, { model, version }: RemoteTarget, signature: string): void {
  out.string(1, model);
  if (/^\d+$/.test(version)) out.message(2, (value) => value.varint(1, BigInt(version)));
  if (signature !== '') out.string(3, signature);
  if (version !== '' && !/^\d+$/.test(version)) out.string(4, version);
}

interface Metadata {
  readonly version: string;
  readonly signatures: ReadonlyMap<string, SignatureDef>;
}

function metadataOf(message: Buffer): Metadata {
  const reader = new WireReader(message, 'GetModelMetadataResponse', 0, ErrorCode.Internal);
  const spec = emptyModelSpec();
  let signatures: ReadonlyMap<string, SignatureDef> = new Map();
  while (reader.next()) {
    if (reader.field === 1) readModelSpec(reader.nested('ModelSpec'), spec);
    else if (reader.field === 2) {
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
    if (any.field !== 2) {
      any.skip();
      continue;
    }
    const map = any.nested('SignatureDefMap');
    while (map.next()) {
      if (map.field !== 1) {
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

function inputInfo(name: string, { dtypeCode, shape }: TensorInfoDef): InputInfo {
  const dtype = dtypeOfCode(dtypeCode);
  const datatype = dtype === undefined ? undefined : DATA_TYPES[dtype].v2;
  if (datatype === undefined) {
    const message = `input '${name}' is of TensorFlow's data type ${dtypeCode}`;
    throw new ServalError(ErrorCode.Unimplemented, `${message}, which cannot be sent`);
  }
  const dims = (shape?.dims ?? []).map(({ size }) => Number(size));
  return { name, datatype, shape: dims, unknownRank: shape?.unknownRank ?? true };
}

function writeInput(
  message: ProtobufWriter,
  { name, datatype, shape, bytes }: EncodedTensor,
): void {
  const type = dataTypeOf(datatype);
  message.message(2, (entry) => {
    entry.string(1, name).message(2, (tensor) => {
      tensor.varint(1, type.code).message(2, (dims) => {
        for (const size of shape) dims.message(2, (dim) => dim.varint(1, size));
      });
      if (type.kind !== 'text') tensor.bytes(4, bytes);
      else for (const text of textsOf(bytes)) tensor.bytes(8, text);
    });
  });
}

function predicted(message: Buffer): Outputs {
  const reader = new WireReader(message, 'PredictResponse', 0, ErrorCode.Internal);
  const tensors: Tensor[] = [];
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const [name, tensor] = readMapEntry(
      reader.nested('outputs'),
      (value) => readTensor(value.nested('TensorProto'), new ReadContext()),
      () => undefined,
    );
    const datatype = tensor && DATA_TYPES[tensor.dtype].v2;
    if (tensor === undefined || datatype === undefined) {
      const message = `output '${name}' has no data type that can be shown`;
      throw new ServalError(ErrorCode.Unimplemented, message);
    }
    const texts = tensorStrings(tensor);
    const bytes = texts === undefined ? tensorBytes(tensor) : textsBytes(texts);
    tensors.push({ name, datatype, shape: tensor.shape, data: elementValues(datatype, bytes) });
  }
  return byName(tensors);
}
