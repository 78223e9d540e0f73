// Models and requests for tests of the whole import. Test time only.
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TensorFlowRequest } from '../../../../ts/importers/run/importer.js';
import { filledFolder } from '../../temp-folder.js';
import { attr, graph, info, savedModel, type Fill, type NodeText } from '../tensorflow/messages.js';

const FLOAT = attr.type(1);

/** A TensorProto with this many floats. */
export const floats = (count: number): Fill =>
  attr.tensor((writer) => {
    const values = Float32Array.from({ length: count }, (_, i) => i);
    writer
      .varint(1, 1)
      .message(2, (dims) => dims.message(2, (dim) => dim.varint(1, count)))
      .bytes(4, new Uint8Array(values.buffer));
  });

/** A SignatureDef from "x" to "y". */
export const xToY: Fill = (writer) => {
  writer
    .message(1, (entry) => entry.string(1, 'x').message(2, info('x:0', 1)))
    .message(2, (entry) => entry.string(1, 'y').message(2, info('y:0', 1)))
    .string(3, 'tensorflow/serving/predict');
};

/** saved_model.pb of y = x + (0, 1, 2, ...) with `constants` constants; with `more` nodes. */
export function plusModel(constants = 300, more: readonly NodeText[] = []): Uint8Array {
  return savedModel([
    {
      tags: ['serve'],
      signatures: { serving_default: xToY },
      graph: graph([
        { name: 'x', op: 'Placeholder', attributes: { dtype: FLOAT } },
        { name: 'c', op: 'Const', attributes: { dtype: FLOAT, value: floats(constants) } },
        { name: 'y', op: 'AddV2', inputs: ['x', 'c'], attributes: { T: FLOAT } },
        ...more,
      ]),
    },
  ]);
}

export const request = (
  path: string,
  more: Partial<TensorFlowRequest> = {},
): TensorFlowRequest => ({
  format: 'tensorflow',
  path,
  tags: ['serve'],
  inputs: [],
  outputs: [],
  first: '',
  signatures: [],
  cacheFolder: '',
  ...more,
});

/** A version folder with such a model, and an empty cache beside it. */
export function modelAndCache(
  t: TestContext,
  model = plusModel(),
): { readonly path: string; readonly cacheFolder: string; readonly folder: string } {
  const folder = filledFolder(t, { '1/saved_model.pb': model });
  return { folder, path: join(folder, '1'), cacheFolder: join(folder, 'cache') };
}
