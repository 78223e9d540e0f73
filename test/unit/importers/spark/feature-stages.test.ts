// Spark's feature stages, each as several versions of Spark save it, run by the engine. Values are
// from Spark's documentation and by hand. Source: tabular.md 5.2, 5.3, 10
import { describe, test } from 'node:test';
import { answers, doubles, ints, refusesRow, texts, vectors, words } from './support/answers.js';
import { refuses } from './support/lowered.js';
import { pipeline, type StageSketch } from './support/model.js';
import { dense, MATRIX, type Row, type Shape, sparse, VECTOR } from './support/parquet.js';
import { assembler, oneHot, stringIndexer } from './support/stages.js';

const stage = (
  name: string,
  params: Row,
  columns: Readonly<Record<string, Shape>> = {},
  row: Row = {},
  version = '3.5.5',
): StageSketch => ({
  class: `feature.${name}`,
  uid: `${name}_1`,
  params,
  version,
  tables: Object.keys(columns).length === 0 ? {} : { data: { columns, rows: [row] } },
});
const IO = { inputCol: 'x', outputCol: 'y' };
const list = (of: Shape): Shape => ({ list: of });

describe('texts and categories', () => {
  test('StringIndexerModel', async () => {
    await answers(stringIndexer('x', 'y', ['b', 'a']), { x: texts('a', 'b') }, { y: [1, 0] });
    const keep = stringIndexer('x', 'y', ['b', 'a'], { handleInvalid: 'keep' });
    await answers(keep, { x: texts('a', 'z', null) }, { y: [1, 2, 2] });
    const numbers = stringIndexer('x', 'y', ['1.0', '2.5', '3']);
    await answers(numbers, { x: doubles(2.5, 1) }, { y: [1, 0] });
    await answers(numbers, { x: ints(3) }, { y: [2] });
    await refusesRow(numbers, { x: ints(1) }, /StringIndexer_y/);
    for (const handleInvalid of ['error', 'skip']) {
      const strict = stringIndexer('x', 'y', ['b', 'a'], { handleInvalid });
      await refusesRow(strict, { x: texts('a', 'z') }, /model 'StringIndexer_y'.*row 1/);
    }
  });

  test('StringIndexerModel of several columns, and of Spark 2', async () => {
    const labelsArray = { labelsArray: list(list('string')) };
    const two = stage(
      'StringIndexerModel',
      { inputCols: ['a', 'b'], outputCols: ['i', 'k'] },
      labelsArray,
      { labelsArray: [['x'], ['y', 'z']] },
    );
    await answers(two, { a: texts('x'), b: texts('z') }, { i: [0], k: [1] });
    const old = { labels: list('string') };
    const one = stage('StringIndexerModel', IO, old, { labels: ['p', 'q'] }, '2.4.8');
    await answers(one, { x: texts('q') }, { y: [1] });
    await refuses(
      stage('StringIndexerModel', { inputCols: ['a', 'b'], outputCols: ['i', 'k'] }, labelsArray, {
        labelsArray: [['x']],
      }),
      /the model has no labels for column 'b'/,
    );
    await refuses(
      stage('StringIndexerModel', { inputCols: ['a', 'b'], outputCols: ['i'] }, labelsArray, {
        labelsArray: [['x'], ['y']],
      }),
      /got 2 inputCols and 1 outputCols/,
    );
  });

  test('IndexToString, with labels and with those of the column', async () => {
    const given = stage('IndexToString', { ...IO, labels: ['no', 'yes'] });
    await answers(given, { x: doubles(1, 0) }, { y: ['yes', 'no'] });
    await refusesRow(given, { x: doubles(2) }, /IndexToString_1/);
    const back = stage('IndexToString', { inputCol: 'i', outputCol: 'y' });
    const both = pipeline(stringIndexer('x', 'i', ['b', 'a']), back);
    await answers(both, { x: texts('a', 'b') }, { y: ['a', 'b'] });
    await refuses(
      stage('IndexToString', IO),
      /the model does not contain the labels of column 'x'/,
    );
  });

  test('OneHotEncoderModel: dropLast and handleInvalid', async () => {
    const x = { x: doubles(0, 1, 2) };
    const all = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
    await answers(oneHot('x', 'y', 3, { dropLast: false }), x, { y: all });
    await answers(oneHot('x', 'y', 3), x, { y: all.map((row) => row.slice(0, 2)) });
    const keep = { handleInvalid: 'keep' };
    await answers(oneHot('x', 'y', 2, { ...keep, dropLast: false }), x, { y: all });
    await answers(oneHot('x', 'y', 2, keep), x, { y: all.map((row) => row.slice(0, 2)) });
    await refusesRow(oneHot('x', 'y', 2), x, /OneHotEncoder_y.*row 2/);
  });

  test("OneHotEncoder of Spark 2 knows the categories from the column's labels", async () => {
    const encoder = stage('OneHotEncoder', { inputCol: 'i', outputCol: 'y' }, {}, {}, '2.2.0');
    const model = pipeline(stringIndexer('x', 'i', ['a', 'b', 'c']), encoder);
    await answers(
      model,
      { x: texts('a', 'c') },
      {
        y: [
          [1, 0],
          [0, 0],
        ],
      },
    );
    await refuses(encoder, /the model does not contain the number of categories of column 'i'/);
    await refuses({ ...encoder, version: '3.0.0' }, /expected a fitted encoder/);
  });

  test('Bucketizer', async () => {
    const one = stage('Bucketizer', { ...IO, splits: ['-Inf', 0, 10, 'Inf'] });
    await answers(one, { x: doubles(-5, 0, 9.5, 10) }, { y: [0, 1, 1, 2] });
    const closed = stage('Bucketizer', { ...IO, splits: [0, 1, 2] });
    await answers(closed, { x: doubles(2) }, { y: [1] });
    await refusesRow(closed, { x: doubles(0, 3) }, /Bucketizer_1.*row 1/);
    await refusesRow(closed, { x: doubles(Number.NaN) }, /Bucketizer_1/);
    const keep = stage('Bucketizer', { ...IO, splits: [0, 1, 2], handleInvalid: 'keep' });
    await answers(keep, { x: doubles(Number.NaN, 0) }, { y: [2, 0] });
    // Spark passes a missing value on, and drops its row with skip.
    await answers(keep, { x: doubles(null, 0) }, { y: [null, 0] });
    await answers(closed, { x: doubles(null, 0) }, { y: [null, 0] });
    const skip = stage('Bucketizer', { ...IO, splits: [0, 1, 2], handleInvalid: 'skip' });
    await answers(skip, { x: doubles(1, 0) }, { y: [1, 0] });
    await refusesRow(skip, { x: doubles(0, null) }, /Bucketizer_1.*row 1: column 'x' is missing/);
    await refusesRow(skip, { x: doubles(Number.NaN) }, /Bucketizer_1.*row 0/);
    const two = stage('Bucketizer', {
      inputCols: ['a', 'b'],
      outputCols: ['i', 'k'],
      splitsArray: [
        ['-Inf', 0.5, 'Inf'],
        [0, 1, 2],
      ],
    });
    await answers(two, { a: doubles(0.5), b: doubles(0) }, { i: [1], k: [0] });
    await refuses(stage('Bucketizer', { ...IO, splits: [1, 0, 2] }), /splits .* do not ascend/);
    await refuses(stage('Bucketizer', { ...IO, splits: [1, 2] }), /splits .* do not ascend/);
  });
});

