// CatBoost's own files: fields, outputs, answers, and files that are broken. The answers of real
// models are in test/conformance/tabular/boosters.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { runPlan } from '../plan/run-plan.js';
import { hashWith } from '../../../../ts/importers/boosters/catboost/ctrs.js';
import {
  BLUE,
  catboostDocument,
  cbmOf,
  COLOURS,
  ctrFeatures,
  ctrParts,
  NODES,
  RED,
  SPLIT_A,
  SPLIT_B,
} from './catboost-files.js';
import { ownOutputs, planOf, refuses, surviveDamage } from './support.js';

const NaN = Number.NaN;

const answers = (file: Buffer, columns: Readonly<Record<string, readonly unknown[]>>) =>
  runPlan(planOf(file), columns).columns;
const margins = (file: Buffer, columns: Readonly<Record<string, readonly unknown[]>>) =>
  answers(file, columns)['margin'];
const NO_TREES = { 1: undefined, 2: undefined, 3: undefined, 8: undefined };
const loss = (type: string) => ({ params: JSON.stringify({ loss_function: { type } }) });

const FORMS: Readonly<Record<string, Buffer>> = { binary: cbmOf(), JSON: catboostDocument() };
const above = (value: number): number => value + 2 ** -20;
const ROWS = {
  a: [0.5, above(0.5), NaN, null, Infinity, -Infinity, 0, 0],
  b: [2, 2, 2, 2, above(2), -Infinity, NaN, null],
};

