// Triton's `simple` of its examples: sum and difference of two [1, 16] of INT32. Test time only.
import type { OnnxModel } from '../../../ts/importers/onnx/builder.js';

export function simpleModel(): OnnxModel {
  const port = (name: string) => ({ name, type: 'int32', shape: ['batch', 16] }) as const;
  return {
    graph: {
      name: 'simple',
      inputs: [port('INPUT0'), port('INPUT1')],
      outputs: [port('OUTPUT0'), port('OUTPUT1')],
      initializers: [],
      nodes: [
        { op: 'Add', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT0'] },
        { op: 'Sub', inputs: ['INPUT0', 'INPUT1'], outputs: ['OUTPUT1'] },
      ],
    },
  };
}
