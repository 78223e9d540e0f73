// Ops that make vectors, or vectors of vectors. Importer's worker thread.
// Source: tabular.md 4.2, 10
import * as ops from '../../plan/ops/index.js';
import { feature, type Op, type OpNode, typeOfShape, vectorOf } from '../node.js';

/** Input and output of one size. */
function same(node: OpNode, size?: number) {
  const as = vectorOf(size ?? node.frame.sizeOf(node.inputName('input')));
  return { input: node.input(as, 'input'), output: node.output(as, 'output') };
}

function vectorAssembler(node: OpNode): void {
  const { attributes, frame } = node;
  const shapes = attributes.shapes('input_shapes');
  const names = node.numbered('input');
  const inputs = names.map((name, i) => frame.input(name, typeOfShape(shapes[i])));
  const sizes = names.map((name) =>
    frame.typeOf(name) === 'vector' ? (frame.sizeOf(name) ?? 0) : 1,
  );
  const total = sizes.includes(0) ? undefined : sizes.reduce((sum, size) => sum + size, 0);
  const output = node.output(vectorOf(total), 'output');
  const op = { inputs, output, handleInvalid: 'nan', sizes: Int32Array.from(sizes) } as const;
  ops.vectorAssembler(node.builder, op, node.place);
}

function standardScaler(node: OpNode): void {
  const { attributes } = node;
  const mean = attributes.optionalNumbers('mean');
  const std = attributes.optionalNumbers('std');
  const op = { ...same(node, (mean ?? std)?.length), mean, ...(std === undefined ? {} : { std }) };
  ops.standardScaler(node.builder, op, node.place);
}

function minMaxScaler(node: OpNode): void {
  const { attributes } = node;
  const originalMin = attributes.numbers('min');
  const op = {
    ...same(node, originalMin.length),
    originalMin,
    originalMax: attributes.numbers('max'),
    min: attributes.number('minValue', 0),
    max: attributes.number('maxValue', 1),
  };
  ops.minMaxScaler(node.builder, op, node.place);
}

function maxAbsScaler(node: OpNode): void {
  const maxAbs = node.attributes.numbers('maxAbs');
  ops.maxAbsScaler(node.builder, { ...same(node, maxAbs.length), maxAbs, clamp: true }, node.place);
}

function elementwiseProduct(node: OpNode): void {
  const scaling = node.attributes.numbers('scaling_vec');
  ops.elementwiseProduct(node.builder, { ...same(node, scaling.length), scaling }, node.place);
}

function idf(node: OpNode): void {
  const weights = node.attributes.numbers('idf');
  ops.idf(node.builder, { ...same(node, weights.length), idf: weights }, node.place);
}

function inputSize(node: OpNode): number | undefined {
  return node.attributes.has('input_size') ? node.attributes.integer('input_size') : undefined;
}

function normalizer(node: OpNode): void {
  const written = node.attributes.number('p_norm', 2);
  // JSON has no infinity, which is the one norm that it cannot write.
  const p = Number.isNaN(written) ? Number.POSITIVE_INFINITY : written;
  const op = { ...same(node, inputSize(node)), p };
  ops.normalizer(node.builder, op, node.place);
}

function dct(node: OpNode): void {
  const op = { ...same(node, inputSize(node)), inverse: node.attributes.flag('inverse', false) };
  ops.dct(node.builder, op, node.place);
}

function polynomialExpansion(node: OpNode): void {
  const input = node.input(vectorOf(inputSize(node)), 'input');
  const output = node.output(vectorOf(), 'output');
  const degree = node.attributes.integer('degree');
  ops.polynomialExpansion(node.builder, { input, output, degree }, node.place);
}

/** "x0,x1,x0^2,x0 x1": terms of each product. */
function featureProducts(node: OpNode): void {
  const combinations = node.attributes.text('combinations').split(',');
  const products = combinations.map((text) => {
    const terms = [...text.matchAll(/x(\d+)(?:\^(\d+))?/g)];
    return {
      indices: Int32Array.from(terms, (term) => Number(term[1])),
      powers: Int32Array.from(terms, (term) => Number(term[2] ?? 1)),
    };
  });
  const input = node.input(vectorOf(), 'input');
  const output = node.output(vectorOf(products.length), 'output');
  ops.featureProducts(node.builder, { input, output, products }, node.place);
}

