// The files of external data that an ONNX model names, in every place of a tensor.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  encodeModel,
  floatBytes,
  type OnnxGraph,
  type OnnxTensor,
} from '../../../../ts/importers/onnx/builder.js';
import { externalFiles } from '../../../../ts/importers/onnx/external-files.js';
import { filledFolder } from '../../temp-folder.js';

const outside = (name: string, location: string): OnnxTensor => ({
  name,
  type: 'float',
  dims: [1],
  data: { location, offset: 0, byteLength: 4 },
});
const inside: OnnxTensor = { name: 'in', type: 'float', dims: [1], data: floatBytes([1]) };
const graph = (more: Partial<OnnxGraph>): OnnxGraph => ({
  name: 'g',
  inputs: [],
  outputs: [],
  nodes: [],
  ...more,
});

test('finds the files of initializers, constants and bodies', async (t) => {
  const body = graph({ initializers: [outside('c', 'deep/c.bin'), inside] });
  const nodes = [
    {
      op: 'Constant',
      inputs: [],
      outputs: ['b'],
      attributes: { value: { tensor: outside('b', 'b') } },
    },
    { op: 'If', inputs: ['b'], outputs: [], attributes: { then_branch: { graph: body } } },
  ];
  const initializers = [outside('a', 'a.bin'), outside('a2', 'a.bin'), inside];
  const model = encodeModel({ graph: graph({ nodes, initializers }) });
  const folder = filledFolder(t, { 'model.onnx': model });
  const found = await externalFiles(join(folder, 'model.onnx'));
  assert.deepEqual([...found].sort(), ['a.bin', 'b', 'deep/c.bin']);
});

test('finds none in a model that contains its weights', async (t) => {
  const model = encodeModel({ graph: graph({ initializers: [inside] }) });
  const folder = filledFolder(t, { 'model.onnx': model });
  assert.deepEqual(await externalFiles(join(folder, 'model.onnx')), []);
});

test('refuses files that are no models', async (t) => {
  const folder = filledFolder(t, { 'model.onnx': 'no model' });
  await assert.rejects(externalFiles(join(folder, 'model.onnx')), /model\.onnx: .*onnx/);
  await assert.rejects(externalFiles(join(folder, 'none.onnx')), /none\.onnx: ENOENT/);
});
