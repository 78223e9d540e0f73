// Operators that make vectors of columns, and vectors of vectors. A Vector input may also be a List
// of numbers. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { HandleInvalid } from './common.js';

interface OneColumn {
  readonly input: Column;
  readonly output: Column;
}

/**
 * Index -> sparse Vector with a 1. `size`: the categories that were seen. 'keep' gives all others
 * one more slot, dropLast takes the last slot away (both: `size` slots). 'zeros' (Spark 2's
 * OneHotEncoder, a transformer): indices beyond give an all-zero vector. Missing stays missing.
 */
export function oneHotEncoder(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly size: number;
    readonly dropLast: boolean;
    readonly handleInvalid: HandleInvalid | 'zeros';
  },
  place: string,
): void {
  const { size, dropLast, handleInvalid } = op;
  const invalid = handleInvalid === 'skip' ? 'error' : handleInvalid;
  builder.stage('one_hot', [op.input], [op.output], { size, dropLast, invalid }, place);
}

/**
 * Numbers, Booleans and Vectors side by side -> Vector. 'error': a missing value or a number that
 * is NaN is refused; 'keep': a missing one becomes NaNs, `sizes[i]` of them (1 of a scalar; where a
 * vector's size is unknown, 0, it is refused), NaN passes; 'nan' (MLeap): NaN passes, missing is
 * refused. `sizes` where they are known are checked.
 */
export function vectorAssembler(
  builder: PlanBuilder,
  op: {
    readonly inputs: readonly Column[];
    readonly output: Column;
    readonly handleInvalid: HandleInvalid | 'nan';
    readonly sizes?: Int32Array | undefined;
  },
  place: string,
): void {
  const invalid = op.handleInvalid === 'skip' ? 'error' : op.handleInvalid;
  const attributes = { invalid, sizes: op.sizes };
  builder.stage('vector_assembler', op.inputs, [op.output], attributes, place);
}

/** The values of a Vector at `indices`, in that order. Also the selectors. */
export function vectorSlicer(
  builder: PlanBuilder,
  op: OneColumn & { readonly indices: Int32Array },
  place: string,
): void {
  builder.stage('vector_slicer', [op.input], [op.output], { indices: op.indices }, place);
}

/** The value of a Vector at `index` -> Double. */
export function vectorElement(
  builder: PlanBuilder,
  op: OneColumn & { readonly index: number },
  place: string,
): void {
  builder.stage('vector_element', [op.input], [op.output], { index: op.index }, place);
}

/** One categorical feature: values[k] becomes indices[k]. */
export interface CategoryMap {
  readonly feature: number;
  readonly values: Float64Array;
  readonly indices: Int32Array;
}

/** 'keep': an unseen value becomes the number of the feature's categories. */
export function vectorIndexer(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly numFeatures: number;
    readonly maps: readonly CategoryMap[];
    readonly handleInvalid: HandleInvalid;
  },
  place: string,
): void {
  const maps = [...op.maps].sort((a, b) => a.feature - b.feature);
  const attributes = {
    size: op.numFeatures,
    keep: op.handleInvalid === 'keep',
    features: Int32Array.from(maps, (map) => map.feature),
    counts: Int32Array.from(maps, (map) => map.values.length),
    values: Float64Array.from(maps.flatMap((map) => [...map.values])),
    indices: Int32Array.from(maps.flatMap((map) => [...map.indices])),
  };
  builder.stage('vector_indexer', [op.input], [op.output], attributes, place);
}

/** The same Vector; one that is missing or of another size is refused ('optimistic': is not). */
export function vectorSizeHint(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly size: number;
    readonly handleInvalid: 'error' | 'skip' | 'optimistic';
  },
  place: string,
): void {
  const attributes = { size: op.size, check: op.handleInvalid !== 'optimistic' };
  builder.stage('vector_size_hint', [op.input], [op.output], attributes, place);
}

/**
 * All products of one value of each input -> Vector; the last input's index runs fastest.
 * numFeatures[i]: for each value of input i, how many values it stands for: 1 = itself, more = an
 * index to one-hot encode. Left out: all of them numbers, as many as there are.
 */
export function interaction(
  builder: PlanBuilder,
  op: {
    readonly inputs: readonly Column[];
    readonly output: Column;
    readonly numFeatures?: readonly (Int32Array | undefined)[] | undefined;
  },
  place: string,
): void {
  const known = op.inputs.map((_, i) => op.numFeatures?.[i] ?? new Int32Array());
  const attributes = {
    counts: Int32Array.from(known, (one) => one.length),
    features: Int32Array.from(known.flatMap((one) => [...one])),
  };
  builder.stage('interaction', op.inputs, [op.output], attributes, place);
}

/** All products of up to `degree` values of a Vector, in Spark's order: x, x², y, xy, y² ... */
export function polynomialExpansion(
  builder: PlanBuilder,
  op: OneColumn & { readonly degree: number },
  place: string,
): void {
  builder.stage('polynomial_expansion', [op.input], [op.output], { degree: op.degree }, place);
}

/** x[indices[0]] ** powers[0] * x[indices[1]] ** powers[1] ... */
export interface FeatureProduct {
  readonly indices: Int32Array;
  readonly powers: Int32Array;
}

/** MLeap's sklearn_polynomial_expansion: Vector -> Vector, one value for each product. */
export function featureProducts(
  builder: PlanBuilder,
  op: OneColumn & { readonly products: readonly FeatureProduct[] },
  place: string,
): void {
  const attributes = {
    counts: Int32Array.from(op.products, (one) => one.indices.length),
    indices: Int32Array.from(op.products.flatMap((one) => [...one.indices])),
    powers: Int32Array.from(op.products.flatMap((one) => [...one.powers])),
  };
  builder.stage('feature_products', [op.input], [op.output], attributes, place);
}

/** Discrete cosine transform (II, orthonormal) of a Vector, or its inverse. */
export function dct(
  builder: PlanBuilder,
  op: OneColumn & { readonly inverse: boolean },
  place: string,
): void {
  builder.stage('dct', [op.input], [op.output], { inverse: op.inverse }, place);
}

/** `components`: [features, k], column by column (a principal component after the other). */
export function pca(
  builder: PlanBuilder,
  op: OneColumn & { readonly components: Float64Array; readonly k: number },
  place: string,
): void {
  const attributes = { components: op.components, k: op.k };
  builder.stage('pca', [op.input], [op.output], attributes, place);
}

/**
 * Hash of a random projection: floor(v · x / bucketLength) for each of `vectors` [tables,
 * features].
 */
export function bucketedRandomProjectionLsh(
  builder: PlanBuilder,
  op: OneColumn & {
    readonly vectors: Float64Array;
    readonly tables: number;
    readonly bucketLength: number;
    /** MLeap and Spark 2: divided by the length; else multiplied by its inverse. */
    readonly divide?: boolean | undefined;
  },
  place: string,
): void {
  const attributes = {
    vectors: op.vectors,
    tables: op.tables,
    bucketLength: { real: op.bucketLength },
    divide: op.divide,
  };
  builder.stage('random_projection_lsh', [op.input], [op.output], attributes, place);
}

/** min over the non-zero features i of ((1 + i) a + b) mod 2038074743, for each (a, b). */
export function minHashLsh(
  builder: PlanBuilder,
  op: OneColumn & { readonly a: Int32Array; readonly b: Int32Array },
  place: string,
): void {
  builder.stage('min_hash_lsh', [op.input], [op.output], { a: op.a, b: op.b }, place);
}
