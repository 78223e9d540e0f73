// EPContext nodes are found at any position in a model, whatever precedes them, and nowhere else.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  encodeModel,
  type OnnxAttribute,
  type OnnxNode,
} from '../../../../ts/importers/onnx/builder.js';
import { findContextNode, type ContextNode } from '../../../../ts/importers/onnx/context-node.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import { tempFolder } from '../../temp-folder.js';

const SOURCE = 'TensorrtExecutionProvider';

const context = (more: Partial<OnnxNode> = {}): OnnxNode => ({
  op: 'EPContext',
  name: 'engine',
  domain: 'com.microsoft',
  inputs: ['x'],
  outputs: ['y'],
  attributes: { embed_mode: { int: 0 }, source: { string: SOURCE } },
  ...more,
});

function modelOf(nodes: readonly OnnxNode[]): Uint8Array {
  const value = { type: 'float', shape: [1] } as const;
  const [inputs, outputs] = [[{ ...value, name: 'x' }], [{ ...value, name: 'y' }]];
  return encodeModel({ graph: { name: 'g', nodes, inputs, outputs } });
}

function found(context: TestContext, bytes: Uint8Array): Promise<ContextNode | undefined> {
  const path = join(tempFolder(context), 'model.onnx');
  writeFileSync(path, bytes);
  return findContextNode(path);
}

const identity: OnnxNode = { op: 'Identity', inputs: ['x'], outputs: ['y'] };

test('the first one is found, with its source', async (t) => {
  const expected = { name: 'engine', source: SOURCE };
  assert.deepEqual(await found(t, modelOf([context()])), expected);
  const many = Array.from({ length: 5000 }, () => identity);
  assert.deepEqual(await found(t, modelOf([...many, context(), context({ name: 'b' })])), expected);
  const legacy = context({ attributes: { embed_mode: { int: 1 } } });
  assert.deepEqual(await found(t, modelOf([legacy])), { name: 'engine', source: '' });
});

test('in a body and in a function too', async (t) => {
  const graph = { name: 'b', nodes: [context()], inputs: [], outputs: [] };
  const attributes: Record<string, OnnxAttribute> = { then_branch: { graph } };
  const branch: OnnxNode = { op: 'If', inputs: ['c'], outputs: ['y'], attributes };
  assert.equal((await found(t, modelOf([identity, branch])))?.name, 'engine');
  const calls = new ProtobufWriter().message(25, (one) =>
    one.message(7, (node) =>
      node.string(3, 'inner').string(4, 'EPContext').string(7, 'com.microsoft'),
    ),
  );
  assert.equal((await found(t, calls.concat()))?.name, 'inner');
});

test('not of another domain, nor as text somewhere else', async (t) => {
  const others = [
    context({ domain: 'mine' }),
    { ...identity, name: 'EPContext', domain: 'com.microsoft' },
    { ...identity, attributes: { source: { string: 'EPContext' } } },
  ];
  assert.equal(await found(t, modelOf(others)), undefined);
});

test('finds none in unreadable bytes', async (t) => {
  const bytes = modelOf([identity, context()]);
  for (const cut of [1, 20, 60]) assert.equal(await found(t, bytes.subarray(0, cut)), undefined);
  assert.equal(await found(t, Buffer.from('not ONNX at all')), undefined);
  assert.equal(await found(t, new Uint8Array(0)), undefined);
  assert.equal(await findContextNode(join(tempFolder(t), 'nothing')), undefined);
  assert.equal(await findContextNode(tempFolder(t)), undefined);
});

test('an engine or weights of gigabytes are not read', { timeout: 10_000 }, async (t) => {
  const HOLE = 3_000_000_000;
  const head = (field: number, bytes: number): Buffer => {
    const out = [field * 8 + 2];
    for (let left = bytes; ; left = Math.floor(left / 128)) {
      if (left < 128) return Buffer.from([...out, left]);
      out.push((left % 128) + 128);
    }
  };
  const whole = (field: number, value: Uint8Array): Buffer =>
    Buffer.concat([head(field, value.length), value]);
  const rest = new ProtobufWriter()
    .message(5, (one) => one.string(1, 'source').string(4, SOURCE))
    .string(7, 'com.microsoft')
    .concat();
  const name = whole(1, Buffer.from('ep_cache_context'));
  const engineHead = Buffer.concat([name, head(4, HOLE)]);
  const attributeHead = head(5, engineHead.length + HOLE);
  const op = whole(4, Buffer.from('EPContext'));
  const nodeBytes = op.length + attributeHead.length + engineHead.length + HOLE + rest.length;
  const weights = Buffer.concat([head(5, HOLE)]);
  const nodeHead = head(1, nodeBytes);
  const graphBytes = weights.length + HOLE + nodeHead.length + nodeBytes;
  const path = join(tempFolder(t), 'model.onnx');
  const file = openSync(path, 'w');
  let at = 0;
  const put = (bytes: Uint8Array): void => void (at += writeSync(file, bytes, 0, bytes.length, at));
  for (const part of [head(7, graphBytes), weights]) put(part);
  at += HOLE;
  for (const part of [nodeHead, op, attributeHead, engineHead]) put(part);
  at += HOLE;
  put(rest);
  ftruncateSync(file, at);
  closeSync(file);
  assert.deepEqual(await findContextNode(path), { name: '', source: SOURCE });
});
