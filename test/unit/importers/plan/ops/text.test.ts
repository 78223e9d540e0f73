// Operators on strings and lists of words, with the results of Spark and MLeap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../../../../ts/importers/plan/builder.js';
import * as ops from '../../../../../ts/importers/plan/ops/index.js';
import type { GivenColumn } from '../run-plan.js';
import {
  doubles,
  frame,
  map,
  near,
  PLACE,
  strings,
  VECTOR,
  vectors,
  WORDS,
  words,
} from './frames.js';

test('a tokenizer splits as Java does', () => {
  const run = (...texts: readonly unknown[]) =>
    map(strings(...texts), WORDS, (builder, input, output) =>
      ops.tokenizer(builder, { input, output }, PLACE),
    );
  assert.deepEqual(run('Hi I  heard\tABOUT', '', '   ', ' a ', 'x\x0By\x85z'), [
    ['hi', 'i', '', 'heard', 'about'],
    [''], // Source: tabular.md 10
    [],
    ['', 'a'],
    ['x', 'y\x85z'],
  ]);
  assert.deepEqual(run('ÀÉ ΟΔΟΣ'), [['àé', 'οδος']]);
  assert.throws(() => run('a', null), /row 1: column 'x' is missing/);
});

function tokens(pattern: string, texts: readonly unknown[], more: object = {}) {
  return map(strings(...texts), WORDS, (builder, input, output) =>
    ops.regexTokenizer(
      builder,
      { input, output, pattern, gaps: true, minTokenLength: 1, toLowercase: true, ...more },
      PLACE,
    ),
  );
}

test('a regex tokenizer by gaps', () => {
  assert.deepEqual(tokens('\\s+', ['Te,st. punct', ' Lead', '']), [
    ['te,st.', 'punct'],
    ['lead'],
    [],
  ]);
  assert.deepEqual(tokens('\\W', ['I,wish Java']), [['i', 'wish', 'java']]);
  assert.deepEqual(tokens(',', ['a,,b,,'], { minTokenLength: 0 }), [['a', '', 'b']]);
  assert.deepEqual(tokens('', ['aB'], { toLowercase: false }), [['a', 'B']]);
  assert.deepEqual(tokens(',', ['a,bbb,cc'], { minTokenLength: 2 }), [['bbb', 'cc']]);
  // Length counts UTF-16 units.
  assert.deepEqual(tokens(',', ['😀,é'], { minTokenLength: 2 }), [['😀']]);
});

test('a regex tokenizer by matches', () => {
  const found = { gaps: false };
  assert.deepEqual(tokens('\\w+|\\p{Punct}', ['Test, OK.'], found), [['test', ',', 'ok', '.']]);
  assert.deepEqual(tokens('\\d*', ['a12b'], { gaps: false, minTokenLength: 0 }), [
    ['', '12', '', ''],
  ]);
  // A dot stops at all of Java's line ends.
  assert.deepEqual(tokens('.+', ['a\rb\u2028c\u0085d'], found), [['a', 'b', 'c', 'd']]);
  assert.deepEqual(tokens('[^\\s]+', ['a\x0Bb c'], found), [['a', 'b', 'c']]);
  assert.deepEqual(tokens('(?i)A\\Q.\\E', ['a.A.ab'], { gaps: false, toLowercase: false }), [
    ['a.', 'A.'],
  ]);
  assert.deepEqual(tokens('b$', ['ab'], found), [['b']]);
  assert.deepEqual(tokens('b$', ['ab\n'], found), [['b']]);
  assert.deepEqual(tokens('a(?!b)', ['abac'], found), [['a']]);
  assert.throws(() => tokens('a(?!b', ['ab']), { code: 'ModelInvalid' });
});

