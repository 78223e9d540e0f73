// Damaged models: whatever a byte contains, only ServalErrors are thrown, and soon.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { ServalError } from '../../../../../ts/base/errors.js';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import { tempFolder } from '../../../temp-folder.js';
import { attr, entry, graph, info, message, metaGraph, nodeList, savedModel } from '../messages.js';
import { sharedModel } from './support.js';

const ROUNDS = 300;
const MODEL_FILES = [
  'tfserving/saved_model_half_plus_two_tf2_cpu/00000123/saved_model.pb',
  'tfserving/saved_model_counter/00000123/saved_model.pb',
  'session_bundle/v1_sharded_half_plus_two/00000123/export.meta',
  'session_bundle/generated/v2_classify_assets/00000007/export.meta',
];

/** Numbers from 0 up to, but not including, `end`, the same in every run. */
function randomFrom(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * end);
  };
}

/** One of: flipped bits, other bytes, a huge number, a piece removed, doubled, cut off. */
function damage(bytes: Uint8Array, random: (end: number) => number): Uint8Array {
  const out = Buffer.from(bytes);
  const at = random(out.length);
  switch (random(6)) {
    case 0:
      for (let i = 0; i <= random(4); i += 1) {
        const place = random(out.length);
        out[place] = (out[place] ?? 0) ^ (1 << random(8));
      }
      return out;
    case 1:
      out[at] = random(256);
      return out;
    case 2:
      return Buffer.concat([
        out.subarray(0, at),
        Buffer.alloc(9 + random(3), 0xff),
        Buffer.of(1),
        out.subarray(at),
      ]);
    case 3:
      return Buffer.concat([out.subarray(0, at), out.subarray(at + random(40))]);
    case 4:
      return Buffer.concat([out.subarray(0, at), out.subarray(random(at + 1))]);
    default:
      return out.subarray(0, at);
  }
}

/** The number of damaged forms that still load. */
function fuzz(folder: string, name: string, bytes: Uint8Array, seed: number): number {
  const random = randomFrom(seed);
  const file = join(folder, name);
  let loaded = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    writeFileSync(file, damage(bytes, random));
    try {
      loadGraph(folder);
      loaded += 1;
    } catch (error) {
      if (error instanceof ServalError) continue;
      throw new Error(`${name}, seed ${seed}, round ${round}`, { cause: error });
    }
  }
  return loaded;
}

test('damaged models of others', (t) => {
  const started = Date.now();
  MODEL_FILES.forEach((path, index) => {
    const file = sharedModel(t, join(path, '..'));
    if (file === undefined) return;
    const bytes = readFileSync(join(file, basename(path)));
    const loaded = fuzz(tempFolder(t), basename(path), bytes, index + 1);
    assert.ok(loaded < ROUNDS, `${path}: ${loaded} of ${ROUNDS} loaded`);
  });
  assert.ok(Date.now() - started < 60_000, 'damaged models took more than a minute');
});

test('damaged models made here, in binary and in text', (t) => {
  const nodes = graph([
    { name: 'x', op: 'Placeholder', attributes: { dtype: attr.type(1), shape: attr.shape([-1]) } },
    {
      name: 'c',
      op: 'Const',
      attributes: {
        value: attr.tensor((writer) =>
          writer
            .varint(1, 3)
            .message(2, (inner) => inner.message(2, (dim) => dim.varint(1, 100)))
            .varint(7, 1)
            .varint(7, 2),
        ),
      },
    },
    { name: 'y', op: 'Relu', inputs: ['x', '^c'], attributes: { T: attr.type(1) } },
  ]);
  const meta = {
    tags: ['serve'],
    graph: nodes,
    assets: [['c:0', 'a.txt']] as const,
    saver: { filename: 'c:0', restore: 'y' },
    collections: { serving_init_op: nodeList(['y']) },
    signatures: {
      s: (writer: Parameters<typeof nodes>[0]): void => {
        writer.message(1, entry('x', info('x:0', 1, [-1])));
      },
    },
  };
  const text =
    'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }' +
    ' node { name: "y" op: "Relu" input: "x" attr { key: "T" value { tensor { dtype: DT_INT32' +
    ' tensor_shape { dim { size: 20 } } int_val: 1 int_val: 2 } } } }';
  const cases: readonly (readonly [name: string, bytes: Uint8Array])[] = [
    ['saved_model.pb', savedModel([meta])],
    ['export.meta', message(metaGraph(meta))],
    ['model.graphdef', message(nodes)],
    ['model.pbtxt', Buffer.from(text)],
  ];
  cases.forEach(([name, bytes], index) => {
    const loaded = fuzz(tempFolder(t), name, bytes, 100 + index);
    assert.ok(loaded > 0 && loaded < ROUNDS, `${name}: ${loaded} of ${ROUNDS} loaded`);
  });
});
