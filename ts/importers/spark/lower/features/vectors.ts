// Spark's stages that assemble and split vectors. Importer's worker thread. Source: tabular.md 5.2,
// 5.3
import {
  bucketedRandomProjectionLsh,
  interaction,
  minHashLsh,
  pca,
  polynomialExpansion,
  vectorAssembler,
  vectorElement,
  vectorIndexer,
  vectorSizeHint,
  vectorSlicer,
} from '../../../plan/ops/vectors.js';
import { integerCell, integersCell, matrixCell, numberCell, numberMap } from '../../read/cells.js';
import { need, StageProblem } from '../../read/problem.js';
import {
  assembled,
  type Attribute,
  type Attributes,
  NUMERIC,
  ofSlots,
  sliced,
  SLOTS_MAX,
  widthOf,
} from '../attributes.js';
import { NUMBER, VECTOR, type Variable } from '../frame.js';
import { type Lower, type Stage } from '../stage.js';
import { handleInvalid, SKIPS } from './strings.js';

/** Values of one row of an Interaction. */
const PRODUCTS_MAX = 100_000_000;

const outputCol = (stage: Stage): string => stage.params.text('outputCol');

const lowerVectorAssembler: Lower = (stage) => {
  const inputs = stage.inputs('inputCols', NUMBER);
  const invalid = handleInvalid(stage);
  const parts = inputs.map((input) => ({
    name: input.name,
    isVector: input.type === 'vector',
    of: input.attributes,
  }));
  // 0: not known. A field may be given as a vector; where a missing one becomes NaN it is a number.
  const sizes = inputs.map((input, i) => {
    if (parts[i]?.isVector === true) return input.attributes.size ?? 0;
    return input.madeBy >= 0 || invalid === 'keep' ? 1 : 0;
  });
  const attributes = assembled(parts);
  vectorAssembler(
    stage.plan,
    {
      inputs: inputs.map(({ column }) => column),
      output: stage.output(outputCol(stage), { type: 'vector', attributes }),
      handleInvalid: invalid,
      sizes: Int32Array.from(sizes),
    },
    stage.place,
  );
};

const lowerVectorSlicer: Lower = (stage) => {
  const { params } = stage;
  const input = stage.input('inputCol', VECTOR);
  const { slots } = input.attributes;
  const named = params.texts('names', []).map((name) => {
    const at = slots?.findIndex((slot) => slot.name === name) ?? -1;
    return need(
      at < 0 ? undefined : at,
      `the model does not contain the index of '${name}' in column '${input.name}'`,
    );
  });
  const indices = Int32Array.from([...params.numbers('indices', []), ...named]);
  slice(stage, input, indices);
};

const lowerSelector: Lower = async (stage) => {
  const input = stage.input('featuresCol', VECTOR, 'features');
  const table = await stage.folder.table();
  const cell = table.column(['selectedFeatures'], 0)[0];
  slice(stage, input, integersCell(cell, 'selectedFeatures').sort());
};

function slice(stage: Stage, input: Variable, indices: Int32Array): void {
  const attributes = sliced(input.attributes, indices);
  vectorSlicer(
    stage.plan,
    {
      input: input.column,
      output: stage.output(outputCol(stage), { type: 'vector', attributes }),
      indices,
    },
    stage.place,
  );
}

/** JPMML's stage for Spark: each value of a vector as a column. */
const lowerVectorDisassembler: Lower = (stage) => {
  const names = stage.params.texts('outputCols');
  const input = stage.input('inputCol', { ...VECTOR, size: names.length });
  for (const [index, name] of names.entries()) {
    const output = stage.output(name, { type: 'double' });
    vectorElement(stage.plan, { input: input.column, output, index }, stage.place);
  }
};

const lowerVectorSizeHint: Lower = (stage) => {
  const size = stage.params.integer('size');
  const input = stage.input('inputCol', { ...VECTOR, size });
  const known = input.attributes.size;
  if (known !== undefined && known !== size) {
    throw new StageProblem(
      `size: expected ${known}, the values of column '${input.name}', got ${size}`,
    );
  }
  const attributes = { ...input.attributes, size };
  const invalid = stage.params.choice(
    'handleInvalid',
    ['error', 'skip', 'optimistic'] as const,
    'error',
  );
  if (invalid === 'skip') stage.warn(SKIPS);
  vectorSizeHint(
    stage.plan,
    {
      input: input.column,
      output: stage.output(input.name, { type: 'vector', attributes }),
      size,
      handleInvalid: invalid,
    },
    stage.place,
  );
};

const lowerInteraction: Lower = (stage) => {
  const inputs = stage.inputs('inputCols', NUMBER);
  const numFeatures = inputs.map((input) => {
    const { scalar, slots } = input.attributes;
    const width = (attribute: Attribute | undefined): number =>
      need(
        widthOf(attribute),
        `the model does not contain the number of categories of column '${input.name}'`,
      );
    if (slots !== undefined) return Int32Array.from(slots, width);
    return input.type === 'vector' || input.madeBy < 0 ? undefined : Int32Array.of(width(scalar));
  });
  const sizes = numFeatures.map((widths) => widths?.reduce((sum, width) => sum + width, 0));
  const size = sizes.reduce<number | undefined>(
    (product, of) => (product === undefined || of === undefined ? undefined : product * of),
    1,
  );
  interaction(
    stage.plan,
    {
      inputs: inputs.map(({ column }) => column),
      output: stage.output(outputCol(stage), {
        type: 'vector',
        attributes: products(size),
      }),
      numFeatures,
    },
    stage.place,
  );
};

