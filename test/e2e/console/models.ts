// Models for the console's tests: scores of four classes, and a thousand copies. Test time only.
import { linkSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { OnnxModel } from '../../../ts/importers/onnx/builder.js';
import type { ModelFolders } from '../support/model-folders.js';

/** probabilities = softmax(x), FP32 [batch, 4]. */
export function classModel(): OnnxModel {
  const port = (name: string) => ({ name, type: 'float', shape: ['batch', 4] }) as const;
  return {
    graph: {
      name: 'scores',
      inputs: [port('x')],
      outputs: [port('probabilities')],
      initializers: [],
      nodes: [{ op: 'Softmax', inputs: ['x'], outputs: ['probabilities'] }],
    },
  };
}

/** A repository with `count` copies of one model. */
export function manyModels(folders: ModelFolders, count: number): string {
  const repository = join(folders.folder, 'many');
  mkdirSync(repository);
  const from = join(folders.models, 'half_plus_three', '123', 'model.onnx');
  for (let index = 0; index < count; index += 1) {
    const name = `many_${String(index).padStart(4, '0')}`;
    const folder = join(repository, name, '1');
    mkdirSync(folder, { recursive: true });
    linkSync(from, join(folder, 'model.onnx'));
  }
  return repository;
}

/** sum = a + b, FP32 [batch]. */
export function twoModel(): OnnxModel {
  const port = (name: string) => ({ name, type: 'float', shape: ['batch'] }) as const;
  return {
    graph: {
      name: 'add',
      inputs: [port('a'), port('b')],
      outputs: [port('sum')],
      initializers: [],
      nodes: [{ op: 'Add', inputs: ['a', 'b'], outputs: ['sum'] }],
    },
  };
}

/** OUT = (IN + 1 + 1) + (IN + 1 + 10): four steps, of which two read the same tensor. */
export function diamondConfig(): string {
  const plus = (model: string, from: string, to: string): string =>
    `step { model_name: "${model}" model_version: -1 input_map { key: "x" value: "${from}" }
      output_map { key: "y" value: "${to}" } }`;
  return `platform: "ensemble"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling {
  ${plus('plus_one', 'IN', 'first')}
  ${plus('plus_one', 'first', 'left')}
  ${plus('plus_ten', 'first', 'right')}
  step { model_name: "add" model_version: -1
    input_map { key: "a" value: "left" } input_map { key: "b" value: "right" }
    output_map { key: "sum" value: "OUT" } }
}`;
}

/** sum = before + x, FP32 [batch, 1]. */
export function sumModel(): OnnxModel {
  const port = (name: string) => ({ name, type: 'float', shape: ['batch', 1] }) as const;
  return {
    graph: {
      name: 'running_sum',
      inputs: [port('before'), port('x')],
      outputs: [port('sum')],
      initializers: [],
      nodes: [{ op: 'Add', inputs: ['before', 'x'], outputs: ['sum'] }],
    },
  };
}

/** Two slots; `before` is the sequence's last sum. */
export function sumConfig(): string {
  return `max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: 1 }
output { name: "sum" data_type: TYPE_FP32 dims: 1 }
sequence_batching {
  oldest { max_candidate_sequences: 2 }
  max_sequence_idle_microseconds: 30000000
  state { input_name: "before" output_name: "sum" data_type: TYPE_FP32 dims: 1 }
}`;
}
