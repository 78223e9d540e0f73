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