describe('numbers and vectors of one length', () => {
  const model = (name: string, params: Row, row: Row): StageSketch =>
    stage(
      name,
      { ...IO, ...params },
      Object.fromEntries(Object.keys(row).map((key) => [key, VECTOR])),
      row,
    );
  const x = { x: vectors([1, 2], [3, -4]) };

  test('StandardScalerModel', async () => {
    const row = { std: dense(2, 0), mean: dense(1, 1) };
    const both = model('StandardScalerModel', { withMean: true, withStd: true }, row);
    await answers(both, x, {
      y: [
        [0, 0],
        [1, 0],
      ],
    });
    await answers(model('StandardScalerModel', {}, row), x, {
      y: [
        [0.5, 0],
        [1.5, 0],
      ],
    });
    const mean = model('StandardScalerModel', { withMean: true, withStd: false }, row);
    await answers(mean, x, {
      y: [
        [0, 1],
        [2, -5],
      ],
    });
    await refusesRow(both, { x: vectors([1]) }, /StandardScalerModel_1.*row 0/);
  });

  test('the other scalers', async () => {
    const robust = model(
      'RobustScalerModel',
      { withCentering: true, withScaling: true },
      { range: dense(2, 4), median: dense(1, 0) },
    );
    await answers(robust, x, {
      y: [
        [0, 0.5],
        [1, -1],
      ],
    });
    const minMax = model(
      'MinMaxScalerModel',
      { min: -1, max: 1 },
      { originalMin: dense(1, 5), originalMax: dense(5, 5) },
    );
    await answers(minMax, x, {
      y: [
        [-1, 0],
        [0, 0],
      ],
    });
    const maxAbs = model('MaxAbsScalerModel', {}, { maxAbs: dense(2, 0) });
    await answers(maxAbs, x, {
      y: [
        [0.5, 2],
        [1.5, -4],
      ],
    });
    await answers(model('IDFModel', {}, { idf: dense(0.5, 2) }), x, {
      y: [
        [0.5, 4],
        [1.5, -8],
      ],
    });
  });

  test('without a model', async () => {
    const scaling = sparse(2, [1], [3]);
    const product = stage('ElementwiseProduct', { ...IO, scalingVec: scaling });
    await answers(product, x, {
      y: [
        [0, 6],
        [0, -12],
      ],
    });
    await answers(stage('Normalizer', { ...IO, p: 1 }), x, {
      y: [
        [1 / 3, 2 / 3],
        [3 / 7, -4 / 7],
      ],
    });
    await answers(stage('Normalizer', { ...IO, p: 'Inf' }), x, {
      y: [
        [0.5, 1],
        [0.75, -1],
      ],
    });
    const half = Math.SQRT1_2;
    await answers(stage('DCT', IO), x, {
      y: [
        [3 * half, -half],
        [-half, 7 * half],
      ],
    });
    await answers(stage('PolynomialExpansion', IO), x, {
      y: [
        [1, 1, 2, 2, 4],
        [3, 9, -4, -12, 16],
      ],
    });
  });

  test('Binarizer, of one column, of several and of vectors', async () => {
    const one = stage('Binarizer', { ...IO, threshold: 1 });
    await answers(one, { x: doubles(1, 1.5, null) }, { y: [0, 1, 0] });
    const params = { inputCols: ['a', 'b'], outputCols: ['c', 'd'] };
    const two = stage('Binarizer', { ...params, thresholds: [0, 5] });
    await answers(two, { a: doubles(1), b: doubles(1) }, { c: [1], d: [0] });
    const vector = pipeline(
      assembler(['p', 'q'], 'v'),
      stage('Binarizer', { inputCol: 'v', outputCol: 'y', threshold: 1 }),
    );
    await answers(vector, { p: doubles(2), q: doubles(1) }, { y: [[1, 0]] });
  });

  test('ImputerModel', async () => {
    const params = { inputCols: ['a', 'b'], outputCols: ['c', 'd'], missingValue: -1 };
    const imputer = stage('ImputerModel', params, { a: 'double', b: 'double' }, { a: 7.5, b: 8 });
    await answers(
      imputer,
      { a: doubles(1, -1, null), b: doubles(-1, Number.NaN, 2) },
      { c: [1, 7.5, 7.5], d: [8, Number.NaN, 2] },
    );
    const nan = stage('ImputerModel', { ...IO, missingValue: 'NaN' }, { x: 'double' }, { x: 3 });
    await answers(nan, { x: doubles(Number.NaN, 2) }, { y: [3, 2] });
    await refuses(
      stage('ImputerModel', params, { a: 'double' }, { a: 7.5 }),
      /data has no column 'b'/,
    );
  });
});

