// The models of the GPU benchmark, scaled down: the runtime loads them, and results depend on the
// inputs; those in full size have the known numbers of weights.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { modelFolder, MODELS, writeModel } from '../gpu/models/index.mjs';

function temporary(t) {
  const folder = mkdtempSync(join(tmpdir(), 'serval-gpu-models-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const of = (name) => MODELS.find((model) => model.name === name);

function tensorOf({ tensor, bytes }) {
  const copy = Uint8Array.from(bytes).buffer;
  return tensor.datatype === 'INT64'
    ? new Tensor('int64', new BigInt64Array(copy), tensor.shape)
    : new Tensor('float32', new Float32Array(copy), tensor.shape);
}

async function answer(session, inputs) {
  const feeds = inputs.map((input) => [input.tensor.name, tensorOf(input)]);
  return session.run(Object.fromEntries(feeds));
}

const spreadOf = (values) => Math.max(...values) - Math.min(...values);

for (const model of MODELS) {
  test(`${model.name}: rows have the same results alone and together, and differ from each other`, async (t) => {
    const folder = temporary(t);
    writeModel(folder, model, model.tiny);
    const session = await InferenceSession.create(join(folder, 'model.onnx'));
    t.after(() => session.release());
    assert.deepEqual(session.outputNames, [model.output]);
    const together = await answer(session, model.inputs(model.tiny, 3));
    const alone = await answer(session, model.inputs(model.tiny, 1));
    const [rows, columns] = together[model.output].dims;
    const values = [...together[model.output].data];
    assert.equal(rows, 3);
    assert.ok(values.every(Number.isFinite), String(values));
    [...alone[model.output].data].forEach((one, i) => {
      assert.ok(Math.abs(one - values[i]) < 1e-4, `[${i}]: ${one} and ${values[i]}`);
    });
    const first = values.slice(0, columns);
    const second = values.slice(columns, 2 * columns);
    assert.ok(spreadOf(first) > 1e-3, String(first));
    assert.ok(
      first.some((one, i) => Math.abs(one - second[i]) > 1e-5),
      'rows do not count',
    );
  });
}

test('masked tokens do not affect the output', async (t) => {
  const folder = temporary(t);
  const model = of('bert-base');
  writeModel(folder, model, model.tiny);
  const session = await InferenceSession.create(join(folder, 'model.onnx'));
  t.after(() => session.release());
  const [ids, mask] = model.inputs(model.tiny, 1).map(tensorOf);
  const last = model.tiny.tokens - 1;
  const run = async (id, seen) => {
    ids.data[last] = id;
    mask.data[last] = seen;
    const { pooled } = await session.run({ input_ids: ids, attention_mask: mask });
    return [...pooled.data];
  };
  assert.deepEqual(await run(1n, 0n), await run(2n, 0n));
  assert.notDeepEqual(await run(1n, 1n), await run(2n, 1n));
});

/** Counts weights without writing them. */
class Counter {
  tensors = [];
  count = 0;
  floats(name, dims) {
    this.count += dims.reduce((product, dim) => product * dim, 1);
    return name;
  }
  matrix = this.floats;
  constant = (name) => name;
  integers = (name) => name;
}

test('the measured models have the numbers of weights that their papers state', () => {
  const counted = ({ build, shape }) => {
    const weights = new Counter();
    const { graph } = build(weights, shape);
    return { count: weights.count, ops: graph.nodes.map(({ op }) => op) };
  };
  const resnet = counted(of('resnet50'));
  // torchvision's 25,557,032 include two numbers for each channel of the 53 batch normalizations,
  // in place of one bias here: 26,560 channels.
  assert.equal(resnet.count, 25_557_032 - 26_560);
  assert.equal(resnet.ops.filter((op) => op === 'Conv').length, 53);
  const bert = counted(of('bert-base'));
  // Hugging Face's 109,482,240 include 512 positions and 2 segments; here there are 128 positions
  // and one segment.
  assert.equal(bert.count, 109_482_240 - (512 - 128 + 2) * 768);
  assert.equal(bert.ops.filter((op) => op === 'Softmax').length, 12);
  assert.equal(counted(of('mlp')).count, 3 * (1024 * 1024 + 1024) + 1024 * 10 + 10);
});

test('files are made once and are reproducible; another shape has another folder', (t) => {
  const parent = temporary(t);
  const model = of('mlp');
  const folder = modelFolder(parent, model, model.tiny);
  const made = statSync(join(folder, 'weights.bin')).mtimeMs;
  assert.equal(modelFolder(parent, model, model.tiny), folder);
  assert.equal(statSync(join(folder, 'weights.bin')).mtimeMs, made);
  assert.notEqual(modelFolder(parent, model, { ...model.tiny, width: 8 }), folder);
  assert.equal(readdirSync(parent).length, 2);
  const again = temporary(t);
  writeModel(again, model, model.tiny);
  for (const name of ['model.onnx', 'weights.bin']) {
    assert.ok(readFileSync(join(again, name)).equals(readFileSync(join(folder, name))), name);
  }
});
