// Reads the trees of Yggdrasil Decision Forests: nodes in depth-first order, each a message in a
// sequence of blobs, over one or more files. Importer's worker thread; pure. Source: YDF's
// utils/blob_sequence.h, model/decision_tree/decision_tree.proto, decision_tree_io.cc.
import { gunzipSync } from 'node:zlib';
import {
  ARCHIVE_RATIO_FROM_BYTES,
  ARCHIVE_RATIO_MAX,
  BOOSTER_BYTES_MAX,
  TREE_NODES_MAX,
} from '../../base/limits.js';
import {
  CONDITION,
  CONTAINS_BITMAP_CONDITION,
  CONTAINS_CONDITION,
  DISCRETIZED_HIGHER_CONDITION,
  HIGHER_CONDITION,
  INTEGER_DISTRIBUTION,
  NODE,
  NODE_ANOMALY_DETECTION_OUTPUT,
  NODE_CLASSIFIER_OUTPUT,
  NODE_CONDITION,
  NODE_REGRESSOR_OUTPUT,
  OBLIQUE_CONDITION,
} from '../../protobuf/generated/yggdrasil-fields.js';
import { WireReader } from '../../protobuf/reader.js';
import { doubles, float, floats, int32s } from './messages.js';

/** A value passes if this is true of it. */
export type ConditionTest =
  | { readonly kind: 'missing' | 'true' }
  | { readonly kind: 'higher'; readonly threshold: number }
  | { readonly kind: 'bin'; readonly threshold: number }
  | { readonly kind: 'elements'; readonly elements: readonly number[] }
  | { readonly kind: 'bitmap'; readonly bitmap: Uint8Array }
  | ObliqueTest;

export interface ObliqueTest {
  readonly kind: 'oblique';
  readonly attributes: readonly number[];
  readonly weights: readonly number[];
  readonly threshold: number;
  /** Empty: a missing value makes the condition missing. */
  readonly replacements: readonly number[];
}

/** Errors: RangeError: lists of different lengths. */
export function checkOblique({ attributes, weights, replacements }: ObliqueTest): void {
  const { length } = attributes;
  const isReplaced = replacements.length === length || replacements.length === 0;
  if (length > 0 && weights.length === length && isReplaced) return;
  throw new RangeError(
    `an oblique condition has ${length} attributes, ${weights.length} weights and ` +
      `${replacements.length} na_replacements`,
  );
}

export interface NodeCondition {
  readonly attribute: number;
  /** Whether a missing value passes. */
  readonly passesMissing: boolean;
  readonly test: ConditionTest;
}

/** Training rows that reached a node, and those that passed; undefined: the file does not say. */
interface Reached {
  readonly rows?: number;
  readonly passed?: number;
}

/** The output of a leaf: the members of the model's own kind are set. */
export interface Leaf {
  readonly top?: number;
  readonly counts?: readonly number[];
  readonly sum?: number;
  readonly value?: number;
  readonly rows?: number;
}

/** Nodes of all trees. A child below 0 is the leaf ~child. */
export interface GrownTrees {
  readonly conditions: readonly NodeCondition[];
  /** The child of rows that pass the condition, and the one of the others. */
  readonly passed: readonly number[];
  readonly failed: readonly number[];
  readonly roots: readonly number[];
  /** The first node and the first leaf of each tree, and the end of the last. */
  readonly nodeStarts: readonly number[];
  readonly leafStarts: readonly number[];
  /** By leaf: the count of training rows that reached it; NaN: the file does not say. */
  readonly covers: readonly number[];
}

/** The greatest count of leaves of a tree. */
export function widestOf({ leafStarts }: GrownTrees): number {
  let widest = 0;
  leafStarts.forEach((start, i) => {
    widest = Math.max(widest, start - (leafStarts[i - 1] ?? start));
  });
  return widest;
}

