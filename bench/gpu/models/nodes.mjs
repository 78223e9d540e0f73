// Shorthand for graphs of the models, in the form that ts/importers/onnx/builder.ts accepts. Pure.

/** Makes an input or output. */
export const value = (name, type, shape) => ({ name, type, shape });

/** Makes an operator with one output. */
export const node = (op, inputs, output, attributes = {}) => ({
  op,
  inputs,
  outputs: [output],
  attributes,
});