describe('vectors put together and taken apart', () => {
  test('VectorAssembler', async () => {
    const columns = { a: doubles(1), b: vectors([2, 3]), c: ints(4) };
    await answers(assembler(['a', 'b', 'c'], 'y'), columns, { y: [[1, 2, 3, 4]] });
    await refusesRow(assembler(['a'], 'y'), { a: doubles(1, null) }, /VectorAssembler_y.*row 1/);
    const keep = assembler(['a', 'b'], 'y', { handleInvalid: 'keep' });
    await answers(keep, { a: doubles(null), b: doubles(1) }, { y: [[Number.NaN, 1]] });
  });

  test('VectorSlicer: indices, then names', async () => {
    const slicer = stage('VectorSlicer', {
      inputCol: 'v',
      outputCol: 'y',
      indices: [2],
      names: ['a'],
    });
    const model = pipeline(assembler(['a', 'b', 'c'], 'v'), slicer);
    await answers(model, { a: doubles(1), b: doubles(2), c: doubles(3) }, { y: [[3, 1]] });
    await refuses(slicer, /the model does not contain the index of 'a' in column 'v'/);
  });

  for (const name of ['ChiSqSelector', 'UnivariateFeatureSelector', 'VarianceThresholdSelector']) {
    test(`${name}Model keeps the order of the values`, async () => {
      const selector = stage(
        `${name}Model`,
        { featuresCol: 'x', outputCol: 'y' },
        { selectedFeatures: list('int') },
        { selectedFeatures: [2, 0] },
      );
      await answers(selector, { x: vectors([5, 6, 7]) }, { y: [[5, 7]] });
    });
  }

  test('VectorSizeHint', async () => {
    const hint = stage('VectorSizeHint', { inputCol: 'x', size: 2 });
    await answers(hint, { x: vectors([1, 2]) }, { x: [[1, 2]] });
    await refusesRow(hint, { x: vectors([1, 2], [1]) }, /VectorSizeHint_1.*row 1/);
    await refusesRow(hint, { x: vectors([1, 2], null) }, /VectorSizeHint_1.*row 1/);
    const skip = stage('VectorSizeHint', { inputCol: 'x', size: 2, handleInvalid: 'skip' });
    await answers(skip, { x: vectors([1, 2]) }, { x: [[1, 2]] });
    await refusesRow(skip, { x: vectors([1, 2], [1]) }, /VectorSizeHint_1.*row 1/);
    await refusesRow(skip, { x: vectors([1, 2], null) }, /VectorSizeHint_1.*row 1/);
    // The results of Spark 3.5.5 and 4.1.0: nothing is checked.
    const trusted = stage('VectorSizeHint', {
      inputCol: 'x',
      size: 2,
      handleInvalid: 'optimistic',
    });
    const rows = { x: vectors([1, 2], null, [1, 2, 3]) };
    await answers(trusted, rows, { x: [[1, 2], null, [1, 2, 3]] });
    const keep = assembler(['x'], 'f', { handleInvalid: 'keep' });
    const f = [
      [1, 2],
      [Number.NaN, Number.NaN],
      [1, 2, 3],
    ];
    await answers(pipeline(trusted, keep), rows, { f });
    await refusesRow(
      pipeline(trusted, assembler(['x'], 'f')),
      rows,
      /row 1: column 'x' is missing/,
    );
    const wrong = stage('VectorSizeHint', { inputCol: 'v', size: 3 });
    await refuses(
      pipeline(assembler(['a', 'b'], 'v'), wrong),
      /size: expected 2, the values of column 'v', got 3/,
    );
  });

  test('Interaction takes categories for what they are', async () => {
    const numbers = stage('Interaction', { inputCols: ['a', 'b'], outputCol: 'y' });
    await answers(numbers, { a: doubles(2), b: vectors([3, 4]) }, { y: [[6, 8]] });
    const categories = pipeline(
      stringIndexer('c', 'i', ['x', 'y', 'z']),
      stage('Interaction', { inputCols: ['i', 'a'], outputCol: 'y' }),
    );
    await answers(categories, { c: texts('y'), a: doubles(5) }, { y: [[0, 5, 0]] });
  });

  test('VectorIndexerModel', async () => {
    const columns = {
      numFeatures: 'int',
      categoryMaps: { map: ['int', { map: ['double', 'int'] }] },
    };
    const row = {
      numFeatures: 3,
      categoryMaps: [
        [
          1,
          [
            [-1, 0],
            [0.5, 1],
            [7, 2],
          ],
        ],
      ],
    };
    const indexer = (params: Row) =>
      stage('VectorIndexerModel', { ...IO, ...params }, columns as never, row);
    await answers(
      indexer({}),
      { x: vectors([9, 0.5, 8], [9, 7, 8]) },
      {
        y: [
          [9, 1, 8],
          [9, 2, 8],
        ],
      },
    );
    await refusesRow(indexer({}), { x: vectors([9, 3, 8]) }, /VectorIndexerModel_1/);
    const keep = indexer({ handleInvalid: 'keep' });
    await answers(keep, { x: vectors([9, 3, 8]) }, { y: [[9, 3, 8]] });
  });

  test('PCAModel', async () => {
    const pc = {
      type: 1,
      numRows: 3,
      numCols: 2,
      values: [1, 2, 3, 0, 1, -1],
      isTransposed: false,
    };
    const model = stage('PCAModel', { ...IO, k: 2 }, { pc: MATRIX }, { pc });
    await answers(model, { x: vectors([1, 1, 2]) }, { y: [[9, -1]] });
  });

  test('locality sensitive hashes', async () => {
    const vectorsOf = {
      type: 1,
      numRows: 2,
      numCols: 2,
      values: [1, 0, 0, 1],
      isTransposed: false,
    };
    const projection = stage(
      'BucketedRandomProjectionLSHModel',
      { ...IO, bucketLength: 2 },
      { randUnitVectors: MATRIX },
      { randUnitVectors: vectorsOf },
    );
    await answers(projection, { x: vectors([5, -3]) }, { y: [[2, -2]] });
    const minHash = stage(
      'MinHashLSHModel',
      IO,
      { randCoefficients: list('int') },
      { randCoefficients: [2, 1, 3, 5] },
    );
    await answers(minHash, { x: vectors([0, 1, 1]) }, { y: [[5, 11]] });
  });
});