/** Every tree of which `isWanted` is true of its number. */
export function someTrees(
  trees: GrownTrees,
  isWanted: (tree: number) => boolean,
): { readonly trees: GrownTrees; readonly leaves: readonly number[] } {
  const made: { [Part in keyof GrownTrees]: GrownTrees[Part][number][] } = {
    ...{ conditions: [], passed: [], failed: [], roots: [], nodeStarts: [0], leafStarts: [0] },
    covers: [],
  };
  const leaves: number[] = [];
  trees.roots.forEach((root, tree) => {
    if (!isWanted(tree)) return;
    const [node = 0, nodesEnd = 0] = trees.nodeStarts.slice(tree, tree + 2);
    const [leaf = 0, leavesEnd = 0] = trees.leafStarts.slice(tree, tree + 2);
    const [nodeBase, leafBase] = [made.conditions.length - node, leaves.length - leaf];
    const moved = (child: number): number => (child < 0 ? ~(~child + leafBase) : child + nodeBase);
    made.roots.push(moved(root));
    for (let at = node; at < nodesEnd; at += 1) {
      const condition = trees.conditions[at];
      if (condition === undefined) continue;
      made.conditions.push(condition);
      made.passed.push(moved(trees.passed[at] ?? 0));
      made.failed.push(moved(trees.failed[at] ?? 0));
    }
    for (let at = leaf; at < leavesEnd; at += 1) {
      leaves.push(at);
      made.covers.push(trees.covers[at] ?? Number.NaN);
    }
    made.nodeStarts.push(made.conditions.length);
    made.leafStarts.push(leaves.length);
  });
  return { trees: made, leaves };
}

const HEADER_BYTES = 8;
const LENGTH_BYTES = 4;
const MAGIC = 'BS';
const VERSION_MAX = 1;
const GZIP = 1;

/**
 * The blobs of a file. Errors: RangeError: no such file, a version or a compression that is not
 * known, a blob that is cut, data that is damaged or inflates to too much.
 */
export function* blobsOf(bytes: Uint8Array): Generator<Uint8Array> {
  const front = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < HEADER_BYTES || front.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new RangeError(`expected a sequence of blobs ('${MAGIC}')`);
  }
  const version = front.readUInt16LE(2);
  if (version > VERSION_MAX) {
    throw new RangeError(`version ${version} of blob sequences is not supported`);
  }
  const compression = version === 0 ? 0 : front.readUInt8(4);
  if (compression > GZIP) {
    throw new RangeError(`compression ${compression} of blob sequences is not supported`);
  }
  const content = front.subarray(HEADER_BYTES);
  const data = compression === GZIP ? inflated(content) : content;
  for (let at = 0; at < data.length; ) {
    const place = `byte ${at + HEADER_BYTES}`;
    if (at + LENGTH_BYTES > data.length) throw new RangeError(`${place}: a blob's length is cut`);
    const length = data.readUInt32LE(at);
    at += LENGTH_BYTES;
    if (length > data.length - at) {
      const left = data.length - at;
      throw new RangeError(`${place}: a blob has ${length} bytes, but only ${left} remain`);
    }
    yield data.subarray(at, at + length);
    at += length;
  }
}

function inflated(content: Buffer): Buffer {
  const most = Math.max(ARCHIVE_RATIO_FROM_BYTES, content.length * ARCHIVE_RATIO_MAX);
  try {
    return gunzipSync(content, { maxOutputLength: Math.min(most, BOOSTER_BYTES_MAX) });
  } catch (error) {
    throw new RangeError(`the gzip data is damaged or too large: ${(error as Error).message}`);
  }
}

/** A child that is not read yet, with its depth. */
interface Open {
  readonly parent: number;
  readonly passed: boolean;
  readonly depth: number;
  /** Training rows of the child. */
  readonly rows: number;
}

/**
 * Reads `count` trees. `addLeaf` receives each leaf, in their order, with its depth. Errors:
 * RangeError: the nodes end inside a tree, go on after the last one, or are too many; ServalError:
 * a node is no such message.
 */
