// V2 over gRPC: metadata, and one ModelInfer with raw tensors. Control plane.
// Source: proto/wire/inference.proto.
import { INFERENCE_SERVICE } from '../../../base/services.js';
import { MAP_ENTRY } from '../../../protobuf/generated/map-entry-fields.js';
import {
  INFER_PARAMETER,
  MODEL_METADATA_REQUEST,
  MODEL_INFER_RESPONSE,
  MODEL_INFER_RESPONSE_INFER_OUTPUT_TENSOR as OUTPUT_TENSOR,
} from '../../../protobuf/generated/inference-fields.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { columnsOf } from '../../../library/table-request.js';
import { elementValues } from '../../../library/elements.js';
import { byName, encodeInputs } from '../../../library/tensor-request.js';
import type {
  EncodedTensor,
  InputInfo,
  Inputs,
  Outputs,
  Parameters,
} from '../../../library/types.js';
import { TABULAR_PLATFORMS } from '../../../model/platforms.js';
import type { Datatype } from '../../../model/snapshot.js';
import { MODEL_METADATA_RESPONSE } from '../../../protobuf/generated/inference.js';
import { WireReader } from '../../../protobuf/reader.js';
import { decodeWire } from '../../../protobuf/schema-read.js';
import { read } from '../../../protobuf/schema.js';
import { ProtobufWriter } from '../../../protobuf/writer.js';
import { writeModel, writeRequestParameters, writeTensors } from '../../infer-message.js';
import type { Callable, RemoteTarget } from '../remote.js';
import type { Channel } from './channel.js';
import { typedBytes } from './contents.js';
import { columnTensors, tensorColumns } from './columns.js';

/** One tensor of a response. */
export interface AnswerTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Text parameters only. */
  readonly parameters: ReadonlyMap<string, string>;
  /** In the form of raw contents. */
  readonly bytes: Uint8Array;
}

export async function openV2(channel: Channel, target: RemoteTarget): Promise<Callable> {
  const asked = new ProtobufWriter()
    .string(MODEL_METADATA_REQUEST.name, target.model)
    .string(MODEL_METADATA_REQUEST.version, target.version);
  const reply = await channel.call(`/${INFERENCE_SERVICE}/ModelMetadata`, asked.toBuffer());
  const { value } = decodeWire(reply, MODEL_METADATA_RESPONSE, 'ModelMetadataResponse');
  const inputs = read.children(value, 'inputs').map(
    (one): InputInfo => ({
      name: read.text(one, 'name'),
      datatype: read.text(one, 'datatype') as Datatype,
      shape: read.ints(one, 'shape'),
      unknownRank: false,
    }),
  );
  const platform = read.text(value, 'platform');
  const isTable = Object.values(TABULAR_PLATFORMS).some((one) => one === platform);
  return {
    name: target.model,
    version: target.version || (read.texts(value, 'versions').at(-1) ?? ''),
    inputs,
    isTable,
    infer: async (values, { outputs = [], parameters = {} }) => {
      const columns = Array.isArray(values) ? columnsOf(values) : (values as Inputs);
      const tensors = isTable ? columnTensors(inputs, columns) : encodeInputs(inputs, columns);
      const more = isTable ? { string_datatype: 'STRING', ...parameters } : parameters;
      const message = inferRequest(target, tensors, outputs, more);
      const answer = answerTensors(await channel.call(`/${INFERENCE_SERVICE}/ModelInfer`, message));
      return isTable ? tensorColumns(answer) : tensorsOf(answer);
    },
    close: () => Promise.resolve(channel.close()),
  };
}

function inferRequest(
  { model, version }: RemoteTarget,
  tensors: readonly EncodedTensor[],
  outputs: readonly string[],
  parameters: Parameters,
): Buffer {
  const out = new ProtobufWriter();
  writeModel(out, model, version);
  writeRequestParameters(out, parameters);
  writeTensors(out, tensors, outputs);
  return out.toBuffer();
}

/** Errors: Internal: not a V2 response. */
export function answerTensors(message: Buffer): readonly AnswerTensor[] {
  const reader = new WireReader(message, 'ModelInferResponse', 0, ErrorCode.Internal);
  const tensors: ReturnType<typeof readTensor>[] = [];
  const raws: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === MODEL_INFER_RESPONSE.outputs)
      tensors.push(readTensor(reader.nested('outputs')));
    else if (reader.field === MODEL_INFER_RESPONSE.rawOutputContents) raws.push(reader.view());
    else reader.skip();
  }
  let next = 0;
  return tensors.map(({ contents, ...tensor }) => {
    const { name, datatype } = tensor;
    const bytes = contents === undefined ? raws[next++] : typedBytes(contents, datatype);
    if (bytes !== undefined) return { ...tensor, bytes };
    throw new ServalError(ErrorCode.Internal, `output '${name}': a response without contents`);
  });
}

function readTensor(reader: WireReader) {
  let [name, datatype] = ['', ''];
  let contents: WireReader | undefined;
  const shape: number[] = [];
  const parameters = new Map<string, string>();
  while (reader.next()) {
    if (reader.field === OUTPUT_TENSOR.name) name = reader.string();
    else if (reader.field === OUTPUT_TENSOR.datatype) datatype = reader.string();
    else if (reader.field === OUTPUT_TENSOR.shape) {
      reader.varints(({ low, high }) => {
        shape.push(Number(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low))));
      });
    } else if (reader.field === OUTPUT_TENSOR.parameters)
      readParameter(reader.nested('parameters'), parameters);
    else if (reader.field === OUTPUT_TENSOR.contents)
      contents = reader.nested('InferTensorContents');
    else reader.skip();
  }
  return { name, datatype: datatype as Datatype, shape, parameters, contents };
}

function readParameter(reader: WireReader, into: Map<string, string>): void {
  let key = '';
  let text: string | undefined;
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value) {
      const choice = reader.nested('InferParameter');
      while (choice.next()) {
        if (choice.field === INFER_PARAMETER.stringParam) text = choice.string();
        else choice.skip();
      }
    } else reader.skip();
  }
  if (text !== undefined) into.set(key, text);
}

const tensorsOf = (tensors: readonly AnswerTensor[]): Outputs =>
  byName(
    tensors.map(({ name, datatype, shape, bytes }) => ({
      name,
      datatype,
      shape,
      data: elementValues(datatype, bytes),
    })),
  );