test('stop words, with and without case', () => {
  const run = (caseSensitive: boolean) =>
    map(words(['The', 'red', 'BALLOON'], [], ['the']), WORDS, (builder, input, output) =>
      ops.stopWordsRemover(
        builder,
        { input, output, stopWords: ['the', 'Red'], caseSensitive },
        PLACE,
      ),
    );
  assert.deepEqual(run(false), [['BALLOON'], [], []]);
  assert.deepEqual(run(true), [['The', 'red', 'BALLOON'], [], []]);
  assert.throws(
    () =>
      map(strings('a'), WORDS, (builder, input, output) =>
        ops.ngram(builder, { input, output, n: 2 }, PLACE),
      ),
    /is String, expected a list of strings/,
  );
});

test('sequences of words', () => {
  const run = (n: number) =>
    map(words(['a', 'b', 'c'], ['a'], []), WORDS, (builder, input, output) =>
      ops.ngram(builder, { input, output, n }, PLACE),
    );
  assert.deepEqual(run(2), [['a b', 'b c'], [], []]);
  assert.deepEqual(run(1), [['a', 'b', 'c'], ['a'], []]);
  assert.throws(() => run(0), { code: 'ModelInvalid' });
});

test('a word filter keeps long words of letters', () => {
  const answer = map(
    words(['ab', 'abcd', 'ab1d', 'éèàç', 'a-bc', '𝐀𝐁𝐂']),
    WORDS,
    (builder, input, output) => ops.wordFilter(builder, { input, output, length: 3 }, PLACE),
  );
  assert.deepEqual(answer, [['abcd', 'éèàç']]);
});

function hashed(
  list: GivenColumn,
  hashVersion: ops.HashVersion,
  binary = false,
  numFeatures = 1 << 18,
) {
  // Finds the positions of the large vector's values by slicing.
  return (indices: readonly number[]) =>
    frame({ list }, { y: VECTOR }, (builder, inputs, outputs) => {
      const all = builder.column('all', 'vector');
      const input = inputs['list'] as Column;
      ops.hashingTf(builder, { input, output: all, numFeatures, binary, hashVersion }, PLACE);
      const output = outputs['y'] as Column;
      ops.vectorSlicer(builder, { input: all, output, indices: Int32Array.from(indices) }, PLACE);
    }).columns['y'];
}

