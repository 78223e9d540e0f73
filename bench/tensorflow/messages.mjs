// The few protobuf fields of TensorFlow Serving's messages and of tf.train.Example that the rows
// need, written and read by hand. Pure. Source: tensorflow_serving/apis and
// tensorflow/core/{framework/tensor,example/feature}.proto.
import { bytesOf, floatsOf } from '../bodies.mjs';
import { bytesField, fieldsOf as of, varint } from '../wire.mjs';

const DT_FLOAT = 1;

const text = (number, value) => bytesField(number, Buffer.from(value));
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);

function modelSpec(model) {
  return bytesField(1, text(1, model));
}

function tensorHead(shape) {
  const dims = shape.map((size) => bytesField(2, number(1, size)));
  return Buffer.concat([number(1, DT_FLOAT), bytesField(2, Buffer.concat(dims))]);
}

/** PredictRequest with one float tensor as tensor_content. */
export function predictRequest(model, alias, shape, values) {
  const tensor = Buffer.concat([tensorHead(shape), bytesField(4, bytesOf(values))]);
  const entry = Buffer.concat([text(1, alias), bytesField(2, tensor)]);
  return Buffer.concat([modelSpec(model), bytesField(2, entry)]);
}

/** The floats of the only output of a PredictResponse. */
export function predictOutput(message) {
  const entries = of(message, 1);
  if (entries.length !== 1) throw new Error(`${entries.length} outputs, expected 1`);
  const tensor = of(entries[0], 2)[0] ?? Buffer.alloc(0);
  return floatsOf(Buffer.concat([...of(tensor, 4), ...of(tensor, 5)]));
}

/** tf.train.Example of one float a feature: {name: value}. */
export function exampleOf(features) {
  const entries = Object.entries(features).map(([name, value]) => {
    const list = bytesField(1, bytesOf(Float32Array.of(value)));
    return bytesField(1, Buffer.concat([text(1, name), bytesField(2, bytesField(2, list))]));
  });
  return bytesField(1, Buffer.concat(entries));
}

/** ClassificationRequest with a list of Examples. */
export function classifyRequest(model, examples) {
  const list = Buffer.concat(examples.map((example) => bytesField(1, example)));
  return Buffer.concat([modelSpec(model), bytesField(2, bytesField(1, list))]);
}

/** The scores of a ClassificationResponse, example by example. */
export function classifyScores(message) {
  const classes = of(of(message, 1)[0] ?? Buffer.alloc(0), 1).flatMap((one) => of(one, 1));
  return Float32Array.from(classes, (one) => (of(one, 2)[0] ?? Buffer.alloc(4)).readFloatLE());
}
