// XGBoost's boosters in bundles: the three forms of their files, results, broken files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runPlan } from '../plan/run-plan.js';
import { importNodes, type NodeOf } from './memory-bundle.js';

interface TreeOf {
  readonly left: readonly number[];
  readonly right: readonly number[];
  readonly feature: readonly number[];
  readonly value: readonly number[];
  readonly defaultLeft: readonly number[];
}

// x0 < 0.5 ? (x1 < 2 ? -0.25 : 0.75) : 1.5; x0 is missing: left, x1: right.
const TREE: TreeOf = {
  left: [1, 3, -1, -1, -1],
  right: [2, 4, -1, -1, -1],
  feature: [0, 1, 0, 0, 0],
  value: [0.5, 2, 1.5, -0.25, 0.75],
  defaultLeft: [1, 0, 0, 0, 0],
};
const STUMP: TreeOf = { left: [-1], right: [-1], feature: [0], value: [0.1], defaultLeft: [0] };
const TREES = [TREE, STUMP];

function documentOf(objective: string, baseScore: string, trees: readonly TreeOf[]) {
  const booster = {
    model: {
      trees: trees.map(({ left, right, feature, value, defaultLeft }) => ({
        left_children: left,
        right_children: right,
        split_indices: feature,
        split_conditions: value,
        default_left: defaultLeft,
      })),
      tree_info: trees.map(() => 0),
    },
    name: 'gbtree',
  };
  return {
    learner: {
      gradient_booster: booster,
      learner_model_param: { base_score: baseScore, num_class: '0', num_feature: '2' },
      objective: { name: objective },
    },
    version: [1, 7, 6],
  };
}

function name(text: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, Buffer.from(text)]);
}

function binaryTree({ left, right, feature, value, defaultLeft }: TreeOf): Buffer {
  const head = Buffer.alloc(148);
  head.writeInt32LE(1, 0);
  head.writeInt32LE(left.length, 4);
  const nodes = left.map((child, i) => {
    const node = Buffer.alloc(20);
    node.writeInt32LE(child, 4);
    node.writeInt32LE(right[i] ?? 0, 8);
    node.writeUInt32LE((feature[i] ?? 0) + ((defaultLeft[i] ?? 0) === 1 ? 0x8000_0000 : 0), 12);
    node.writeFloatLE(value[i] ?? 0, 16);
    return node;
  });
  return Buffer.concat([head, ...nodes, Buffer.alloc(16 * left.length)]);
}

function binaryOf(objective: string, baseScore: number, trees: readonly TreeOf[]): Buffer {
  const learner = Buffer.alloc(136);
  learner.writeFloatLE(baseScore, 0);
  const model = Buffer.alloc(160);
  model.writeInt32LE(trees.length, 0);
  const groups = Buffer.alloc(4 * trees.length);
  const bodies = trees.map(binaryTree);
  return Buffer.concat([
    Buffer.from('binf'),
    learner,
    name(objective),
    name('gbtree'),
    model,
    ...bodies,
    groups,
  ]);
}

/** Encodes UBJ as XGBoost does: lists of numbers are typed and counted, objects are open. */
function ubjOf(value: unknown): Buffer {
  const length = (count: number): Buffer => {
    const bytes = Buffer.alloc(9);
    bytes.write('L');
    bytes.writeBigInt64BE(BigInt(count), 1);
    return bytes;
  };
  if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number')) {
    const numbers = value as readonly number[];
    const body = Buffer.alloc(4 * numbers.length);
    numbers.forEach((each, i) => body.writeFloatBE(each, 4 * i));
    return Buffer.concat([Buffer.from('[$d#'), length(numbers.length), body]);
  }
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from('[#'), length(value.length), ...value.map(ubjOf)]);
  if (typeof value === 'string')
    return Buffer.concat([Buffer.from('S'), length(value.length), Buffer.from(value)]);
  if (typeof value === 'number') return Buffer.from([0x69, value]);
  const members = Object.entries(value as object).flatMap(([key, member]) => [
    length(key.length),
    Buffer.from(key),
    ubjOf(member),
  ]);
  return Buffer.concat([Buffer.from('{'), ...members, Buffer.from('}')]);
}

