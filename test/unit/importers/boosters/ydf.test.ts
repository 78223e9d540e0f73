// YDF's own files: fields, outputs, conditions, and files that are broken. The answers of real
// models are in test/conformance/tabular/boosters.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { importYdf, lowerParts } from '../../../../ts/importers/boosters/ydf/index.js';
import { averagePathLength } from '../../../../ts/importers/ydf/leaves.js';
import { LOSS, NODE, TASK } from '../../../../ts/protobuf/generated/yggdrasil-fields.js';
import { tempFolder } from '../../temp-folder.js';
import { runPlan } from '../plan/run-plan.js';
import { ownOutputs, surviveDamage } from './support.js';
import {
  bin,
  bitmap,
  COLOURS,
  contains,
  higher,
  isMissing,
  isTrue,
  oblique,
  sequenceOf,
  type TestModel,
  type TestNode,
  ydfFiles,
} from './ydf-files.js';

const NaN = Number.NaN;
const FEW = 0xffffffff;

const planOf = (model: TestModel = {}) => lowerParts('model', ydfFiles(model)).plan;
const answers = (model: TestModel, columns: Readonly<Record<string, readonly unknown[]>>) =>
  runPlan(planOf(model), columns).columns;
const predicted = (model: TestModel, columns: Readonly<Record<string, readonly unknown[]>>) =>
  answers(model, columns)['predict'];

function refuses(files: ReadonlyMap<string, Buffer> | TestModel, expected: RegExp): void {
  assert.throws(
    () => lowerParts('model', files instanceof Map ? files : ydfFiles(files as TestModel)),
    (error: unknown) => {
      const isOurs = error instanceof ServalError && error.code === ErrorCode.ModelInvalid;
      assert.ok(isOurs, String(error));
      assert.match(error.message, /^model: YDF model: /);
      assert.match(error.message, expected);
      return true;
    },
  );
}

const ROWS = { a: [0.5, 0.49, NaN, null, Infinity, 1, 1], b: [2, 2, 2, 2, 1.99, NaN, -Infinity] };
const SUMS = [4.75, 1.75, 1.75, 1.75, 2.75, 4.75, 2.75];

