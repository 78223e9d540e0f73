// Checkpoints that TensorFlow wrote, of both versions, against the values in their index.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openCheckpoint } from '../../../../../ts/importers/tensorflow/checkpoint/index.js';
import type { Checkpoint, Slice, Tensor } from '../../../../../ts/importers/tensorflow/types.js';
import { SAMPLES, haveSamples, sampleFiles, sampleFolders } from './samples.js';
import { elements, floats } from './support.js';

interface Index {
  readonly generated: {
    readonly entries: Readonly<
      Record<
        string,
        {
          readonly variables?: Readonly<Record<string, unknown>>;
        }
      >
    >;
  };
}

const floatsOf = (tensor: Tensor): number[] => [
  ...new Float32Array(new Uint8Array(Buffer.from(String(elements(tensor)), 'hex')).buffer),
];
const rows = (start: number, length: number): Slice => [
  { start, length },
  { start: 0, length: undefined },
];

/** Elements of the tensors that INDEX.json describes by numbers, as bytes in hex. */
const BYTES: Readonly<Record<string, string | readonly string[]>> = {
  strs: ['78', '7979ff'],
  half: '0000003c004000420044',
  i8: 'fdfeff000102',
  bools: '0100',
  i64: '0000000000ffffff0000000000010000',
  f64: '000000000000f83f00000000000004c0',
  bf16: '803f0040',
};
const DTYPES: Readonly<Record<string, string>> = {
  strs: 'string',
  half: 'half',
  i8: 'int8',
  bools: 'bool',
  i64: 'int64',
  f64: 'double',
  bf16: 'bfloat16',
  a: 'float',
  b: 'float',
  emb: 'float',
};

function checkDtypes(checkpoint: Checkpoint, variables: Readonly<Record<string, unknown>>): void {
  assert.deepEqual(checkpoint.names, Object.keys(variables).sort());
  for (const [name, value] of Object.entries(variables)) {
    const { dtype, shape } = checkpoint.describe(name);
    assert.equal(dtype, DTYPES[name], name);
    const tensor = checkpoint.read(name);
    assert.deepEqual([tensor.dtype, tensor.shape], [dtype, shape]);
    if (dtype === 'float') assert.deepEqual(floatsOf(tensor), [value].flat(2), name);
    else assert.deepEqual(elements(tensor), BYTES[name], name);
  }
  const emb = floatsOf(checkpoint.read('emb'));
  const parts = [
    [0, 4],
    [4, 3],
    [7, 3],
    [3, 5],
    [0, 10],
    [9, 1],
    [5, 0],
  ] as const;
  for (const [start, length] of parts) {
    const part = checkpoint.read('emb', rows(start, length));
    assert.deepEqual(part.shape, [length, 4]);
    assert.deepEqual(floatsOf(part), emb.slice(start * 4, (start + length) * 4));
  }
}

test('every data type, sharded and not, both versions, a partitioned variable', (context) => {
  if (!haveSamples(context)) return;
  const text = readFileSync(join(SAMPLES, 'session_bundle', 'INDEX.json'), 'utf8');
  const { generated } = JSON.parse(text) as Index;
  let checked = 0;
  for (const [folder, { variables }] of Object.entries(generated.entries)) {
    if (variables === undefined) continue;
    checkDtypes(openCheckpoint(sampleFiles(join('session_bundle', folder))), variables);
    checked += 1;
  }
  assert.equal(checked, 4);
});

test('a variable partitioned by columns', (context) => {
  if (!haveSamples(context)) return;
  const read = (version: string): Tensor =>
    openCheckpoint(
      sampleFiles(`session_bundle/generated/${version}_classify_assets/00000007`),
    ).read('W');
  assert.deepEqual(read('v1').shape, [2, 3]);
  assert.equal(elements(read('v1')), elements(read('v2')));
});

test('half plus two and three, as old and new TensorFlow wrote them', (context) => {
  if (!haveSamples(context)) return;
  const values: Readonly<Record<string, number>> = { a: 0.5, a2: 0.5, b: 2, c: 3, c2: 3 };
  const renamed: Readonly<Record<string, string>> = { Variable: 'a', Variable_1: 'b' };
  let compared = 0;
  for (const folder of sampleFolders().filter((path) => /half_plus/.test(path))) {
    const checkpoint = openCheckpoint(sampleFiles(folder));
    for (const name of checkpoint.names) {
      const key = renamed[name] ?? name.replace('/.ATTRIBUTES/VARIABLE_VALUE', '');
      const value = key === 'b' && folder.includes('plus_three') ? 3 : values[key];
      if (value === undefined) continue;
      assert.equal(
        elements(checkpoint.read(name)),
        floats(value).toString('hex'),
        `${folder} ${name}`,
      );
      compared += 1;
    }
  }
  assert.ok(compared >= 40, `${compared} compared`);
});

test('the compressed index of an object-based checkpoint', (context) => {
  if (!haveSamples(context)) return;
  const folder = 'tfserving/saved_model_half_plus_two_tf2_cpu/00000123/variables';
  const checkpoint = openCheckpoint(sampleFiles(folder));
  assert.deepEqual(checkpoint.names, [
    '_CHECKPOINTABLE_OBJECT_GRAPH',
    ...['a', 'b', 'c'].map((name) => `${name}/.ATTRIBUTES/VARIABLE_VALUE`),
  ]);
  const graph = checkpoint.read('_CHECKPOINTABLE_OBJECT_GRAPH');
  assert.deepEqual([graph.dtype, graph.shape], ['string', []]);
  assert.ok(graph.data.kind === 'strings');
  const text = Buffer.from(graph.data.values[0] ?? '').toString('latin1');
  assert.ok(text.includes('a/.ATTRIBUTES/VARIABLE_VALUE'), text);
});
