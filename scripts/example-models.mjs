// The models of examples/models, as descriptions for ts/importers/onnx/builder.ts. Shared by
// make-examples.mjs and by the test fixtures. Build time only.

/** y = x * 0.5 + 3, TensorFlow Serving's own sample: [1, 2, 5] -> [3.5, 4, 5.5]. */
export function halfPlusThree(onnx) {
  return {
    doc: 'y = x * 0.5 + 3',
    graph: {
      name: 'half_plus_three',
      inputs: [{ name: 'x', type: 'float', shape: ['batch'] }],
      outputs: [{ name: 'y', type: 'float', shape: ['batch'] }],
      initializers: [
        { name: 'half', type: 'float', dims: [], data: onnx.floatBytes([0.5]) },
        { name: 'three', type: 'float', dims: [], data: onnx.floatBytes([3]) },
      ],
      nodes: [
        { op: 'Mul', inputs: ['x', 'half'], outputs: ['scaled'] },
        { op: 'Add', inputs: ['scaled', 'three'], outputs: ['y'] },
      ],
    },
  };
}

/** OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1: Triton's `simple`, with a free batch. */
export function addSub() {
  const tensor = (name) => ({ name, type: 'int32', shape: ['batch', 16] });
  return {
    doc: 'OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1',
    graph: {
      name: 'add_sub',
      inputs: [tensor('INPUT0'), tensor('INPUT1')],
      outputs: [tensor('OUTPUT0'), tensor('OUTPUT1')],
      nodes: [
        { op: 'Add', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT0'] },
        { op: 'Sub', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT1'] },
      ],
    },
  };
}

/** output = input, for one element type and the given shape. */
export function identity(name, type, shape, input = 'input', output = 'output') {
  return {
    doc: `${output} = ${input}`,
    graph: {
      name,
      inputs: [shape ? { name: input, type, shape } : { name: input, type }],
      outputs: [shape ? { name: output, type, shape } : { name: output, type }],
      nodes: [{ op: 'Identity', inputs: [input], outputs: [output] }],
    },
  };
}

/** Returns [folder below a model repository, model] for every model of examples/models. */
export function exampleModels(onnx) {
  return [
    ['half_plus_three/123', halfPlusThree(onnx)],
    ['add_sub/1', addSub()],
    ['text_identity/1', identity('text_identity', 'string', ['n'], 'text', 'text_out')],
  ];
}