describe('models that YDF has saved', () => {
  test('fields, outputs, the producer', () => {
    const plan = planOf();
    const { fields, matrix, format, producer } = plan;
    const shown = fields.map(({ name, type }) => [name, type]);
    assert.deepEqual([format, producer, matrix], ['ydf', 'YDF', true]);
    assert.deepEqual(shown, [
      ['a', 'float'],
      ['b', 'float'],
    ]);
    assert.deepEqual(
      ownOutputs(plan).map(({ name, type, extra }) => [name, type, extra]),
      [
        ['predict', 'float', undefined],
        ['margin', 'float', true],
      ],
    );
  });

  test('thresholds and bins, missing values, files of nodes, compressed ones', () => {
    for (const shards of [1, 2, 3]) assert.deepEqual(predicted({ shards }, ROWS), SUMS);
    assert.deepEqual(predicted({ format: 'BLOB_SEQUENCE_GZIP', shards: 2 }, ROWS), SUMS);
  });

  test('a folder whose files have a prefix', async (t) => {
    const folder = join(tempFolder(t), 'grown');
    mkdirSync(folder);
    for (const [name, bytes] of ydfFiles()) writeFileSync(join(folder, `my_${name}`), bytes);
    writeFileSync(join(folder, 'my_done'), '');
    const { plan } = await importYdf(folder);
    assert.deepEqual(runPlan(plan, ROWS).columns['predict'], SUMS);
    writeFileSync(join(folder, 'data_spec.pb'), '');
    writeFileSync(join(folder, 'header.pb'), '');
    await assert.rejects(importYdf(folder), /grown: expected one model: a file header\.pb beside/);
  });

  test('categories of text: known, unknown, missing, empty', () => {
    const colour = ['red', 'green', 'blue', 'violet', '<OOD>', null, ''];
    const columns = { colour, flag: colour.map(() => 1), code: colour.map(() => 1) };
    const tree = (test: TestNode & object): TestModel => ({ columns: COLOURS, grown: [test] });
    const of = (test: (typeof GREEN)['test'], passesMissing: boolean) =>
      predicted(tree({ on: 1, test, passesMissing, no: 0, yes: 1 }), columns)?.map(
        (value) => Number(value) - 0.5,
      );
    for (const test of [contains(2), bitmap(0b100)]) {
      assert.deepEqual(of(test, false), [0, 1, 0, 0, 0, 0, 0]);
      assert.deepEqual(of(test, true), [0, 1, 0, 0, 0, 1, 1]);
    }
    for (const test of [contains(0, 2), bitmap(0b101)]) {
      assert.deepEqual(of(test, false), [0, 1, 0, 1, 1, 0, 0]);
      assert.deepEqual(of(test, true), [0, 1, 0, 1, 1, 1, 1]);
    }
    assert.deepEqual(of(contains(), false), [0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(of(contains(0, 1, 2, 3), false), [1, 1, 1, 1, 1, 0, 0]);
    assert.deepEqual(of(isMissing, false), [0, 0, 0, 0, 0, 1, 1]);
  });

  test('flags, and categories that are numbers', () => {
    const columns = {
      colour: ['red', 'red', 'red', 'red', 'red', 'red', 'red'],
      flag: [1, 0, null, 1, 1, 1, 1],
      code: [0, 1, 2, 3, 4, -1, null],
    };
    const of = (on: number, test: (typeof GREEN)['test'], passesMissing: boolean) =>
      predicted(
        { columns: COLOURS, grown: [{ on, test, passesMissing, no: 0, yes: 1 }], initial: [0] },
        columns,
      );
    assert.deepEqual(of(2, isTrue, true), [1, 0, 1, 1, 1, 1, 1]);
    assert.deepEqual(of(2, isTrue, false), [1, 0, 0, 1, 1, 1, 1]);
    assert.deepEqual(of(3, contains(2, 3), false), [0, 0, 1, 1, 0, 0, 0]);
    // 4 is no category: the unknown one, 0.
    assert.deepEqual(of(3, bitmap(0b1001), true), [1, 0, 0, 1, 1, 1, 1]);
    assert.deepEqual(of(3, isMissing, false), [0, 0, 0, 0, 0, 1, 1]);
  });

  test('sums of features', () => {
    const grown = (test: (typeof GREEN)['test'], passesMissing = false): TestModel => ({
      grown: [{ on: 1, test, passesMissing, no: 0, yes: 1 }],
      initial: [0],
    });
    const rows = { a: [1, 1, NaN, null, NaN], b: [1, 3, 3, 3, 0] };
    const sum = oblique([1, 2], [2, -1], 0);
    assert.deepEqual(predicted(grown(sum), rows), [1, 0, 0, 0, 0]);
    assert.deepEqual(predicted(grown(sum, true), rows), [1, 0, 1, 1, 1]);
    const filled = oblique([1, 2], [2, -1], 0, [1, 0]);
    assert.deepEqual(predicted(grown(filled), rows), [1, 0, 0, 0, 1]);
  });

  test('losses: logistic, Poisson with its bounds, several classes', () => {
    const binary = { columns: classes('no', 'yes'), task: TASK.CLASSIFICATION };
    const leaf = (value: number, loss: number, more: TestModel = {}): TestModel => ({
      grown: [value],
      loss,
      initial: [0],
      ...more,
    });
    const row = { a: [0] };
    const made = answers(leaf(2, LOSS.BINOMIAL_LOG_LIKELIHOOD, binary), row);
    assert.deepEqual(made['predict'], [
      Math.fround(1 / Math.fround(1 + Math.fround(Math.exp(-2)))),
    ]);
    assert.deepEqual([made['margin'], made['label']], [[2], ['yes']]);
    const poisson = leaf(50, LOSS.POISSON, { columns: ONE });
    assert.deepEqual(predicted(poisson, row), [Math.fround(Math.exp(19))]);
    const many = answers(
      {
        columns: classes('x', 'y', 'z'),
        task: TASK.CLASSIFICATION,
        loss: LOSS.MULTINOMIAL_LOG_LIKELIHOOD,
        initial: [0, 0, 0],
        grown: [1, 2, 0, 1, 1, 0],
      },
      row,
    );
    assert.deepEqual([many['margin'], many['label']], [[[2, 3, 0]], ['y']]);
  });

  test('the mean depth of leaves', () => {
    assert.deepEqual([0, 1, 2].map(averagePathLength), [0, 0, 1]);
    assert.ok(Math.abs(averagePathLength(256) - 10.2448) < 1e-4);
  });
});

const GREEN = { on: 1, test: contains(2), no: 0, yes: 1 };
const ONE = [
  { name: 'label', type: 'NUMERICAL' },
  { name: 'a', type: 'NUMERICAL' },
] as const;
const classes = (...words: readonly string[]) =>
  [{ name: 'label', type: 'CATEGORICAL', words }, ONE[1]] as const;

describe('models of YDF that are refused', () => {
  const condition = (on: number, test: (typeof GREEN)['test'], columns = COLOURS): TestModel => ({
    columns,
    grown: [{ on, test, no: 0, yes: 1 }],
  });

  test('kinds, tasks, losses, columns, formats', () => {
    const linear: TestModel = { name: 'LINEAR' };
    refuses(linear, /models of kind 'LINEAR' are not supported/);
    refuses({ name: '__proto__' }, /models of kind '__proto__' are not supported/);
    refuses({ task: TASK.SURVIVAL_ANALYSIS }, /the task SURVIVAL_ANALYSIS is not supported/);
    refuses({ task: 77 }, /the task 77 is not supported/);
    refuses({ task: TASK.NUMERICAL_UPLIFT }, /the task NUMERICAL_UPLIFT is not supported/);
    refuses({ loss: LOSS.COX_PROPORTIONAL_HAZARD }, /the loss COX_PROPORTIONAL_HAZARD is not/);
    refuses({ loss: LOSS.DEFAULT }, /the loss DEFAULT is not supported/);
    const words = [ONE[0], { name: 'words', type: 'CATEGORICAL_SET' }] as const;
    refuses({ columns: words, grown: [1] }, /'words': features of type CATEGORICAL_SET are not/);
    refuses({ format: 'TFE_RECORDIO' }, /in the format 'TFE_RECORDIO' are not .* ydf\.load_model/);
    const post: TestModel = { header: (writer) => writer.bytes(16, Buffer.alloc(1)) };
    refuses(post, /postprocessors are not supported/);
    const vectors: TestModel = {
      grown: [{ on: 1, test: (one) => one.bytes(8, Buffer.alloc(0)), no: 0, yes: 1 }],
    };
    refuses(vectors, /conditions on sequences of vectors are not supported/);
    const other: TestModel = {
      grown: [{ on: 1, test: (one) => one.bytes(9, Buffer.alloc(0)), no: 0, yes: 1 }],
    };
    refuses(other, /conditions of kind 9 are not supported/);
  });

  test('conditions that do not fit', () => {
    refuses(condition(7, higher(1)), /column 7 is no feature/);
    refuses(condition(0, higher(1)), /column 0 is no feature/);
    refuses(condition(1, higher(1)), /'colour': a condition of kind 'higher' does not fit/);
    refuses(condition(2, contains(1)), /'flag': a condition of kind 'elements' does not fit/);
    refuses(condition(1, contains(4)), /'colour': category 4 does not exist/);
    refuses(condition(1, contains(FEW)), /'colour': category -1 does not exist/);
    refuses(condition(1, bitmap(1, 1)), /expected a bitmap of 1 bytes, got 2/);
    refuses({ grown: [{ on: 2, test: bin(4), no: 0, yes: 1 }] }, /'b': bin 4 does not exist/);
    refuses({ grown: [{ on: 2, test: bin(0), no: 0, yes: 1 }] }, /'b': bin 0 does not exist/);
    refuses({ grown: [{ on: 1, test: higher(NaN), no: 0, yes: 1 }] }, /a threshold is NaN/);
    const sum = { on: 1, test: oblique([1, 9], [1, 1], 0), no: 0, yes: 1 };
    refuses({ grown: [sum] }, /column 9 of an oblique condition is no numerical feature/);
    const short = { on: 1, test: oblique([1, 2], [1], 0), no: 0, yes: 1 };
    refuses({ grown: [short] }, /2 attributes, 1 weights and 0 na_replacements/);
  });

  test('counts that do not agree', () => {
    refuses({ count: 3 }, /expected 3 trees, got 2/);
    refuses({ count: 1 }, /expected 1 trees, got nodes after them/);
    refuses({ initial: [1, 2] }, /expected 1 initial predictions .* got 2 and 2/);
    refuses({ features: [1, 9] }, /feature 9 is not in the data_spec/);
    refuses({ features: [] }, /expected 1 to 16384 features, got 0/);
    refuses({ features: [1, 2, 1] }, /two fields are named 'a'/);
    refuses({ nodes: [(writer) => writer.varint(NODE.uplift, 1)], count: 1 }, /a leaf has no/);
    const many = { columns: classes('x', 'y', 'z'), task: TASK.CLASSIFICATION };
    const loss = LOSS.MULTINOMIAL_LOG_LIKELIHOOD;
    refuses(
      { ...many, loss, initial: [0, 0, 0], grown: [1, 2] },
      /the same count of trees for each of 3 classes, got 2 trees/,
    );
    refuses({ shards: 70_000, grown: [], count: 0 }, /at most 65536 files of nodes, got 70000/);
  });

  test('files that are missing, cut or damaged', () => {
    const files = ydfFiles();
    const nodes = 'nodes-00000-of-00001';
    const whole = files.get(nodes) ?? Buffer.alloc(0);
    const withNodes = (bytes: Buffer) => new Map([...files, [nodes, bytes]]);
    for (const name of files.keys()) {
      const others = new Map([...files].filter(([one]) => one !== name));
      refuses(others, new RegExp(`the file ${name} is missing`));
    }
    refuses(withNodes(Buffer.from('BX')), /nodes-.*: expected a sequence of blobs \('BS'\)/);
    const changed = (at: number, byte: number): Buffer => {
      const made = Buffer.from(whole);
      made[at] = byte;
      return made;
    };
    refuses(withNodes(changed(2, 2)), /version 2 of blob sequences is not supported/);
    refuses(withNodes(changed(4, 2)), /compression 2 of blob sequences is not supported/);
    refuses(withNodes(changed(4, 1)), /the gzip data is damaged or too large/);
    refuses(withNodes(changed(11, 0x7f)), /a blob has \d+ bytes, but only \d+ remain/);
    refuses(withNodes(whole.subarray(0, 10)), /byte 8: a blob's length is cut/);
    refuses(withNodes(whole.subarray(0, 8)), /expected 2 trees, got 0/);
    const bomb = sequenceOf([Buffer.alloc(40_000_000)], true);
    refuses(withNodes(bomb), /the gzip data is damaged or too large/);
  });

  test('trees of any depth are read without recursion', () => {
    const deep = 100_000;
    const inner: TestNode = { on: 1, test: higher(1), no: 1, yes: 1 };
    const [node, leaf] = ydfNodes(inner);
    const nodes = [
      ...Array.from({ length: deep }, () => node),
      ...Array.from({ length: deep + 1 }, () => leaf),
    ];
    const files = ydfFiles({ count: 1 });
    files.set('nodes-00000-of-00001', sequenceOf(nodes));
    assert.ok(lowerParts('model', files).plan.outputs.length > 0);
  });
});

/** The messages of the first two nodes. */
function ydfNodes(tree: TestNode): readonly [Buffer, Buffer] {
  const bytes = ydfFiles({ grown: [tree] }).get('nodes-00000-of-00001') ?? Buffer.alloc(0);
  const first = bytes.readUInt32LE(8);
  const second = bytes.readUInt32LE(12 + first);
  const at = 16 + first;
  return [bytes.subarray(12, 12 + first), bytes.subarray(at, at + second)];
}

describe('mutants of YDF models', () => {
  const WORDS = ['\u00ff\u00ff\u00ff\u00ff\u000f', '\u0080\u0080\u0080\u0080\u0008', '\0', 'BS'];
  const mixed: TestModel = {
    columns: [...COLOURS, { name: 'a', type: 'NUMERICAL' }],
    grown: [
      { on: 1, test: contains(0, 2), no: 0, yes: { on: 2, test: isTrue, no: 1, yes: 2 } },
      { on: 4, test: oblique([4], [1], 0, [1]), no: 0, yes: 1 },
      { on: 3, test: bitmap(0b1001), no: 0, yes: { on: 4, test: higher(2), no: 1, yes: 2 } },
    ],
  };
  for (const [name, bytes] of ydfFiles(mixed)) {
    test(name, () => {
      const files = ydfFiles(mixed);
      surviveDamage(bytes, 1500, WORDS, 3000, (made) =>
        lowerParts('model', new Map([...files, [name, made]])),
      );
    });
  }
});
