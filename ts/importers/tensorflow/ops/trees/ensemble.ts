// Reads a TreeEnsemble, as written by BoostedTreesSerializeEnsemble, into the lists that Serval's
// operator expects. Importer's worker thread; pure. Source:
// tensorflow/core/kernels/boosted_trees/boosted_trees.proto (2.8).
import {
  TREE_ENSEMBLE,
  TREE,
  NODE,
  BUCKETIZED_SPLIT,
  LEAF,
  VECTOR,
} from '../../../../protobuf/generated/boosted-trees-fields.js';
import { ServalError, modelInvalid } from '../../../../base/errors.js';
import { TREE_NODES_MAX } from '../../../../base/limits.js';
import { WireReader } from '../../../../protobuf/reader.js';

/** Nodes of all trees, concatenated. Child indices are relative to their tree. */
export interface Ensemble {
  readonly treeSizes: number[];
  readonly treeWeights: number[];
  /** By node: 0 a leaf, 1 a split by "at most", 2 a split by "equal". */
  readonly kinds: number[];
  readonly features: number[];
  readonly dimensions: number[];
  readonly values: number[];
  readonly lefts: number[];
  readonly rights: number[];
  /** The values of each leaf. */
  readonly leaves: (readonly number[])[];
}

/**
 * Errors: ModelInvalid: bytes that are not such a message, more than TREE_NODES_MAX nodes, trees
 * without weights; nodes and leaves of kinds that TensorFlow's own operator does not serve.
 */
export function readEnsemble(bytes: Uint8Array): Ensemble {
  const made = emptyEnsemble();
  const reader = new WireReader(bytes, 'TreeEnsemble');
  while (reader.next()) {
    if (reader.field === TREE_ENSEMBLE.trees) readTree(reader.nested('Tree'), made);
    else if (reader.field === TREE_ENSEMBLE.treeWeights) readFloats(reader, made.treeWeights);
    else reader.skip();
  }
  const [trees, weights] = [made.treeSizes.length, made.treeWeights.length];
  if (trees !== weights)
    throw invalid(`expected a weight for each of ${trees} trees, got ${weights}`);
  return made;
}

function emptyEnsemble(): Ensemble {
  return {
    treeSizes: [],
    treeWeights: [],
    kinds: [],
    features: [],
    dimensions: [],
    values: [],
    lefts: [],
    rights: [],
    leaves: [],
  };
}

function readTree(reader: WireReader, made: Ensemble): void {
  const before = made.kinds.length;
  while (reader.next()) {
    if (reader.field === TREE.nodes) readNode(reader.nested('Node'), made);
    else reader.skip();
  }
  if (made.kinds.length === before) throw invalid(`tree ${made.treeSizes.length} has no nodes`);
  made.treeSizes.push(made.kinds.length - before);
}

interface Split {
  feature: number;
  value: number;
  left: number;
  right: number;
  dimension: number;
}

function readNode(reader: WireReader, made: Ensemble): void {
  let kind: number | undefined;
  let leaf: readonly number[] | undefined;
  let split: Split = { feature: 0, value: 0, left: 0, right: 0, dimension: 0 };
  while (reader.next()) {
    const { field } = reader;
    if (field === NODE.leaf) {
      kind = 0;
      leaf = readLeaf(reader.nested('Leaf'));
    } else if (field === NODE.bucketizedSplit || field === NODE.categoricalSplit) {
      kind = field === NODE.bucketizedSplit ? 1 : 2;
      split = readSplit(reader.nested('a split'));
    } else if (field === NODE.denseSplit) {
      throw invalid('a node of kind DenseSplit, which no TensorFlow operator supports');
    } else {
      reader.skip();
    }
  }
  if (kind === undefined) throw invalid(`node ${made.kinds.length} has no kind`);
  if (made.kinds.length >= TREE_NODES_MAX) throw invalid(`more than ${TREE_NODES_MAX} nodes`);
  if (kind === 0) made.leaves.push(leaf ?? []);
  made.kinds.push(kind);
  made.features.push(split.feature);
  made.dimensions.push(split.dimension);
  made.values.push(split.value);
  made.lefts.push(split.left);
  made.rights.push(split.right);
}

/** BucketizedSplit or CategoricalSplit. The direction of missing values is for training only. */
function readSplit(reader: WireReader): Split {
  const split: Split = { feature: 0, value: 0, left: 0, right: 0, dimension: 0 };
  while (reader.next()) {
    switch (reader.field) {
      case BUCKETIZED_SPLIT.featureId:
        split.feature = int32(reader);
        break;
      case BUCKETIZED_SPLIT.threshold:
        split.value = int32(reader);
        break;
      case BUCKETIZED_SPLIT.leftId:
        split.left = int32(reader);
        break;
      case BUCKETIZED_SPLIT.rightId:
        split.right = int32(reader);
        break;
      case BUCKETIZED_SPLIT.dimensionId:
        split.dimension = int32(reader);
        break;
      default:
        reader.skip();
    }
  }
  return split;
}

function readLeaf(reader: WireReader): readonly number[] {
  let scalar = 0;
  let vector: number[] | undefined;
  while (reader.next()) {
    if (reader.field === LEAF.vector) {
      vector = [];
      const values = reader.nested('Vector');
      while (values.next()) {
        if (values.field === VECTOR.value) readFloats(values, vector);
        else values.skip();
      }
    } else if (reader.field === LEAF.sparseVector) {
      throw invalid('a leaf of sparse values, which no TensorFlow operator supports');
    } else if (reader.field === LEAF.scalar) {
      const [value = 0] = floatsOf(reader.fixed(4));
      scalar = value;
    } else {
      reader.skip();
    }
  }
  return vector ?? [scalar];
}

function int32(reader: WireReader): number {
  reader.varint();
  return reader.low | 0;
}

function readFloats(reader: WireReader, into: number[]): void {
  for (const value of floatsOf(reader.fixed(4))) into.push(value);
}

function floatsOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getFloat32(i * 4, true));
}

const invalid = (text: string): ServalError => modelInvalid('TreeEnsemble', text);