// MurmurHash3_x86_32, seed 42, implemented from its definition.
function murmur(text: string, wholeTail: boolean): number {
  const bytes = Buffer.from(text);
  const rotate = (x: number, by: number) => (x << by) | (x >>> (32 - by));
  const word = (k: number) => Math.imul(rotate(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593);
  const mix = (h: number, k: number) => (Math.imul(rotate(h ^ word(k), 13), 5) + 0xe6546b64) | 0;
  let h = 42;
  const aligned = bytes.length - (bytes.length % 4);
  for (let i = 0; i < aligned; i += 4) h = mix(h, bytes.readInt32LE(i));
  if (wholeTail) {
    let k = 0;
    for (let i = aligned; i < bytes.length; ++i) k ^= bytes.readUInt8(i) << (8 * (i - aligned));
    h ^= word(k);
  } else {
    for (let i = aligned; i < bytes.length; ++i) h = mix(h, bytes.readInt8(i));
  }
  h ^= bytes.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
const slot = (hash: number, size: number) => ((hash % size) + size) % size;

test('term frequencies by hash', () => {
  const list = words(['abcd', 'é', 'abcde', 'é', ''], []);
  for (const version of [1, 2] as const) {
    const places = ['abcd', 'é', 'abcde', ''].map((w) => slot(murmur(w, version === 2), 1 << 18));
    assert.deepEqual(hashed(list, version)(places), [
      [1, 2, 1, 1],
      [0, 0, 0, 0],
    ]);
    assert.deepEqual(hashed(list, version, true)(places), [
      [1, 1, 1, 1],
      [0, 0, 0, 0],
    ]);
  }
  assert.deepEqual(hashed(words(['a', 'b', 'c']), 2, false, 1)([0]), [[3]]);
  assert.throws(() => hashed(words(['a']), 2, false, 0)([0]), { code: 'ModelInvalid' });
  assert.throws(() => hashed(words(null), 2)([0]), /column 'list' is missing/);
});

test('a feature hasher, with the hashes of Spark’s documentation', () => {
  // (2.0, true, "1", "foo") and (3.0, false, "2", "bar"), from Spark's guide to features and from
  // FeatureHasher's own documentation, which still shows the hashes from before 2.3.
  const indices = [174475, 247670, 262126, 257907, 70644, 89673, 173866];
  const older = [174475, 253195, 51871, 63643, 140467, 80619, 6031];
  const run = (
    categorical: readonly string[],
    real: GivenColumn,
    places = indices,
    hashVersion: ops.HashVersion = 2,
  ) =>
    frame(
      {
        real,
        bool: { type: 'bool', values: [1, 0] },
        stringNum: strings('1', '2'),
        string: strings('foo', 'bar'),
      },
      { y: VECTOR },
      (builder, inputs, outputs) => {
        const all = builder.column('all', 'vector');
        const names = ['real', 'bool', 'stringNum', 'string'];
        const model = { names, categorical, numFeatures: 1 << 18, hashVersion };
        ops.featureHasher(builder, { inputs: Object.values(inputs), output: all, ...model }, PLACE);
        const output = outputs['y'] as Column;
        ops.vectorSlicer(builder, { input: all, output, indices: Int32Array.from(places) }, PLACE);
      },
    ).columns['y'];
  const expected = [
    [2, 1, 1, 1, 0, 0, 0],
    [3, 0, 0, 0, 1, 1, 1],
  ];
  assert.deepEqual(run([], doubles(2, 3)), expected);
  assert.deepEqual(run([], doubles(2, 3), older, 1), expected);
  const places = ['real=2.0', 'real=3.0'].map((name) => slot(murmur(name, true), 1 << 18));
  assert.deepEqual(run(['real'], doubles(2, 3), places), [
    [1, 0],
    [0, 1],
  ]);
  assert.deepEqual(run([], doubles(null, 3), [174475]), [[0], [3]]);
  assert.throws(() => run([], vectors([1], [2])), /expected a number, Boolean or string/);
});

test('a count vectorizer', () => {
  const run = (more: object, ...lists: readonly unknown[]) =>
    map(words(...lists), VECTOR, (builder, input, output) =>
      ops.countVectorizer(
        builder,
        { input, output, vocabulary: ['a', 'b', 'c'], binary: false, minTf: 1, ...more },
        PLACE,
      ),
    );
  const rows = [['a', 'b', 'c'], ['a', 'x', 'b', 'b', 'c', 'a'], []];
  assert.deepEqual(run({}, ...rows), [
    [1, 1, 1],
    [2, 2, 1],
    [0, 0, 0],
  ]);
  assert.deepEqual(run({ minTf: 2 }, ...rows), [
    [0, 0, 0],
    [2, 2, 0],
    [0, 0, 0],
  ]);
  assert.deepEqual(run({ minTf: 0.3 }, ...rows), [
    [1, 1, 1],
    [2, 2, 0],
    [0, 0, 0],
  ]);
  assert.deepEqual(run({ minTf: 2, binary: true }, ...rows), [
    [0, 0, 0],
    [1, 1, 0],
    [0, 0, 0],
  ]);
  assert.throws(() => run({ vocabulary: ['a', 'a'] }, []), { code: 'ModelInvalid' });
});

test('word vectors', () => {
  const run = (kernel: 'average' | 'sqrt' | undefined, ...lists: readonly unknown[]) =>
    map(words(...lists), VECTOR, (builder, input, output) =>
      ops.word2Vec(
        builder,
        {
          input,
          output,
          words: ['a', 'b'],
          vectors: Float64Array.of(1, 2, 3, -6),
          size: 2,
          kernel,
        },
        PLACE,
      ),
    );
  near(run(undefined, ['a', 'b', 'x', 'a'], ['x'], []), [
    [5 / 4, -2 / 4],
    [0, 0],
    [0, 0],
  ]);
  near(run('sqrt', ['b'], []), [
    [3 / Math.sqrt(45), -6 / Math.sqrt(45)],
    [0, 0],
  ]);
  near(run('sqrt', ['x']), [[Number.NaN, Number.NaN]]); // the result of MLeap
});
