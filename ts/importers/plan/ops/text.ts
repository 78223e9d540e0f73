// Operators on text and lists of words (List of String). Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';

interface OneColumn {
  readonly input: Column;
  readonly output: Column;
}

/** String -> List of String: lower case, split at each of Java's white space characters. */
export function tokenizer(builder: PlanBuilder, op: OneColumn, place: string): void {
  builder.stage('tokenizer', [op.input], [op.output], {}, place);
}

/**
 * String to List of String by a Java regular expression: the text between its matches (`gaps`) or
 * the matches themselves, of at least `minTokenLength` UTF-16 units. A pattern that Java refuses is
 * reported at load.
 */
export function regexTokenizer(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly pattern: string;
    readonly gaps: boolean;
    readonly minTokenLength: number;
    readonly toLowercase: boolean;
  },
  place: string,
): void {
  const { pattern, gaps, minTokenLength, toLowercase } = op;
  const attributes = { pattern, gaps, minTokenLength, toLowercase };
  builder.stage('regex_tokenizer', [op.input], [op.output], attributes, place);
}

/** List of String without `stopWords`. Case is that of no language: report Turkish ones. */
export function stopWordsRemover(
  builder: PlanBuilder,
  op: OneColumn & { readonly stopWords: readonly string[]; readonly caseSensitive: boolean },
  place: string,
): void {
  const { stopWords, caseSensitive } = op;
  builder.stage('stop_words', [op.input], [op.output], { stopWords, caseSensitive }, place);
}

/** List of String -> List of String: each `n` words that follow each other, joined by a blank. */
export function ngram(
  builder: PlanBuilder,
  op: OneColumn & { readonly n: number },
  place: string,
): void {
  builder.stage('ngram', [op.input], [op.output], { n: op.n }, place);
}

/** MLeap: the words of letters only that are longer than `length` UTF-16 units. */
export function wordFilter(
  builder: PlanBuilder,
  op: OneColumn & { readonly length: number },
  place: string,
): void {
  builder.stage('word_filter', [op.input], [op.output], { length: op.length }, place);
}

/**
 * 2 = murmur3_x86_32 as Spark has it since 3.0, 1 = as before (the tail of a text whose length is
 * no multiple of 4 is hashed byte by byte).
 */
export type HashVersion = 1 | 2;

/** List of String -> sparse Vector of counts (`binary`: of ones) at the terms' hashes. */
export function hashingTf(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly numFeatures: number;
    readonly binary: boolean;
    readonly hashVersion: HashVersion;
  },
  place: string,
): void {
  const { numFeatures: size, binary, hashVersion } = op;
  builder.stage('hashing_tf', [op.input], [op.output], { size, binary, hashVersion }, place);
}

/** List of String -> sparse Vector of counts. `minTf` >= 1: a count, < 1: a part of the words. */
export function countVectorizer(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly vocabulary: readonly string[];
    readonly binary: boolean;
    readonly minTf: number;
  },
  place: string,
): void {
  const { vocabulary, binary, minTf } = op;
  const attributes = { vocabulary, binary, minTf: { real: minTf } };
  builder.stage('count_vectorizer', [op.input], [op.output], attributes, place);
}

/**
 * List of String -> Vector: the sum of the words' vectors over the number of words ('average'), or
 * brought to length 1 ('sqrt', MLeap's other kernel). `vectors`: [words, size].
 */
export function word2Vec(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly words: readonly string[];
    readonly vectors: Float64Array;
    readonly size: number;
    readonly kernel?: 'average' | 'sqrt' | undefined;
  },
  place: string,
): void {
  const { words, vectors, size, kernel } = op;
  builder.stage('word2vec', [op.input], [op.output], { words, vectors, size, kernel }, place);
}

/**
 * Columns -> sparse Vector of hashes: numbers at their name's hash, texts, Booleans and the columns
 * of `categorical` as a 1 at the hash of "name=value". Missing ones are left out. `names`: of the
 * inputs, as they were in training.
 */
export function featureHasher(
  builder: PlanBuilder,
  op: {
    readonly inputs: readonly Column[];
    readonly output: Column;
    readonly names: readonly string[];
    readonly categorical: readonly string[];
    readonly numFeatures: number;
    readonly hashVersion: HashVersion;
  },
  place: string,
): void {
  const { names, numFeatures: size, hashVersion } = op;
  const categorical = Int32Array.from(names, (name) => (op.categorical.includes(name) ? 1 : 0));
  const attributes = { names, size, hashVersion, categorical };
  builder.stage('feature_hasher', op.inputs, [op.output], attributes, place);
}
