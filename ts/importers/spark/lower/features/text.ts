// Spark's stages on text and lists of words. Importer's worker thread. Source: tabular.md 5.2, 5.3
import {
  countVectorizer,
  featureHasher,
  type HashVersion,
  hashingTf,
  ngram,
  regexTokenizer,
  stopWordsRemover,
  tokenizer,
  word2Vec,
} from '../../../plan/ops/text.js';
import {
  listCell,
  numberCell,
  numbersCell,
  structCell,
  textCell,
  textsCell,
} from '../../read/cells.js';
import { isBefore } from '../../read/metadata.js';
import { StageProblem } from '../../read/problem.js';
import type { Table } from '../../read/table.js';
import { type Attribute, ofSlots } from '../attributes.js';
import { NUMBER, TEXT, TEXTS } from '../frame.js';
import { type Lower, type OutputShape, type Stage } from '../stage.js';

const WORDS: OutputShape = { type: 'list', element: 'string' };
const FEATURES_DEFAULT = 1 << 18;

const lowerTokenizer: Lower = (stage) => {
  const [input, output] = oneColumn(stage, TEXT, WORDS);
  tokenizer(stage.plan, { input, output }, stage.place);
};

const lowerRegexTokenizer: Lower = (stage) => {
  const { params } = stage;
  const [input, output] = oneColumn(stage, TEXT, WORDS);
  regexTokenizer(
    stage.plan,
    {
      input,
      output,
      pattern: params.text('pattern', '\\s+'),
      gaps: params.flag('gaps', true),
      minTokenLength: params.integer('minTokenLength', 1),
      toLowercase: params.flag('toLowercase', true),
    },
    stage.place,
  );
};

// Languages with their own rules for upper and lower case.
const OTHER_CASE = /^(?:tr|az|lt)(?:[_-]|$)/;

const lowerStopWords: Lower = (stage) => {
  const { params } = stage;
  const caseSensitive = params.flag('caseSensitive', false);
  const locale = params.text('locale', 'en');
  if (!caseSensitive && OTHER_CASE.test(locale)) {
    throw new StageProblem(`case conversion in the locale '${locale}' is not supported`);
  }
  const stopWords = params.texts('stopWords');
  for (const { input, output } of stage.pairs(TEXTS)) {
    stopWordsRemover(
      stage.plan,
      { input: input.column, output: stage.output(output, WORDS), stopWords, caseSensitive },
      stage.place,
    );
  }
};

const lowerNGram: Lower = (stage) => {
  const [input, output] = oneColumn(stage, TEXTS, WORDS);
  ngram(stage.plan, { input, output, n: stage.params.integer('n', 2) }, stage.place);
};

/** Spark 3 hashes the end of a text otherwise; what Spark 2 has trained goes on with its own. */
function hashVersion(stage: Stage): HashVersion {
  return isBefore(stage.metadata.sparkVersion, 3, 0) ? 1 : 2;
}

const lowerHashingTf: Lower = (stage) => {
  const { params } = stage;
  const numFeatures = params.integer('numFeatures', FEATURES_DEFAULT);
  const [input, output] = oneColumn(stage, TEXTS, {
    type: 'vector',
    attributes: { size: numFeatures },
  });
  hashingTf(
    stage.plan,
    {
      input,
      output,
      numFeatures,
      binary: params.flag('binary', false),
      hashVersion: hashVersion(stage),
    },
    stage.place,
  );
};

const lowerFeatureHasher: Lower = (stage) => {
  const { params } = stage;
  const inputs = stage.inputs('inputCols', NUMBER);
  const numFeatures = params.integer('numFeatures', FEATURES_DEFAULT);
  featureHasher(
    stage.plan,
    {
      inputs: inputs.map(({ column }) => column),
      output: stage.output(params.text('outputCol'), {
        type: 'vector',
        attributes: { size: numFeatures },
      }),
      names: inputs.map(({ name }) => name),
      categorical: params.texts('categoricalCols', []),
      numFeatures,
      hashVersion: hashVersion(stage),
    },
    stage.place,
  );
};

const lowerCountVectorizer: Lower = async (stage) => {
  const { params } = stage;
  const table = await stage.folder.table();
  const vocabulary = textsCell(table.column(['vocabulary'], 0)[0], 'vocabulary');
  const slots = vocabulary.map((name): Attribute => ({ kind: 'numeric', name }));
  const [input, output] = oneColumn(stage, TEXTS, { type: 'vector', attributes: ofSlots(slots) });
  countVectorizer(
    stage.plan,
    {
      input,
      output,
      vocabulary,
      binary: params.flag('binary', false),
      minTf: params.number('minTF', 1),
    },
    stage.place,
  );
};

const lowerWord2Vec: Lower = async (stage) => {
  const { words, vectors, size } = readWords(await stage.folder.table());
  const [input, output] = oneColumn(stage, TEXTS, { type: 'vector', attributes: { size } });
  word2Vec(stage.plan, { input, output, words, vectors, size }, stage.place);
};

/** Since 2.2 a row for each word; before, all words and all vectors in one row. */
function readWords(table: Table) {
  const index = table.find('wordIndex');
  if (index !== undefined) {
    const entries = Object.entries(structCell(index[0], 'wordIndex'))
      .map(([word, at]): [string, number] => [word, numberCell(at, 'wordIndex')])
      .sort(([, a], [, b]) => a - b);
    const vectors = numbersCell(table.column(['wordVectors'], 1)[0], 'wordVectors');
    const size = entries.length === 0 ? 0 : vectors.length / entries.length;
    if (!Number.isInteger(size))
      throw new StageProblem('wordVectors: expected vectors of one size');
    return { words: entries.map(([word]) => word), vectors, size };
  }
  const words = table.column(['word'], 0).map((word) => textCell(word, 'word'));
  const rows = table.column(['vector'], 1);
  const size = rows.length === 0 ? 0 : listCell(rows[0], 'vector').length;
  const vectors = new Float64Array(size * words.length);
  for (const [i, row] of rows.entries()) {
    const vector = numbersCell(row, 'vector');
    if (vector.length !== size) {
      throw new StageProblem(`vector of '${words[i]}': ${vector.length} values, expected ${size}`);
    }
    vectors.set(vector, i * size);
  }
  return { words, vectors, size };
}

function oneColumn(stage: Stage, use: typeof TEXT, shape: OutputShape) {
  const { column } = stage.input('inputCol', use);
  return [column, stage.output(stage.params.text('outputCol'), shape)] as const;
}

export const TEXT_STAGES: Readonly<Record<string, Lower>> = {
  Tokenizer: lowerTokenizer,
  RegexTokenizer: lowerRegexTokenizer,
  StopWordsRemover: lowerStopWords,
  NGram: lowerNGram,
  HashingTF: lowerHashingTf,
  FeatureHasher: lowerFeatureHasher,
  CountVectorizerModel: lowerCountVectorizer,
  Word2VecModel: lowerWord2Vec,
};
