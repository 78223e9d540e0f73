// Words for graphs of the models: what ts/importers/onnx/builder.ts takes, in fewer letters. Pure.

/** An input or output. */
export const value = (name, type, shape) => ({ name, type, shape });

/** An operator of one output. */
export const node = (op, inputs, output, attributes = {}) => ({
  op,
  inputs,
  outputs: [output],
  attributes,
});
