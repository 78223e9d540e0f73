// Ops on text and lists of words. Importer's worker thread.
// Source: tabular.md 4.2, 10
import * as ops from '../../plan/ops/index.js';
import { feature, type Op, type OpNode, STRING, vectorOf, WORDS } from '../node.js';
import type { BasicType } from '../bundle/values.js';
import type { PortType } from '../node.js';

const words = (node: OpNode) => ({ input: node.input(WORDS, 'input') });

function regexTokenizer(node: OpNode): void {
  const { attributes } = node;
  const op = {
    input: node.input(STRING, 'input'),
    output: node.output(WORDS, 'output'),
    pattern: attributes.text('regex'),
    gaps: attributes.flag('match_gaps', true),
    minTokenLength: attributes.integer('token_min_length', 1),
    toLowercase: attributes.flag('lowercase_text', true),
  };
  ops.regexTokenizer(node.builder, op, node.place);
}

function stopWordsRemover(node: OpNode): void {
  const { attributes } = node;
  const op = {
    ...words(node),
    output: node.output(WORDS, 'output'),
    stopWords: attributes.texts('stop_words'),
    caseSensitive: attributes.flag('case_sensitive', false),
  };
  ops.stopWordsRemover(node.builder, op, node.place);
}

/** Bundles that do not say have the hash of Spark 2. */
function hashVersion(node: OpNode, ...names: readonly string[]): ops.HashVersion {
  const name = names.find((each) => node.attributes.has(each));
  const version = name === undefined ? 1 : node.attributes.integer(name);
  if (version !== 1 && version !== 2) node.problem(`the hash version ${version} is not supported`);
  return version === 2 ? 2 : 1;
}

function hashingTf(node: OpNode): void {
  const { attributes } = node;
  const numFeatures = attributes.integer('num_features');
  const op = {
    ...words(node),
    output: node.output(vectorOf(numFeatures), 'output'),
    numFeatures,
    binary: attributes.flag('binary', false),
    hashVersion: hashVersion(node, 'hashUnsafeBytesVersion', 'version'),
  };
  ops.hashingTf(node.builder, op, node.place);
}

function countVectorizer(node: OpNode): void {
  const { attributes } = node;
  const vocabulary = attributes.texts('vocabulary');
  const op = {
    ...words(node),
    output: node.output(vectorOf(vocabulary.length), 'output'),
    vocabulary,
    binary: attributes.flag('binary', false),
    minTf: attributes.number('min_tf', 1),
  };
  ops.countVectorizer(node.builder, op, node.place);
}

function wordToVector(node: OpNode): void {
  const { attributes } = node;
  const all = attributes.texts('words');
  const flat = attributes.numbers('word_vectors');
  const indices = attributes.has('indices') ? attributes.integers('indices') : all.map((_, i) => i);
  const size = all.length === 0 ? 0 : Math.floor(flat.length / all.length);
  const vectors = new Float64Array(all.length * size);
  all.forEach((_, i) => {
    const from = (indices[i] ?? 0) * size;
    vectors.set(flat.subarray(from, from + size), i * size);
  });
  const kernel = attributes.text('kernel', 'default');
  if (kernel !== 'default' && kernel !== 'sqrt')
    node.problem(`the kernel '${kernel}' is not supported`);
  const op = {
    ...words(node),
    output: node.output(vectorOf(size), 'output'),
    words: all,
    vectors,
    size,
    kernel: kernel === 'sqrt' ? 'sqrt' : 'average',
  } as const;
  ops.word2Vec(node.builder, op, node.place);
}

const FIELD_TYPES: Readonly<Record<BasicType, PortType['type']>> = {
  boolean: 'bool',
  byte: 'int8',
  short: 'int16',
  int: 'int32',
  long: 'int64',
  float: 'float',
  double: 'double',
  string: 'string',
  byte_string: 'binary',
};

function featureHasher(node: OpNode): void {
  const { attributes } = node;
  const numFeatures = attributes.integer('num_features');
  const types = node.found.model.attributes.get('basic_types')?.types ?? [];
  const inputs = node
    .numbered('input')
    .map((name, i) => node.frame.input(name, { type: FIELD_TYPES[types[i] ?? 'double'] }));
  const op = {
    inputs,
    output: node.output(vectorOf(numFeatures), 'output'),
    names: attributes.texts('input_names'),
    categorical: attributes.has('categorical_cols') ? attributes.texts('categorical_cols') : [],
    numFeatures,
    hashVersion: 2,
  } as const;
  ops.featureHasher(node.builder, op, node.place);
}

function multinomialLabeler(node: OpNode): void {
  const { attributes } = node;
  const names = attributes.texts('labels');
  const op = {
    input: node.input(vectorOf(), 'features', 'input'),
    probabilities: node.optionalOutput(vectorOf(), 'probabilities'),
    labels: node.optionalOutput(WORDS, 'labels'),
    names,
    threshold: attributes.number('threshold'),
  };
  ops.multinomialLabeler(node.builder, op, node.place);
}

export const TEXT_OPS: Readonly<Record<string, Op>> = {
  count_vectorizer: feature(countVectorizer),
  feature_hasher: feature(featureHasher),
  hashing_term_frequency: feature(hashingTf),
  multinomial_labeler: feature(multinomialLabeler),
  ngram: feature((node) => {
    const output = { ...words(node), output: node.output(WORDS, 'output') };
    ops.ngram(node.builder, { ...output, n: node.attributes.integer('n') }, node.place);
  }),
  regex_tokenizer: feature(regexTokenizer),
  stopwords_remover: feature(stopWordsRemover),
  tokenizer: feature((node) => {
    const op = { input: node.input(STRING, 'input'), output: node.output(WORDS, 'output') };
    ops.tokenizer(node.builder, op, node.place);
  }),
  word_filter: feature((node) => {
    const op = { ...words(node), output: node.output(WORDS, 'output') };
    ops.wordFilter(
      node.builder,
      { ...op, length: node.attributes.integer('length', 3) },
      node.place,
    );
  }),
  word_to_vector: feature(wordToVector),
};