const nodeOf = (file: unknown, op = 'xgboost.regression'): NodeOf => ({
  op,
  attributes: {
    num_features: { int: 2 },
    ...(op === 'xgboost.classifier' ? { num_classes: { int: 2 } } : {}),
    tree_limit: {},
  },
  inputs: { features: 'x' },
  outputs:
    op === 'xgboost.classifier'
      ? { prediction: 'p', probability: 'q', raw_prediction: 'r' }
      : { prediction: 'p' },
  files: { 'xgboost.model': file },
});

const ROWS = [
  [0, 1],
  [0, 2],
  [0.5, 0],
  [Number.NaN, Number.NaN],
  // Less than 0.5 as a double, equal to it as a float.
  [0.49999999999, 0],
];
const f = Math.fround;
const SCORES = [-0.25, 0.75, 1.5, 0.75, 1.5].map((leaf) => f(f(f(0.5) + f(leaf)) + f(0.1)));

const forms: readonly (readonly [string, unknown])[] = [
  ['binary', binaryOf('reg:squarederror', 0.5, TREES)],
  ['binary without its first word', binaryOf('reg:linear', 0.5, TREES).subarray(4)],
  ['JSON', documentOf('reg:squarederror', '5E-1', TREES)],
  ['JSON of 3.0', documentOf('reg:squarederror', '[5E-1]', TREES)],
  ['UBJ', ubjOf(documentOf('reg:squarederror', '5E-1', TREES))],
];

describe('a regression', () => {
  for (const [form, file] of forms) {
    test(form, async () => {
      const { plan } = await importNodes({ a: nodeOf(file) });
      const { columns } = runPlan(plan, { x: ROWS });
      assert.deepEqual(columns['p'], SCORES);
    });
  }
});

test('a classifier: floats, base score as a probability', async () => {
  const file = binaryOf('binary:logistic', 0.5, TREES);
  const { plan } = await importNodes({ a: nodeOf(file, 'xgboost.classifier') });
  const { columns } = runPlan(plan, { x: ROWS });
  const margins = [-0.25, 0.75, 1.5, 0.75, 1.5].map((leaf) => f(f(leaf) + f(0.1)));
  const chances = margins.map((margin) => f(1 / f(f(Math.exp(-margin)) + 1)));
  assert.deepEqual(
    columns['q'],
    chances.map((chance) => [f(1 - chance), chance]),
  );
  assert.deepEqual(
    columns['r'],
    margins.map((margin) => [f(1 - margin), margin]),
  );
  assert.deepEqual(
    columns['p'],
    chances.map((chance) => (chance >= 0.5 ? 1 : 0)),
  );
});

interface Written {
  readonly objective: string;
  readonly booster: string;
  readonly classes: number;
  readonly model: unknown;
  readonly rows: readonly (readonly (number | null)[])[];
  readonly margins: readonly (readonly number[])[];
  readonly answers: readonly (readonly number[])[];
}

/** The results of XGBoost 2.1.4 (test/fixtures/tabular/xgboost, written by make_boosters.py). */
const WRITTEN = JSON.parse(
  readFileSync(join('test', 'fixtures', 'tabular', 'xgboost', 'boosters.json'), 'utf8'),
) as readonly Written[];

/** Compares floats, whose last digit depends on the math library. */
function near(got: unknown, expected: readonly (readonly number[])[], where: string): void {
  (got as number[][]).forEach((row, i) =>
    row.forEach((value, k) => {
      const wanted = expected[i]?.[k] ?? Number.NaN;
      const isNear = Math.abs(value - wanted) <= 2 ** -22 * Math.abs(wanted);
      assert.ok(isNear && f(value) === value, `${where} ${i}, ${k}: ${value}, expected ${wanted}`);
    }),
  );
}