export function readTrees(
  blobs: Iterable<Uint8Array>,
  count: number,
  addLeaf: (leaf: Leaf, depth: number) => void,
): GrownTrees {
  const conditions: NodeCondition[] = [];
  const [passed, failed, roots]: [number[], number[], number[]] = [[], [], []];
  const open: Open[] = [];
  const [nodeStarts, leafStarts] = [[0], [0]];
  const covers: number[] = [];
  let leaves = 0;
  for (const blob of blobs) {
    const tree = `tree ${open.length > 0 ? roots.length - 1 : roots.length}`;
    if (open.length === 0 && roots.length === count) {
      throw new RangeError(`expected ${count} trees, got nodes after them`);
    }
    if (conditions.length + leaves >= TREE_NODES_MAX) {
      throw new RangeError(`expected at most ${TREE_NODES_MAX} nodes, got more`);
    }
    const slot = open.pop();
    const depth = slot?.depth ?? 0;
    const node = readNode(new WireReader(blob, `${tree}: node ${conditions.length + leaves}`));
    const number = node.condition === undefined ? ~leaves : conditions.length;
    if (slot === undefined) roots.push(number);
    else (slot.passed ? passed : failed)[slot.parent] = number;
    if (node.condition === undefined) {
      addLeaf(node.leaf, depth);
      covers.push(node.rows ?? slot?.rows ?? Number.NaN);
      leaves += 1;
    } else {
      conditions.push(node.condition);
      passed.push(0);
      failed.push(0);
      const { rows: all = Number.NaN, passed: some = Number.NaN } = node.reached;
      open.push({ parent: number, passed: true, depth: depth + 1, rows: some });
      open.push({ parent: number, passed: false, depth: depth + 1, rows: all - some });
    }
    if (open.length > 0) continue;
    nodeStarts.push(conditions.length);
    leafStarts.push(leaves);
  }
  if (open.length > 0) throw new RangeError(`the nodes end inside tree ${roots.length - 1}`);
  if (roots.length !== count) throw new RangeError(`expected ${count} trees, got ${roots.length}`);
  return { conditions, passed, failed, roots, nodeStarts, leafStarts, covers };
}

interface ReadNode {
  readonly condition: NodeCondition | undefined;
  readonly leaf: Leaf;
  readonly rows: number | undefined;
  readonly reached: Reached;
}

function readNode(reader: WireReader): ReadNode {
  let condition: NodeCondition | undefined;
  let rows: number | undefined;
  let reached: Reached = {};
  let leaf: Leaf = {};
  while (reader.next()) {
    switch (reader.field) {
      case NODE.condition:
        ({ condition, reached } = readNodeCondition(reader.nested('condition')));
        break;
      case NODE.numPosTrainingExamplesWithoutWeight:
        rows = Number(reader.int64());
        break;
      case NODE.classifier:
        leaf = readClassifier(reader.nested('classifier'));
        break;
      case NODE.regressor:
        leaf = { value: readFloat(reader.nested('regressor'), NODE_REGRESSOR_OUTPUT.topValue) };
        break;
      case NODE.anomalyDetection:
        leaf = { rows: readRows(reader.nested('anomaly_detection')) };
        break;
      default:
        reader.skip();
    }
  }
  return { condition, leaf, rows, reached };
}

function readClassifier(reader: WireReader): Leaf {
  const counts: number[] = [];
  let [top, sum] = [0, 0];
  while (reader.next()) {
    if (reader.field === NODE_CLASSIFIER_OUTPUT.topValue) {
      top = Number(reader.int64());
    } else if (reader.field === NODE_CLASSIFIER_OUTPUT.distribution) {
      const distribution = reader.nested('distribution');
      const sums: number[] = [];
      while (distribution.next()) {
        if (distribution.field === INTEGER_DISTRIBUTION.counts) doubles(distribution, counts);
        else if (distribution.field === INTEGER_DISTRIBUTION.sum) doubles(distribution, sums);
        else distribution.skip();
      }
      sum = sums.at(-1) ?? 0;
    } else {
      reader.skip();
    }
  }
  return { top, counts, sum };
}

/** The only member of a message that is needed. */
function readFloat(reader: WireReader, field: number): number {
  let value = 0;
  while (reader.next()) {
    if (reader.field === field) value = float(reader);
    else reader.skip();
  }
  return value;
}

