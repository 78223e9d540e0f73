// Reads CatBoost's own binary files (.cbm): a FlatBuffers table, followed by parts that only models
// with CTRs, texts or embeddings have. Importer's worker thread; pure.
// Source: CatBoost's catboost/libs/model/flatbuffers: model.fbs, features.fbs, ctr_data.fbs;
// model.cpp: TFullModel::Save.
import { FlatTable } from '../../../base/flat-reader.js';
import {
  type CatboostModel,
  type CategoricalFeature,
  checkFlat,
  checkFloat,
  checkLeaves,
  checkOneHot,
  checkScale,
  type ModelInfo,
  refuseHashes,
  refuseFeature,
  splitCount,
} from './model.js';
import { TreeGrower } from './trees.js';

/** The mark of the format, and the length of the table. */
const HEAD_BYTES = 8;
/** CatBoost's own spelling. */
const FORMAT = 'FlabuffersModel_v1';

/** Numbers of the members, from the schema. */
const CORE = { format: 0, trees: 1, info: 2 };
const TREES = {
  dimension: 0,
  splits: 1,
  sizes: 2,
  starts: 3,
  categoricals: 4,
  floats: 5,
  oneHots: 6,
  ctrs: 7,
  leaves: 8,
  weights: 9,
  steps: 10,
  leafIds: 11,
  texts: 12,
  estimated: 13,
  scale: 14,
  bias: 15,
  biases: 16,
  embeddings: 18,
};
const FLOAT = { hasMissing: 0, index: 1, flat: 2, borders: 3, name: 4, missing: 5 };
/** Members of categorical, text and embedding features. */
const FEATURE = { index: 0, flat: 1, name: 2 };
const ONE_HOT = { index: 0, hashes: 1, texts: 2 };
const CTR = { ctr: 0, base: 0, combination: 0, features: 0 };
const PAIR = { key: 0, value: 1 };
/** ENanValueTreatment. */
const MISSING_PASSES = 2;

/** Errors: RangeError saying what of it is broken, or not supported. */
export function readCbm(bytes: Uint8Array): CatboostModel {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const size = bytes.length < HEAD_BYTES ? 0 : view.getUint32(4, true);
  if (size === 0 || size > bytes.length - HEAD_BYTES) {
    const left = Math.max(0, bytes.length - HEAD_BYTES);
    throw new RangeError(`byte 4: expected ${size} bytes of trees, got ${left}: it is truncated`);
  }
  const core = FlatTable.root(bytes.subarray(HEAD_BYTES, HEAD_BYTES + size), HEAD_BYTES);
  const format = core.text(CORE.format);
  if (format !== FORMAT) {
    throw new RangeError(`expected the format '${FORMAT}', got '${format.slice(0, 40)}'`);
  }
  const trees = core.table(CORE.trees);
  if (trees === undefined) throw new RangeError('expected trees, got none');
  const info = new Map(
    core.tables(CORE.info).map((pair) => [pair.text(PAIR.key), pair.text(PAIR.value)]),
  );
  return modelOf(trees, info);
}

function modelOf(table: FlatTable, info: ModelInfo): CatboostModel {
  const categoricals = table.tables(TREES.categoricals).map(categoricalOf);
  refuseOthers(table, categoricals);
  const floats = table.tables(TREES.floats).map((feature) => {
    const flat = feature.int(FLOAT.flat, -1);
    return checkFloat({
      index: feature.int(FLOAT.index, -1),
      flat,
      name: feature.text(FLOAT.name) || String(flat),
      borders: feature.floats(FLOAT.borders),
      passesMissing:
        feature.byte(FLOAT.hasMissing, 0) !== 0 &&
        feature.byte(FLOAT.missing, 0) === MISSING_PASSES,
    });
  });
  const oneHots = table.tables(TREES.oneHots).map((feature) =>
    checkOneHot({
      index: feature.int(ONE_HOT.index, -1),
      hashes: feature.ints(ONE_HOT.hashes),
      texts: feature.texts(ONE_HOT.texts),
    }),
  );
  const width = table.int(TREES.dimension, 0);
  const leaves = checkLeaves(table.doubles(TREES.leaves), width);
  const biases = Array.from(table.doubles(TREES.biases));
  const bias =
    biases.length > 0 ? biases : new Array<number>(width).fill(table.double(TREES.bias, 0));
  const scale = table.double(TREES.scale, 1);
  checkScale(scale, bias, width);
  const grower = new TreeGrower(splitCount({ floats, oneHots, ctrs: [] }));
  growTrees(grower, table, leaves.length / width, width);
  const weights = table.doubles(TREES.weights);
  return {
    ...(weights.length === leaves.length / width ? { covers: weights } : {}),
    ...{ floats, categoricals, oneHots, ctrs: [], words: new Map<number, string>() },
    ...{ trees: grower, leaves, width, scale, bias, info },
  };
}