describe("XGBoost's own answers", () => {
  for (const { objective, booster, classes, model, rows, margins, answers } of WRITTEN) {
    const isMany = objective.startsWith('multi:');
    const op = classes > 1 ? 'xgboost.classifier' : 'xgboost.regression';
    const attributes = {
      num_features: { int: 4 },
      ...(classes > 1 ? { num_classes: { int: classes } } : {}),
    };
    const node = { ...nodeOf(model, op), attributes };
    const x = rows.map((row) => row.map((value) => value ?? Number.NaN));
    const name = `${objective}, ${booster}, ${classes}`;
    if (objective === 'multi:softmax') {
      test(`${name}: MLeap has no probabilities of it`, () =>
        assert.rejects(importNodes({ a: node }), /'multi:softmax' is not supported for 3 classes/));
      continue;
    }
    test(name, async () => {
      const { plan } = await importNodes({ a: node });
      const { columns } = runPlan(plan, { x });
      if (!isMany) {
        if (classes > 1) {
          const got = (columns['r'] as number[][]).map(([, margin]) => [margin]);
          assert.deepEqual(got, margins);
        }
        const got = classes > 1 ? (columns['q'] as number[][]).map(([, q]) => [q]) : columns['p'];
        near(classes > 1 ? got : (got as number[]).map((one) => [one]), answers, 'answer');
        return;
      }
      assert.deepEqual(columns['r'], margins);
      near(columns['q'], answers, 'probability');
      assert.deepEqual(
        columns['p'],
        answers.map((row) => row.indexOf(Math.max(...row))),
      );
      assert.ok(new Set(columns['p']).size === classes, 'all classes are there');
    });
  }
});

test('what is not supported is told', async () => {
  await assert.rejects(
    importNodes({ a: nodeOf(documentOf('binary:hinge', '0.5', TREES)) }),
    /the objective 'binary:hinge' is not supported/,
  );
  await assert.rejects(
    importNodes({ a: nodeOf(documentOf('multi:softprob', '0.5', TREES), 'xgboost.classifier') }),
    /the objective 'multi:softprob' is not supported for 2 classes/,
  );
  const leaves = nodeOf(documentOf('reg:squarederror', '0.5', TREES));
  await assert.rejects(
    importNodes({ a: { ...leaves, outputs: { prediction: 'p', leaf_prediction: 'l' } } }),
    /the output 'leaf_prediction' is not supported/,
  );
});

test('classes that there are no trees of', async () => {
  const many = documentOf('multi:softprob', '0.5', TREES);
  many.learner.learner_model_param.num_class = '2000000000';
  const node = nodeOf(many, 'xgboost.classifier');
  await assert.rejects(importNodes({ a: node }), /2000000000 classes of 2 trees/);
  many.learner.learner_model_param.num_class = '2';
  many.learner.gradient_booster.model.tree_info = [0, 2];
  await assert.rejects(
    importNodes({ a: nodeOf(many, 'xgboost.classifier') }),
    /the class of a tree is out of range for 2 classes/,
  );
});

const cycle: TreeOf = { ...TREE, left: [1, 0, -1, -1, -1] };
const broken: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ['empty', Buffer.alloc(0), /expected 136 bytes, got 0/],
  ['cut', binaryOf('reg:squarederror', 0.5, TREES).subarray(0, 700), /expected \d+ bytes, got/],
  ['Java', Buffer.from('aced0005', 'hex'), /expected \d+ bytes, got/],
  ['a name that is too long', Buffer.alloc(400, 0xff), /a count of|a name of/],
  ['JSON of something else', Buffer.from('{"a": 1}'), /expected 'learner', got none/],
  ['broken JSON', Buffer.from('{"learner": '), /xgboost\.model: /],
  ['UBJ that ends', Buffer.from('{L\0\0\0\0\0\0\0\x07learner'), /expected \d+ bytes, got 0/],
  [
    'UBJ with a huge list',
    Buffer.from('{i\x01a[$d#l\x7f\xff\xff\xff', 'latin1'),
    /expected 2147483647 values/,
  ],
  [
    'UBJ with endless nothing',
    Buffer.from('{i\x01a[$Z#l\x7f\xff\xff\xff', 'latin1'),
    /values without bytes/,
  ],
];

describe('files that are refused', () => {
  for (const [what, bytes, expected] of broken) {
    test(what, () =>
      assert.rejects(importNodes({ a: nodeOf(bytes) }), (error: Error) => {
        assert.match(error.message, expected);
        assert.match(error.message, /xgboost\.model: /);
        return true;
      }),
    );
  }
  test('a tree that leads back', () =>
    assert.rejects(
      importNodes({ a: nodeOf(binaryOf('reg:squarederror', 0, [cycle])) }),
      /not part of exactly one tree/,
    ));
});
