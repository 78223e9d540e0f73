// Protobuf by hand, and the few fields of ModelInferRequest and ModelInferResponse that a benchmark
// needs. Pure. Source: grpc_predict_v2.proto of the V2 protocol.

const FIELD = {
  request: { modelName: 1, inputs: 5, rawInputContents: 7 },
  tensor: { name: 1, datatype: 2, shape: 3, parameters: 4 },
  parameter: { key: 1, value: 2, string: 3 },
  response: { rawOutputContents: 6 },
};

/** A varint of a number up to 2^53. */
export function varint(value) {
  const bytes = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A length-delimited field. */
export function bytesField(number, bytes) {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** One InferInputTensor. `tensor` is {name, datatype, shape, parameters}, the last of texts. */
function inputTensor({ name, datatype, shape, parameters = {} }) {
  const entries = Object.entries(parameters).map(([key, text]) => {
    const value = bytesField(FIELD.parameter.string, Buffer.from(text));
    return bytesField(
      FIELD.tensor.parameters,
      Buffer.concat([
        bytesField(FIELD.parameter.key, Buffer.from(key)),
        bytesField(FIELD.parameter.value, value),
      ]),
    );
  });
  return Buffer.concat([
    bytesField(FIELD.tensor.name, Buffer.from(name)),
    bytesField(FIELD.tensor.datatype, Buffer.from(datatype)),
    bytesField(FIELD.tensor.shape, Buffer.concat(shape.map(varint))),
    ...entries,
  ]);
}

/** ModelInferRequest with raw inputs: of each the tensor and its bytes. */
export function modelInferRequest(model, inputs) {
  return Buffer.concat([
    bytesField(FIELD.request.modelName, Buffer.from(model)),
    ...inputs.map(({ tensor }) => bytesField(FIELD.request.inputs, inputTensor(tensor))),
    ...inputs.map(({ bytes }) => bytesField(FIELD.request.rawInputContents, bytes)),
  ]);
}

/** A message's fields in order: [number, bytes]; numbers of varint fields are passed over. Throws
 * on a malformed message. */
export function fields(message) {
  const found = [];
  let at = 0;
  const readVarint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = message[at];
      if (byte === undefined) throw new RangeError(`message ends inside a varint at ${at}`);
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = readVarint();
    if (tag % 8 === 0) {
      readVarint();
    } else if (tag % 8 === 2 || tag % 8 === 5) {
      const size = tag % 8 === 5 ? 4 : readVarint();
      if (at + size > message.length) throw new RangeError(`field at ${at} ends past the message`);
      found.push([Math.floor(tag / 8), message.subarray(at, at + size)]);
      at += size;
    } else {
      throw new RangeError(`unexpected wire type ${tag % 8} at ${at}`);
    }
  }
  return found;
}

/** The bytes of every field `number` of a message, in order. Throws on a malformed message. */
export function fieldsOf(message, number) {
  return fields(message)
    .filter(([field]) => field === number)
    .map(([, bytes]) => bytes);
}

/** The raw_output_contents of a ModelInferResponse, in order. Throws on a malformed message. */
export function rawOutputs(message) {
  return fieldsOf(message, FIELD.response.rawOutputContents);
}
