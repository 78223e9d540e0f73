// TensorFlow Serving's PredictionService: the signatures of a version, and one Predict. Control
// plane. Source: proto/wire/tensorflow_serving.proto; tfserving.md 2.
import { PREDICTION_SERVICE } from '../../../base/services.js';
import { PREDICT_RESPONSE } from '../../../protobuf/generated/tensorflow-serving-fields.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { elementValues } from '../../../library/elements.js';
import { columnsOf } from '../../../library/table-request.js';
import { byName, encodeInputs } from '../../../library/tensor-request.js';
import type { Inputs, Outputs, Tensor } from '../../../library/types.js';
import { DATA_TYPES } from '../../../model/datatype.js';
import { WireReader } from '../../../protobuf/reader.js';
import { tensorBytes, tensorStrings } from '../../../importers/tensorflow/lower/tensors.js';
import { ReadContext, readMapEntry } from '../../../importers/tensorflow/proto/read-context.js';
import { readTensor } from '../../../importers/tensorflow/proto/tensor-proto.js';
import type { Callable, RemoteTarget } from '../remote.js';
import type { Channel } from './channel.js';
import { textsBytes } from './contents.js';
import { metadataRequest, predictRequest } from './predict-request.js';
import { inputInfo, servingMetadata, signatureOf } from './tfserving-metadata.js';

export async function openServing(
  channel: Channel,
  target: RemoteTarget,
  signature: string,
): Promise<Callable> {
  const asked = metadataRequest(target);
  const answer = await channel.call(`/${PREDICTION_SERVICE}/GetModelMetadata`, asked);
  const metadata = servingMetadata(answer);
  const defined = signatureOf(metadata, signature, target.base, target.model);
  const inputs = [...defined.inputs].map(([name, info]) => inputInfo(name, info));
  return {
    name: target.model,
    version: metadata.version || target.version,
    inputs,
    isTable: false,
    infer: async (values, { outputs = [] }) => {
      const columns = Array.isArray(values) ? columnsOf(values) : (values as Inputs);
      const message = predictRequest(target, signature, encodeInputs(inputs, columns), outputs);
      return predicted(await channel.call(`/${PREDICTION_SERVICE}/Predict`, message));
    },
    close: () => Promise.resolve(channel.close()),
  };
}

function predicted(message: Buffer): Outputs {
  const reader = new WireReader(message, 'PredictResponse', 0, ErrorCode.Internal);
  const tensors: Tensor[] = [];
  while (reader.next()) {
    if (reader.field !== PREDICT_RESPONSE.outputs) {
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