describe('words', () => {
  test('Tokenizer and RegexTokenizer', async () => {
    await answers(stage('Tokenizer', IO), { x: texts('A  b', '') }, { y: [['a', '', 'b'], ['']] });
    const gaps = stage('RegexTokenizer', { ...IO, pattern: '\\W+' });
    await answers(gaps, { x: texts('It is, so!') }, { y: [['it', 'is', 'so']] });
    const found = stage('RegexTokenizer', {
      ...IO,
      pattern: '[A-Z]\\w*',
      gaps: false,
      toLowercase: false,
      minTokenLength: 2,
    });
    await answers(found, { x: texts('A Big Cat ran') }, { y: [['Big', 'Cat']] });
  });

  test('StopWordsRemover and NGram', async () => {
    const remover = stage('StopWordsRemover', { ...IO, stopWords: ['the', 'A'] });
    await answers(remover, { x: words(['The', 'cat', 'a']) }, { y: [['cat']] });
    const exact = stage('StopWordsRemover', { ...IO, stopWords: ['the'], caseSensitive: true });
    await answers(exact, { x: words(['The', 'the']) }, { y: [['The']] });
    await refuses(
      stage('StopWordsRemover', { ...IO, stopWords: ['x'], locale: 'tr_TR' }),
      /case conversion in the locale 'tr_TR' is not supported/,
    );
    const ngram = stage('NGram', { ...IO, n: 2 });
    await answers(ngram, { x: words(['a', 'b', 'c'], ['a']) }, { y: [['a b', 'b c'], []] });
  });

  test('CountVectorizerModel', async () => {
    const columns = { vocabulary: list('string') };
    const counter = (params: Row) =>
      stage('CountVectorizerModel', { ...IO, ...params }, columns, { vocabulary: ['a', 'b', 'c'] });
    const x = { x: words(['b', 'a', 'b', 'z']) };
    await answers(counter({}), x, { y: [[1, 2, 0]] });
    await answers(counter({ binary: true }), x, { y: [[1, 1, 0]] });
    await answers(counter({ minTF: 2 }), x, { y: [[0, 2, 0]] });
  });

  test('Word2VecModel, a row for each word and, before 2.2, one for all', async () => {
    const table = {
      columns: { word: 'string', vector: list('float') } as const,
      rows: [
        { word: 'a', vector: [1, 2] },
        { word: 'b', vector: [3, 6] },
      ],
      parts: 2,
    };
    const model = { ...stage('Word2VecModel', IO), tables: { data: table } };
    const x = { x: words(['a', 'b', 'z', 'b'], []) };
    const y = [
      [7 / 4, 14 / 4],
      [0, 0],
    ];
    await answers(model, x, { y });
    const old = stage(
      'Word2VecModel',
      IO,
      { wordIndex: { map: ['string', 'int'] }, wordVectors: list('float') },
      {
        wordIndex: [
          ['b', 1],
          ['a', 0],
        ],
        wordVectors: [1, 2, 3, 6],
      },
      '2.1.0',
    );
    await answers(old, x, { y });
  });

  test('HashingTF: murmur3 of the words, as each version has it', async () => {
    const model = (version: string) =>
      pipeline(
        { ...stage('HashingTF', { ...IO, numFeatures: 16 }, {}, {}, version) },
        stage('VectorSlicer', { inputCol: 'y', outputCol: 'z', indices: [0, 15] }),
      );
    // The sum over all slots is the number of words.
    for (const version of ['2.4.8', '3.0.0']) {
      const all = stage('HashingTF', { ...IO, numFeatures: 1 }, {}, {}, version);
      await answers(all, { x: words(['Hi', 'I', 'heard']) }, { y: [[3]] });
      await answers(model(version), { x: words([]) }, { z: [[0, 0]] });
    }
  });

  test('FeatureHasher', async () => {
    const hasher = stage('FeatureHasher', {
      inputCols: ['real', 'bool', 'text'],
      outputCol: 'y',
      numFeatures: 1,
    });
    const columns = {
      real: doubles(2.5),
      bool: { type: 'bool', values: [1] } as const,
      text: texts('foo'),
    };
    await answers(hasher, columns, { y: [[4.5]] });
  });
});