function pca(node: OpNode): void {
  const { rows, columns, values } = node.attributes.matrix('principal_components');
  const op = {
    input: node.input(vectorOf(rows), 'input'),
    output: node.output(vectorOf(columns), 'output'),
    components: values,
    k: columns,
  };
  ops.pca(node.builder, op, node.place);
}

function slice(node: OpNode, indices: Int32Array): void {
  const input = node.input(vectorOf(inputSize(node)), 'input');
  const output = node.output(vectorOf(indices.length), 'output');
  ops.vectorSlicer(node.builder, { input, output, indices }, node.place);
}

/** The indices of the features that have names, then those without. */
function vectorSlicer(node: OpNode): void {
  const { attributes } = node;
  const named = attributes.has('named_indices') ? [...attributes.integers('named_indices')] : [];
  const plain = attributes.has('indices') ? [...attributes.integers('indices')] : [];
  slice(node, Int32Array.from([...plain, ...named]));
}

function vectorIndexer(node: OpNode): void {
  const { attributes } = node;
  const maps = Array.from(attributes.integers('keys'), (key) => ({
    feature: key,
    values: attributes.numbers(`key_${key}_keys`),
    indices: attributes.integers(`key_${key}_values`),
  }));
  const numFeatures = attributes.integer('num_features');
  const invalid = attributes.text('handle_invalid', 'error');
  const handleInvalid = invalid === 'keep' ? 'keep' : 'error';
  const op = { ...same(node, numFeatures), numFeatures, maps, handleInvalid } as const;
  ops.vectorIndexer(node.builder, op, node.place);
}

function interaction(node: OpNode): void {
  const { attributes } = node;
  const shapes = attributes.shapes('input_shapes');
  const names = node.numbered('input');
  const inputs = names.map((name, i) => node.frame.input(name, typeOfShape(shapes[i])));
  const numFeatures = names.map((_, i) => attributes.integers(`num_features${i}`));
  const output = node.output(vectorOf(), 'output');
  ops.interaction(node.builder, { inputs, output, numFeatures }, node.place);
}

function randomProjectionLsh(node: OpNode): void {
  const { attributes } = node;
  const vectors = attributes.vectors('random_unit_vectors');
  const op = {
    input: node.input(vectorOf(inputSize(node)), 'input'),
    output: node.output(vectorOf(vectors.length), 'output'),
    vectors: joined(vectors),
    tables: vectors.length,
    bucketLength: attributes.number('bucket_length'),
    divide: true,
  };
  ops.bucketedRandomProjectionLsh(node.builder, op, node.place);
}

function minHashLsh(node: OpNode): void {
  const { attributes } = node;
  const a = attributes.integers('random_coefficients_a');
  const b = attributes.integers('random_coefficients_b');
  const input = node.input(vectorOf(inputSize(node)), 'input');
  const output = node.output(vectorOf(a.length), 'output');
  ops.minHashLsh(node.builder, { input, output, a, b }, node.place);
}

/** Concatenates vectors of one size. */
export function joined(vectors: readonly Float64Array[]): Float64Array {
  const size = vectors[0]?.length ?? 0;
  const all = new Float64Array(vectors.length * size);
  vectors.forEach((vector, i) => all.set(vector, i * size));
  return all;
}

export const VECTOR_OPS: Readonly<Record<string, Op>> = {
  bucketed_random_projection_lsh: feature(randomProjectionLsh),
  chi_sq_selector: feature((node) => slice(node, node.attributes.integers('filter_indices'))),
  dct: feature(dct),
  elementwise_product: feature(elementwiseProduct),
  idf: feature(idf),
  interaction: feature(interaction),
  max_abs_scaler: feature(maxAbsScaler),
  min_hash_lsh: feature(minHashLsh),
  min_max_scaler: feature(minMaxScaler),
  normalizer: feature(normalizer),
  pca: feature(pca),
  polynomial_expansion: feature(polynomialExpansion),
  sklearn_polynomial_expansion: feature(featureProducts),
  standard_scaler: feature(standardScaler),
  vector_assembler: feature(vectorAssembler),
  vector_indexer: feature(vectorIndexer),
  vector_slicer: feature(vectorSlicer),
};