function categoricalOf(feature: FlatTable): CategoricalFeature {
  const flat = feature.int(FEATURE.flat, -1);
  const name = feature.text(FEATURE.name) || String(flat);
  checkFlat(flat, name);
  return { index: feature.int(FEATURE.index, -1), flat, name };
}

/** Errors: RangeError: always, if the model has features that plans cannot compute. */
function refuseOthers(table: FlatTable, categoricals: readonly CategoricalFeature[]): void {
  const nameOf = (feature: FlatTable): string =>
    feature.text(FEATURE.name) || String(feature.int(FEATURE.flat, -1));
  const [text] = table.tables(TREES.texts);
  if (text !== undefined) refuseFeature('text', nameOf(text));
  const [embedding] = table.tables(TREES.embeddings);
  if (embedding !== undefined) refuseFeature('embedding', nameOf(embedding));
  if (table.tables(TREES.estimated).length > 0) {
    throw new RangeError('features that are estimated from texts or embeddings are not supported');
  }
  const ctrs = table.tables(TREES.ctrs);
  if (ctrs.length === 0) return;
  const features = ctrs.flatMap((ctr) => {
    const combination = ctr.table(CTR.ctr)?.table(CTR.base)?.table(CTR.combination);
    return Array.from(combination?.ints(CTR.features) ?? []);
  });
  refuseHashes(features, categoricals);
}

function growTrees(grower: TreeGrower, table: FlatTable, leaves: number, width: number): void {
  const splits = table.ints(TREES.splits);
  const sizes = table.ints(TREES.sizes);
  const starts = table.ints(TREES.starts);
  const steps = table.shorts(TREES.steps, 2);
  const leafIds = table.uints(TREES.leafIds);
  const isSymmetric = steps.length === 0;
  if (!isSymmetric && (steps.length !== 2 * splits.length || leafIds.length !== splits.length)) {
    throw new RangeError(
      `expected a step and a leaf for each of ${splits.length} nodes, got ${steps.length / 2} ` +
        `steps and ${leafIds.length} leaves`,
    );
  }
  let [start, leaf] = [0, 0];
  sizes.forEach((size, tree) => {
    const isWithin = size >= (isSymmetric ? 0 : 1) && size <= splits.length - start;
    if (!isWithin || (starts.length > 0 && starts[tree] !== start)) {
      const from = starts[tree] ?? start;
      throw new RangeError(
        `tree ${tree}: ${size} splits from ${from} are not the next of ${splits.length} splits`,
      );
    }
    if (isSymmetric) leaf += grower.symmetric(splits.subarray(start, start + size), leaf);
    else growNodes(grower, { splits, steps, leafIds, start, end: start + size, leaves, width });
    start += size;
  });
  if (isSymmetric && leaf !== leaves) {
    throw new RangeError(`expected ${leaf} leaves for ${sizes.length} trees, got ${leaves}`);
  }
}

interface StepNodes {
  readonly splits: Int32Array;
  /** The distances to the left and to the right child of each node; 0: the node's own leaf. */
  readonly steps: Uint16Array;
  /** By node: the first value of its leaf among the values. */
  readonly leafIds: Uint32Array;
  /** The tree's nodes. */
  readonly start: number;
  readonly end: number;
  readonly leaves: number;
  readonly width: number;
}

function growNodes(grower: TreeGrower, nodes: StepNodes): void {
  const { splits, steps, leafIds, start, end } = nodes;
  const leafOf = (node: number): number => {
    const leaf = (leafIds[node] ?? -1) / nodes.width;
    if (Number.isInteger(leaf) && leaf >= 0 && leaf < nodes.leaves) return ~leaf;
    throw new RangeError(`${grower.place}: node ${node - start}: its leaf does not exist`);
  };
  const isLeaf = (node: number): boolean => steps[2 * node] === 0 && steps[2 * node + 1] === 0;
  const numbers = new Map<number, number>();
  for (let node = start; node < end; node += 1) {
    if (!isLeaf(node)) numbers.set(node, grower.node(splits[node] ?? -1));
  }
  const parents = new Uint8Array(end - start);
  const childOf = (node: number, step: number): number => {
    const child = node + step;
    if (step === 0) return leafOf(node);
    if (child >= end || parents[child - start] !== 0) {
      throw new RangeError(
        `${grower.place}: node ${node - start}: its child ${child - start} is not part of exactly ` +
          'one branch',
      );
    }
    parents[child - start] = 1;
    return numbers.get(child) ?? leafOf(child);
  };
  for (const [node, number] of numbers) {
    grower.left[number] = childOf(node, steps[2 * node] ?? 0);
    grower.right[number] = childOf(node, steps[2 * node + 1] ?? 0);
  }
  const lost = parents.indexOf(0, 1);
  if (lost >= 0) throw new RangeError(`${grower.place}: node ${lost} has no parent`);
  grower.roots.push(numbers.get(start) ?? leafOf(start));
}