describe('models that CatBoost has saved', () => {
  for (const [form, file] of Object.entries(FORMS)) {
    test(`${form}: fields, outputs, the producer`, () => {
      const plan = planOf(file);
      assert.deepEqual(
        plan.fields.map(({ name, type }) => [name, type]),
        [
          ['a', 'float'],
          ['b', 'float'],
        ],
      );
      assert.deepEqual(
        ownOutputs(plan).map(({ name, type, extra }) => [name, type, extra]),
        [
          ['predict', 'double', undefined],
          ['margin', 'double', true],
        ],
      );
      assert.deepEqual([plan.format, plan.matrix], ['catboost', true]);
    });

    test(`${form}: borders, missing values that fail or pass, infinities, a bias`, () => {
      assert.deepEqual(margins(file, ROWS), [1.25, 2.25, 1.25, 1.25, 8.25, 1.25, 4.25, 4.25]);
    });
  }

  test('trees that are not symmetric', () => {
    const leaf = { value: 1, weight: 3 };
    const inner = { split: SPLIT_B, left: { value: 2 }, right: { value: 8 } };
    const trees = [{ split: SPLIT_A, left: leaf, right: inner }, { value: 16 }];
    const document = catboostDocument({ oblivious_trees: undefined, trees });
    for (const file of [cbmOf(NODES), document]) {
      const expected = [17.25, 18.25, 17.25, 17.25, 24.25, 17.25, 17.25, 17.25];
      assert.deepEqual(margins(file, ROWS), expected);
    }
  });

  test('scale and bias, one for each score, before 1.0 one number, and none', () => {
    const columns = { a: [0], b: [0] };
    assert.deepEqual(margins(catboostDocument({ scale_and_bias: [3, 0.5] }), columns), [3.5]);
    assert.deepEqual(margins(catboostDocument({ scale_and_bias: undefined }), columns), [1]);
    const old = cbmOf({ 14: { double: 3 }, 15: { double: 0.5 }, 16: undefined });
    assert.deepEqual(margins(old, columns), [3.5]);
    const two = { 0: { int: 2 }, 1: Int32Array.of(0), 2: Int32Array.of(1) } as const;
    const several = cbmOf({ ...two, 14: { double: 2 }, 16: Float64Array.of(1, 5) });
    assert.deepEqual(margins(several, columns), [[3, 9]]);
  });

  test('losses', () => {
    const answer = (type: string): unknown =>
      answers(cbmOf({ 16: Float64Array.of(0) }, loss(type)), { a: [0], b: [0] })['predict']?.[0];
    assert.equal(answer('MAE'), 1);
    assert.equal(answer('Quantile:alpha=0.5'), 1);
    assert.equal(answer('Logloss'), 1 / (1 + Math.exp(-1)));
    assert.equal(answer('Poisson'), Math.exp(1));
    assert.equal(answer('Tweedie'), Math.exp(1));
    const two = { 0: { int: 2 }, 1: Int32Array.of(0), 2: Int32Array.of(1), 16: undefined } as const;
    const many = (type: string): unknown =>
      answers(cbmOf(two, loss(type)), { a: [0], b: [0] })['predict']?.[0];
    assert.deepEqual(many('RMSEWithUncertainty'), [1, Math.exp(4)]);
    assert.deepEqual(many('MultiRMSE'), [1, 2]);
    const power = Math.exp(-1);
    assert.deepEqual(many('MultiClass'), [power / (power + 1), 1 / (power + 1)]);
    assert.deepEqual(many('MultiLogloss'), [1 / (1 + power), 1 / (1 + Math.exp(-2))]);
  });

  test('labels of classes', () => {
    const label = (info: Readonly<Record<string, string>>, trees = {}): unknown =>
      answers(cbmOf(trees, { ...loss('Logloss'), ...info }), { a: [0, 1], b: [0, 0] })['label'];
    const bias = { 16: Float64Array.of(-1.5) };
    assert.deepEqual(label({}, bias), [0, 1]);
    assert.deepEqual(label({ class_params: '{"class_names":["no","yes"]}' }, bias), ['no', 'yes']);
    assert.deepEqual(label({ class_params: '{"class_to_label":[3,7]}' }, bias), [3, 7]);
    const flags = '{"class_names":[false,true]}';
    assert.deepEqual(label({ class_params: flags }, bias), ['False', 'True']);
    assert.deepEqual(label({ binclass_probability_threshold: '0.9' }, bias), [0, 0]);
    const odd = cbmOf({}, { ...loss('Logloss'), class_params: '{"class_names":[0.5,1]}' });
    assert.match(importBytes(odd, 'model').warnings[0] ?? '', /label: the model's classes/);
  });

  test('one category a split, by its text', () => {
    const splits = [{ split_index: 3 }, { split_index: 2 }];
    const file = catboostDocument(
      { oblivious_trees: [{ leaf_values: [1, 2, 4, 8], splits }] },
      COLOURS,
    );
    const plan = planOf(file);
    assert.equal(plan.matrix, undefined);
    assert.equal(plan.fields[2]?.about, 'categories: red, blue');
    const colour = ['red', 'blue', 'violet', ''];
    const rows = { a: [0, 0, 0, 0], b: [0, 0, 0, 0], colour };
    // The hash -1242798403 is that of "red", -863087293 that of "blue".
    assert.deepEqual(margins(file, rows), [4.25, 2.25, 1.25, 1.25]);
    assert.throws(() => margins(file, { a: [0], b: [0], colour: [null] }), /colour/);
    const hashes = { ...COLOURS, cat_features_hash: undefined };
    refuses(catboostDocument({}, hashes), /feature 'colour': the file has only hashes .*pool=/);
  });

  const colour = ['red', 'blue', 'violet', 'red'];
  const coloured = { a: [0, 0, 1, 1], b: [0, 0, 0, 0], colour };
  const red = hashWith(0n, RED);
  const blue = hashWith(0n, BLUE);
  const counts = ctrParts([
    [red, 1, 3],
    [blue, 4, 0],
  ]);

  test('CTRs of one feature, by its texts; unknown texts', () => {
    const file = catboostDocument(counts, ctrFeatures());
    assert.deepEqual(margins(file, coloured), [8.25, 1.25, 2.25, 8.25]);
    assert.throws(() => margins(file, { a: [0], b: [0], colour: [null] }), /colour/);
  });

  test('kinds of CTRs', () => {
    const kind = (type: string, entries: Parameters<typeof ctrParts>[0], more = {}): unknown =>
      margins(
        catboostDocument(ctrParts(entries), ctrFeatures({ ctr_type: type, ...more })),
        coloured,
      );
    // (8 + 0.5) / (8 + 1) and (2 + 0.5) / (8 + 1) by 15; others 0.5 / 9.
    assert.deepEqual(
      kind('Counter', [
        [red, 8],
        [blue, 2],
      ]),
      [8.25, 1.25, 1.25, 8.25],
    );
    const means = [
      [red, 3.5, 4],
      [blue, 1.5, 4],
    ] as const;
    assert.deepEqual(kind('FloatTargetMeanValue', means), [8.25, 2.25, 2.25, 8.25]);
    const several = [
      [red, 1, 3, 0],
      [blue, 0, 0, 4],
    ] as const;
    assert.deepEqual(kind('Buckets', several, { target_border_idx: 1 }), [8.25, 1.25, 2.25, 8.25]);
    assert.deepEqual(kind('Borders', several, { target_border_idx: 1 }), [1.25, 8.25, 2.25, 1.25]);
  });

  test('CTRs of combinations with splits', () => {
    const elements = [
      { cat_feature_index: 0, combination_element: 'cat_feature_value' },
      { float_feature_index: 0, border: 0.5, combination_element: 'float_feature' },
    ];
    const entries = [
      [hashWith(red, 1n), 1, 3],
      [hashWith(blue, 0n), 4, 0],
    ] as const;
    const file = catboostDocument(ctrParts(entries), ctrFeatures({ elements }));
    // Red with a = 0 has no entry.
    assert.deepEqual(margins(file, coloured), [2.25, 1.25, 2.25, 8.25]);
    const one = { cat_feature_index: 0, value: -863087293 };
    const exact = [elements[0], { ...one, combination_element: 'cat_feature_exact_value' }];
    const both = [
      [hashWith(red, 0n), 1, 3],
      [hashWith(blue, 1n), 4, 0],
    ] as const;
    const other = catboostDocument(ctrParts(both), ctrFeatures({ elements: exact }));
    assert.deepEqual(margins(other, coloured), [8.25, 1.25, 2.25, 8.25]);
  });

  test('CTRs that cannot be read', () => {
    const refusesCtr = (ctr: object, expected: RegExp, words?: object): void =>
      refuses(catboostDocument(counts, ctrFeatures(ctr, words)), expected);
    refusesCtr({}, /the CTRs of 'colour': the file lacks the texts of some .*pool=/, []);
    refusesCtr({ ctr_type: 'Sums' }, /ctr 0: the type 'Sums' is not known/);
    refusesCtr({ identifier: 'none' }, /ctr 0: expected 'none', got none/);
    refusesCtr({ borders: [2, 1] }, /ctr 0: borders: expected ascending numbers/);
    refusesCtr({ elements: [] }, /a CTR without a categorical feature/);
    refusesCtr({ scale: 'x' }, /ctr 0: expected a number, got "x"/);
    const float = { float_feature_index: 0, border: 0.5, combination_element: 'float_feature' };
    const text = { cat_feature_index: 0, combination_element: 'cat_feature_value' };
    const many = [text, ...new Array<object>(40).fill(float)];
    refusesCtr({ elements: many }, /the CTRs of 'colour': expected at most 4194304 combinations/);
    const [odd] = [{ ...float, combination_element: 'word' }];
    refusesCtr({ elements: [text, odd] }, /the part 'word' of a combination is not known/);
    const far = [{ ...text, cat_feature_index: 9 }];
    refusesCtr({ elements: far }, /categorical feature 9 does not exist/);
    const table = { counter_denominator: 0, hash_map: ['1', 2, 3], hash_stride: 2 };
    const cut = catboostDocument({ ...counts, ctr_data: { colour: table } }, ctrFeatures());
    refuses(cut, /ctr 0: hash_map: 3 values are not entries of 2 values/);
    const words = { colour: { ...table, hash_map: ['x', 2] } };
    const wrong = catboostDocument({ ...counts, ctr_data: words }, ctrFeatures());
    refuses(wrong, /ctr 0: hash_map: expected a hash, got "x"/);
  });

  test('features that no tree reads keep their position', () => {
    const file = cbmOf({ 4: { tables: [{ 0: { int: 0 }, 1: { int: 3 }, 2: 'word' }] } });
    assert.deepEqual(
      planOf(file).fields.map(({ name, type }) => [name, type]),
      [
        ['a', 'float'],
        ['b', 'float'],
        ['2', 'float'],
        ['word', 'string'],
      ],
    );
  });

  test('no trees', () => {
    assert.deepEqual(margins(cbmOf(NO_TREES), { a: [0], b: [0] }), [0.25]);
    assert.deepEqual(
      margins(catboostDocument({ oblivious_trees: null }), { a: [0], b: [0] }),
      [0.25],
    );
  });
});

const WHOLE = cbmOf();
const nodes = (members: object): Buffer => cbmOf({ ...NODES, ...members });
const written = (at: number, value: number): Buffer => {
  const made = Buffer.from(WHOLE);
  made.writeUInt32LE(value, at);
  return made;
};

describe('broken models', () => {
  const cases: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
    'a file that is cut': [
      WHOLE.subarray(0, 200),
      /byte 4: expected \d+ bytes of trees, got 192: it is truncated/,
    ],
    'a head alone': [WHOLE.subarray(0, 6), /byte 4: .*truncated/],
    'a length beyond the file': [written(4, 2 ** 32 - 1), /byte 4: expected 4294967295 bytes/],
    'a root out of range': [written(8, 2 ** 31), /byte 2147483656: expected 4 bytes before byte/],
    'another format': [cbmOf({}, {}, { 0: 'Other_v1' }), /expected the format .*, got 'Other_v1'/],
    'no trees at all': [cbmOf({}, {}, { 1: undefined }), /expected trees, got none/],
    'a split that does not exist': [
      cbmOf({ 1: Int32Array.of(0, 2) }),
      /tree 0: split 2 does not exist; the features have 2 splits/,
    ],
    'a split below 0': [cbmOf({ 1: Int32Array.of(0, -1) }), /tree 0: split -1 does not exist/],
    'more splits than there are': [
      cbmOf({ 2: Int32Array.of(2 ** 31 - 1) }),
      /tree 0: 2147483647 splits from 0 are not the next of 2 splits/,
    ],
    'a size below 0': [cbmOf({ 2: Int32Array.of(-1) }), /tree 0: -1 splits from 0/],
    'a start that is not the next': [cbmOf({ 3: Int32Array.of(1) }), /tree 0: 2 splits from 1/],
    'a tree that is too deep': [
      cbmOf({ 1: new Int32Array(17), 2: Int32Array.of(17) }),
      /tree 0: expected at most 16 splits, got 17/,
    ],
    'leaves too few': [cbmOf({ 8: Float64Array.of(1, 2) }), /expected 4 leaves for 1 trees, got 2/],
    'a leaf that is NaN': [
      cbmOf({ 8: Float64Array.of(1, 2, NaN, 8) }),
      /leaf 2: its value is not a number/,
    ],
    'values that are no leaves': [cbmOf({ 0: { int: 3 } }), /4 values are not leaves of 3 values/],
    'leaves of no values': [cbmOf({ 0: { int: 0 } }), /expected leaves of 1 or more values, got 0/],
    'leaves of 2^31 values': [cbmOf({ 0: { int: 2 ** 31 - 1 } }), /expected leaves of 1 or more/],
    'borders that descend': [
      cbmOf({ 5: { tables: [{ 2: { int: 0 }, 3: Float32Array.of(2, 1), 4: 'a' }] } }),
      /feature 'a': border 1 is 1, expected ascending numbers/,
    ],
    'a border that is NaN': [
      cbmOf({ 5: { tables: [{ 2: { int: 0 }, 3: Float32Array.of(NaN, 1), 4: 'a' }] } }),
      /feature 'a': border 0 is NaN/,
    ],
    'a position below 0': [
      cbmOf({ 5: { tables: [{ 4: 'a' }] } }),
      /'a': expected a position from 0/,
    ],
    'too many features': [
      cbmOf({ ...NO_TREES, 5: { tables: [{ 2: { int: 2 ** 31 - 1 }, 4: 'a' }] } }),
      /expected 1 to 16384 features, got 2147483648/,
    ],
    'no features': [
      cbmOf({ 5: undefined, 1: undefined, 2: undefined, 8: Float64Array.of(1) }),
      /expected 0 leaves for 0 trees, got 1/,
    ],
    'two features at one position': [
      cbmOf({
        ...NO_TREES,
        5: { tables: ['a', 'b'].map((name) => ({ 2: { int: 0 }, 4: name })) },
      }),
      /features 'a' and 'b' have the same position, 0/,
    ],
    'a bias too many': [cbmOf({ 16: Float64Array.of(1, 2) }), /bias: expected 1 numbers, got 2/],
    'an infinite scale': [cbmOf({ 14: { double: Infinity } }), /Infinity is not a finite number/],
    'a child out of range': [
      nodes({ 10: Uint16Array.of(1, 9, 0, 0, 0, 1, 0, 0, 0, 0) }),
      /tree 0: node 0: its child 9 is not part of exactly one branch/,
    ],
    'a child with two parents': [
      nodes({ 10: Uint16Array.of(1, 2, 0, 0, 1, 1, 0, 0, 0, 0) }),
      /tree 0: node 2: its child 3 is not part of exactly one branch/,
    ],
    'a node without a parent': [
      nodes({ 10: Uint16Array.of(2, 3, 0, 0, 0, 0, 0, 0, 0, 0) }),
      /tree 0: node 1 has no parent/,
    ],
    'a leaf that does not exist': [
      nodes({ 11: Uint32Array.of(2 ** 32 - 1, 0, 7, 2, 3) }),
      /tree 0: node 2: its leaf does not exist/,
    ],
    'steps too few': [nodes({ 10: Uint16Array.of(0, 0) }), /for each of 5 nodes, got 1 steps/],
    'a text feature': [
      cbmOf({ 12: { tables: [{ 1: { int: 2 }, 2: 'review' }] } }),
      /the text feature 'review' is not supported; train without it/,
    ],
    'an embedding feature': [
      cbmOf({ 18: { tables: [{ 1: { int: 2 } }] } }),
      /the embedding feature '2' is not supported/,
    ],
    'categories in a binary file': [
      cbmOf({
        4: { tables: [{ 0: { int: 0 }, 1: { int: 2 }, 2: 'colour' }] },
        6: { tables: [{ 0: { int: 0 }, 1: Int32Array.of(7) }] },
      }),
      /feature 'colour': the file has only hashes of its categories/,
    ],
    'CTRs in a binary file': [
      cbmOf({
        4: { tables: [{ 0: { int: 0 }, 1: { int: 2 }, 2: 'colour' }] },
        7: {
          tables: [{ 0: { table: { 0: { table: { 0: { table: { 0: Int32Array.of(0) } } } } } } }],
        },
      }),
      /feature 'colour': the file has only hashes of its categories, .*pool=/,
    ],
    'a category twice': [
      cbmOf({ 6: { tables: [{ 0: { int: 0 }, 1: Int32Array.of(7, 7) }] } }),
      /categorical feature 0: two splits have the same value/,
    ],
    'categories of no feature': [
      cbmOf({ 6: { tables: [{ 0: { int: 5 }, 1: Int32Array.of(7), 2: { texts: ['x'] } }] } }),
      /categorical feature 5 does not exist/,
    ],
    'labels too few': [
      cbmOf({}, { ...loss('Logloss'), class_params: '{"class_names":["no"]}' }),
      /class_names: expected 2 labels, got 1/,
    ],
    'parameters that are no JSON': [cbmOf({}, { params: '{{' }), /params: expected JSON, got '{{'/],
    'a false threshold': [
      cbmOf({}, { ...loss('Logloss'), binclass_probability_threshold: '2' }),
      /binclass_probability_threshold: expected a number between 0 and 1, got 2/,
    ],
    'a document that is cut': [catboostDocument().subarray(0, 300), /JSON/],
    'a document without features': [
      catboostDocument({ features_info: undefined }),
      /expected 'features_info', got none/,
    ],
    'a document with false leaves': [
      catboostDocument({
        oblivious_trees: [{ leaf_values: [1, 2, 4], splits: [SPLIT_A, SPLIT_B] }],
      }),
      /tree 0: expected 3 values for 4 leaves, got 3/,
    ],
    'a document with a text as a leaf': [
      catboostDocument({ oblivious_trees: [{ leaf_values: [1, 'x'], splits: [SPLIT_A] }] }),
      /tree 0: expected a number, got "x"/,
    ],
    'a split of a document that does not exist': [
      catboostDocument({
        oblivious_trees: [{ leaf_values: [1, 2], splits: [{ split_index: 9 }] }],
      }),
      /tree 0: split 9 does not exist/,
    ],
    'a node without a child': [
      catboostDocument({
        oblivious_trees: undefined,
        trees: [{ split: SPLIT_A, left: { value: 1 } }],
      }),
      /tree 0: expected 'right', got none/,
    ],
  };
  for (const [name, [file, expected]] of Object.entries(cases)) {
    test(name, () => refuses(file, expected));
  }

  test('a tree that nests deeper than calls', () => {
    let tree = '{"value":1}';
    const count = 20_000;
    const split = '{"split":{"split_index":0},"left":{"value":0},"right":';
    tree = split.repeat(count) + tree + '}'.repeat(count);
    const document = catboostDocument({ oblivious_trees: undefined, trees: ['TREE'] });
    const file = Buffer.from(document.toString().replace('"TREE"', tree));
    assert.deepEqual(margins(file, { a: [0, 1], b: [0, 0] }), [0.25, 1.25]);
  });

  test('random damage', () => {
    surviveDamage(cbmOf(NODES), 3000, ['\0\0\0\0', '\u00ff\u00ff\u00ff\u007f', '\u0004', '\u0080']);
    const words = ['-1', '1e999', 'null', '{', '[', '"', ',', '0', '99999999999', '2'];
    surviveDamage(catboostDocument({}, COLOURS), 2000, words);
    const ctrs = ctrParts([[hashWith(0n, RED), 1, 3]]);
    surviveDamage(catboostDocument(ctrs, ctrFeatures()), 2000, words);
  });
});