function readRows(reader: WireReader): number {
  let rows = 0;
  while (reader.next()) {
    if (reader.field === NODE_ANOMALY_DETECTION_OUTPUT.numExamplesWithoutWeight) {
      rows = Number(reader.int64());
    } else {
      reader.skip();
    }
  }
  return rows;
}

function readNodeCondition(reader: WireReader): Pick<ReadNode, 'condition' | 'reached'> {
  let [attribute, passesMissing] = [0, false];
  let reached: Reached = {};
  let test: ConditionTest | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case NODE_CONDITION.naValue:
        passesMissing = reader.number() !== 0;
        break;
      case NODE_CONDITION.attribute:
        attribute = Number(reader.int64());
        break;
      case NODE_CONDITION.condition:
        test = readCondition(reader.nested('condition'));
        break;
      case NODE_CONDITION.numTrainingExamplesWithoutWeight:
        reached = { ...reached, rows: Number(reader.int64()) };
        break;
      case NODE_CONDITION.numPosTrainingExamplesWithoutWeight:
        reached = { ...reached, passed: Number(reader.int64()) };
        break;
      default:
        reader.skip();
    }
  }
  const condition = test === undefined ? undefined : { attribute, passesMissing, test };
  return { condition, reached };
}

/** Errors: RangeError: the condition is of a kind that is not supported. */
function readCondition(reader: WireReader): ConditionTest {
  let test: ConditionTest | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case CONDITION.naCondition:
        test = { kind: 'missing' };
        reader.skip();
        break;
      case CONDITION.trueValueCondition:
        test = { kind: 'true' };
        reader.skip();
        break;
      case CONDITION.higherCondition:
        test = {
          kind: 'higher',
          threshold: readFloat(reader.nested('higher'), HIGHER_CONDITION.threshold),
        };
        break;
      case CONDITION.discretizedHigherCondition:
        test = { kind: 'bin', threshold: readBin(reader.nested('discretized_higher')) };
        break;
      case CONDITION.containsCondition:
        test = { kind: 'elements', elements: readElements(reader.nested('contains')) };
        break;
      case CONDITION.containsBitmapCondition:
        test = { kind: 'bitmap', bitmap: readBitmap(reader.nested('contains_bitmap')) };
        break;
      case CONDITION.obliqueCondition:
        test = readOblique(reader.nested('oblique'));
        break;
      case CONDITION.numericalVectorSequence:
        throw new RangeError('conditions on sequences of vectors are not supported');
      default:
        throw new RangeError(`conditions of kind ${reader.field} are not supported`);
    }
  }
  if (test === undefined) throw new RangeError('a condition has no kind');
  return test;
}

function readBin(reader: WireReader): number {
  let threshold = 0;
  while (reader.next()) {
    if (reader.field === DISCRETIZED_HIGHER_CONDITION.threshold) threshold = Number(reader.int64());
    else reader.skip();
  }
  return threshold;
}

function readElements(reader: WireReader): readonly number[] {
  const elements: number[] = [];
  while (reader.next()) {
    if (reader.field === CONTAINS_CONDITION.elements) int32s(reader, elements);
    else reader.skip();
  }
  return elements;
}

function readBitmap(reader: WireReader): Uint8Array {
  let bitmap: Uint8Array = new Uint8Array(0);
  while (reader.next()) {
    if (reader.field === CONTAINS_BITMAP_CONDITION.elementsBitmap) bitmap = reader.view();
    else reader.skip();
  }
  return bitmap;
}

function readOblique(reader: WireReader): ObliqueTest {
  const [attributes, weights, replacements]: [number[], number[], number[]] = [[], [], []];
  let threshold = 0;
  while (reader.next()) {
    if (reader.field === OBLIQUE_CONDITION.attributes) int32s(reader, attributes);
    else if (reader.field === OBLIQUE_CONDITION.weights) floats(reader, weights);
    else if (reader.field === OBLIQUE_CONDITION.naReplacements) floats(reader, replacements);
    else if (reader.field === OBLIQUE_CONDITION.threshold) threshold = float(reader);
    else reader.skip();
  }
  return { kind: 'oblique', attributes, weights, threshold, replacements };
}
