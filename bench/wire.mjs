// Protobuf encoding by hand, and the few fields of ModelInferRequest and ModelInferResponse that a
// benchmark needs. Pure. Source: grpc_predict_v2.proto of the V2 protocol.

const FIELD = {
  request: { modelName: 1, parameters: 4, inputs: 5, outputs: 6, rawInputContents: 7 },
  tensor: { name: 1, datatype: 2, shape: 3, parameters: 4 },
  requested: { name: 1, parameters: 2 },
  parameter: { key: 1, value: 2, boolean: 1, integer: 2, string: 3 },
  register: { name: 1, key: 2, byteSize: 4 },
  response: { rawOutputContents: 6 },
};

/** Encodes a number up to 2^53 as a varint. */
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

function varintField(number, value) {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function parameterValue(given) {
  if (typeof given === 'boolean') return varintField(FIELD.parameter.boolean, Number(given));
  if (typeof given === 'number') return varintField(FIELD.parameter.integer, given);
  return bytesField(FIELD.parameter.string, Buffer.from(given));
}

/** Parameters as fields `number`; each is a string, a whole number or a boolean. */
function parameterFields(number, parameters) {
  return Object.entries(parameters).map(([key, given]) => {
    const value = parameterValue(given);
    return bytesField(
      number,
      Buffer.concat([
        bytesField(FIELD.parameter.key, Buffer.from(key)),
        bytesField(FIELD.parameter.value, value),
      ]),
    );
  });
}

/**
 * One InferInputTensor. `tensor` is {name, datatype, shape, parameters}; parameters are strings and
 * whole numbers.
 */
function inputTensor({ name, datatype, shape, parameters = {} }) {
  const entries = parameterFields(FIELD.tensor.parameters, parameters);
  return Buffer.concat([
    bytesField(FIELD.tensor.name, Buffer.from(name)),
    bytesField(FIELD.tensor.datatype, Buffer.from(datatype)),
    bytesField(FIELD.tensor.shape, Buffer.concat(shape.map(varint))),
    ...entries,
  ]);
}

/**
 * ModelInferRequest with raw inputs, each a tensor and its bytes; `outputs`: [] = the model's;
 * `parameters`: of the request.
 */
export function modelInferRequest(model, inputs, outputs = [], parameters = {}) {
  const requested = (name) => bytesField(FIELD.requested.name, Buffer.from(name));
  return Buffer.concat([
    bytesField(FIELD.request.modelName, Buffer.from(model)),
    ...parameterFields(FIELD.request.parameters, parameters),
    ...inputs.map(({ tensor }) => bytesField(FIELD.request.inputs, inputTensor(tensor))),
    ...outputs.map((name) => bytesField(FIELD.request.outputs, requested(name))),
    ...inputs.map(({ bytes }) => bytesField(FIELD.request.rawInputContents, bytes)),
  ]);
}

const placeOf = ({ region, bytes }) => ({
  shared_memory_region: region,
  shared_memory_byte_size: bytes,
});

/** The same with one input and one output in shared memory: {region, bytes} each. */
export function placedInferRequest(model, tensor, place, output, outputPlace) {
  const input = inputTensor({ ...tensor, parameters: placeOf(place) });
  const wanted = Buffer.concat([
    bytesField(FIELD.requested.name, Buffer.from(output)),
    ...parameterFields(FIELD.requested.parameters, placeOf(outputPlace)),
  ]);
  return Buffer.concat([
    bytesField(FIELD.request.modelName, Buffer.from(model)),
    bytesField(FIELD.request.inputs, input),
    bytesField(FIELD.request.outputs, wanted),
  ]);
}

/** SystemSharedMemoryRegisterRequest for a whole object. */
export function registerRequest(region, key, bytes) {
  return Buffer.concat([
    bytesField(FIELD.register.name, Buffer.from(region)),
    bytesField(FIELD.register.key, Buffer.from(key)),
    varintField(FIELD.register.byteSize, bytes),
  ]);
}

/**
 * A message's fields in order: [number, bytes]; varint fields are skipped. Throws on a malformed
 * message.
 */
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