function products(size: number | undefined): Attributes {
  if (size === undefined) return {};
  if (size > PRODUCTS_MAX) throw new StageProblem(`${size} products`);
  return size > SLOTS_MAX ? { size } : ofSlots(new Array<Attribute>(size).fill(NUMERIC));
}

const lowerVectorIndexer: Lower = async (stage) => {
  const table = await stage.folder.table();
  const numFeatures = integerCell(table.column(['numFeatures'], 0)[0], 'numFeatures');
  const cell = table.column(['categoryMaps'], 1)[0];
  const maps = numberMap(cell, 'categoryMaps').map(([feature, map]) => {
    const entries = numberMap(map, 'categoryMaps').sort(([a], [b]) => a - b);
    return {
      feature,
      values: Float64Array.from(entries, ([value]) => value),
      indices: Int32Array.from(entries, ([, index]) => numberCell(index, 'categoryMaps')),
    };
  });
  const input = stage.input('inputCol', { ...VECTOR, size: numFeatures });
  const invalid = handleInvalid(stage);
  const counts = new Map(
    maps.map(({ feature, values }) => [feature, values.length + (invalid === 'keep' ? 1 : 0)]),
  );
  const slots = Array.from({ length: numFeatures }, (_, i): Attribute => {
    const count = counts.get(i);
    const name = input.attributes.slots?.[i]?.name;
    const named = name === undefined ? {} : { name };
    if (count === undefined) return { kind: 'numeric', ...named };
    const isBinary = count === 2 && invalid === 'error';
    return isBinary ? { kind: 'binary', ...named } : { kind: 'nominal', count, ...named };
  });
  vectorIndexer(
    stage.plan,
    {
      input: input.column,
      output: stage.output(outputCol(stage), { type: 'vector', attributes: ofSlots(slots) }),
      numFeatures,
      maps,
      handleInvalid: invalid,
    },
    stage.place,
  );
};

const lowerPca: Lower = async (stage) => {
  const table = await stage.folder.table();
  const { rows, columns: k, values } = matrixCell(table.column(['pc'], 0)[0], 'pc');
  const components = new Float64Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < k; column++) {
      components[column * rows + row] = values[row * k + column] ?? 0;
    }
  }
  const input = stage.input('inputCol', { ...VECTOR, size: rows });
  const attributes = { size: k };
  const output = stage.output(outputCol(stage), { type: 'vector', attributes });
  pca(stage.plan, { input: input.column, output, components, k }, stage.place);
};

const lowerPolynomialExpansion: Lower = (stage) => {
  const input = stage.input('inputCol', VECTOR);
  const output = stage.output(outputCol(stage), { type: 'vector' });
  const degree = stage.params.integer('degree', 2);
  polynomialExpansion(stage.plan, { input: input.column, output, degree }, stage.place);
};

const lowerRandomProjection: Lower = async (stage) => {
  const table = await stage.folder.table();
  const vectors = matrixCell(table.column(['randUnitVectors'], 0)[0], 'randUnitVectors');
  const { rows: tables, columns: size } = vectors;
  const input = stage.input('inputCol', { ...VECTOR, size });
  bucketedRandomProjectionLsh(
    stage.plan,
    {
      input: input.column,
      output: stage.output(outputCol(stage), { type: 'vector', attributes: { size: tables } }),
      vectors: vectors.values,
      tables,
      bucketLength: stage.params.number('bucketLength'),
    },
    stage.place,
  );
};

const lowerMinHash: Lower = async (stage) => {
  const table = await stage.folder.table();
  const cell = table.column(['randCoefficients'], 0)[0];
  const pairs = integersCell(cell, 'randCoefficients');
  const input = stage.input('inputCol', VECTOR);
  const a = pairs.filter((_, i) => i % 2 === 0);
  const b = pairs.filter((_, i) => i % 2 === 1);
  if (a.length !== b.length) throw new StageProblem('randCoefficients: expected pairs of numbers');
  const output = stage.output(outputCol(stage), { type: 'vector', attributes: { size: a.length } });
  minHashLsh(stage.plan, { input: input.column, output, a, b }, stage.place);
};

export const VECTOR_STAGES: Readonly<Record<string, Lower>> = {
  VectorAssembler: lowerVectorAssembler,
  VectorSlicer: lowerVectorSlicer,
  ChiSqSelectorModel: lowerSelector,
  UnivariateFeatureSelectorModel: lowerSelector,
  VarianceThresholdSelectorModel: lowerSelector,
  VectorSizeHint: lowerVectorSizeHint,
  'org.jpmml.sparkml.feature.VectorDisassembler': lowerVectorDisassembler,
  Interaction: lowerInteraction,
  VectorIndexerModel: lowerVectorIndexer,
  PCAModel: lowerPca,
  PolynomialExpansion: lowerPolynomialExpansion,
  BucketedRandomProjectionLSHModel: lowerRandomProjection,
  MinHashLSHModel: lowerMinHash,
};
