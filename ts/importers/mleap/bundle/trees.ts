// The files of decision trees and of trees of clusters, each node before its children. Importer's
// worker thread; pure.
// Source: tabular.md 4.1
import {
  TREE_NODE,
  TREE_NODE_INTERNAL,
  SPLIT,
  SPLIT_CATEGORICAL,
  SPLIT_CONTINUOUS,
  CLUSTER_NODE,
  TREE_NODE_LEAF,
} from '../../../protobuf/generated/mleap-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import { TreeTest } from '../../plan/forest.js';
import type { ClusterNode } from '../../plan/ops/index.js';
import { WireReader } from '../../../protobuf/reader.js';
import { parseJson } from './json.js';

/** Children of children; a tree is read without recursion, clusters with. */
const CLUSTER_DEPTH_MAX = 100;

/** One node as its file has it. */
interface FileNode {
  readonly leaf?: readonly number[];
  readonly feature: number;
  readonly threshold: number;
  /** Categories of a categorical split: these go left where isLeft, else right. */
  readonly categories?: readonly number[];
  readonly isLeft: boolean;
}

/** Trees in the form that ts/importers/plan/forest.ts expects, concatenated. */
export class TreeCollector {
  readonly feature: number[] = [];
  readonly threshold: number[] = [];
  readonly left: number[] = [];
  readonly right: number[] = [];
  readonly test: number[] = [];
  readonly roots: number[] = [];
  readonly leaves: number[] = [];
  readonly setOffsets: number[] = [0];
  readonly setMembers: number[] = [];
  /** Values of a leaf. */
  readonly width: number;
  readonly #leafOf: (values: readonly number[]) => readonly number[];

  /** `leafOf`: what is kept of a leaf's values, `width` of them. */
  constructor(width: number, leafOf: (values: readonly number[]) => readonly number[]) {
    this.width = width;
    this.#leafOf = leafOf;
  }

  get leafCount(): number {
    return this.leaves.length / this.width;
  }

  /** Adds the tree of a file. Errors: ModelInvalid naming the file and the node. */
  add(bytes: Uint8Array, format: 'json' | 'pb', file: string): void {
    const nodes = format === 'json' ? jsonNodes(bytes, file) : protoNodes(bytes, file);
    // Positions that receive the next node's number.
    const waiting: { readonly list: number[]; readonly at: number }[] = [];
    const root = { list: this.roots, at: this.roots.length };
    this.roots.push(0);
    waiting.push(root);
    let count = 0;
    for (const node of nodes) {
      const place = waiting.pop();
      if (place === undefined)
        throw modelInvalid(`${file}: node ${count} is after the end of the tree`);
      place.list[place.at] =
        node.leaf === undefined
          ? this.#split(node, file, count)
          : this.#leaf(node.leaf, file, count);
      if (node.leaf === undefined) {
        const at = this.feature.length - 1;
        const [first, second] = node.isLeft ? [this.left, this.right] : [this.right, this.left];
        waiting.push({ list: second, at }, { list: first, at });
      }
      count += 1;
    }
    if (waiting.length > 0) {
      throw modelInvalid(
        `${file}: the tree ends after ${count} nodes: ${waiting.length} are missing`,
      );
    }
  }

  #leaf(values: readonly number[], file: string, count: number): number {
    const kept = this.#leafOf(values);
    if (kept.length !== this.width) {
      throw modelInvalid(
        `${file}: node ${count}: a leaf has ${kept.length} values, expected ${this.width}`,
      );
    }
    for (const value of kept) this.leaves.push(value);
    return ~(this.leafCount - 1);
  }

  #split(node: FileNode, file: string, count: number): number {
    if (!Number.isInteger(node.feature) || node.feature < 0) {
      throw modelInvalid(
        `${file}: node ${count}: feature: expected 0 or more, got ${node.feature}`,
      );
    }
    this.feature.push(node.feature);
    this.left.push(0);
    this.right.push(0);
    if (node.categories === undefined) {
      this.threshold.push(node.threshold);
      this.test.push(TreeTest.LessOrEqual);
    } else {
      this.threshold.push(this.setOffsets.length - 1);
      this.test.push(TreeTest.InSet);
      for (const category of node.categories) this.setMembers.push(category);
      this.setOffsets.push(this.setMembers.length);
    }
    return this.feature.length - 1;
  }
}

function* jsonNodes(bytes: Uint8Array, file: string): Generator<FileNode> {
  let line = 0;
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.subarray(start, end);
    start = end + 1;
    line += 1;
    if (text.length > 1 || (text[0] !== undefined && text[0] > 32))
      yield jsonNode(text, `${file}: line ${line}`);
  }
}

interface JsonNode {
  readonly type?: unknown;
  readonly values?: unknown;
  readonly split?: {
    readonly type?: unknown;
    readonly featureIndex?: unknown;
    readonly threshold?: unknown;
    readonly categories?: unknown;
    readonly isLeft?: unknown;
  };
}

function jsonNode(bytes: Uint8Array, place: string): FileNode {
  const node = parseJson(bytes, place) as JsonNode | null;
  if (node?.type === 'leaf') return leafNode(numbersOf(node.values, place));
  const split = node?.type === 'internal' ? node.split : undefined;
  if (split?.type !== 'continuous' && split?.type !== 'categorical') {
    throw modelInvalid(`${place}: expected a leaf, or a continuous or categorical split`);
  }
  const feature = Number(split.featureIndex);
  if (split.type === 'categorical') {
    const isLeft = split.isLeft === true;
    return { feature, threshold: 0, categories: numbersOf(split.categories, place), isLeft };
  }
  if (typeof split.threshold !== 'number') throw modelInvalid(`${place}: expected a threshold`);
  return { feature, threshold: split.threshold, isLeft: true };
}

const leafNode = (leaf: readonly number[]): FileNode => ({
  leaf,
  feature: 0,
  threshold: 0,
  isLeft: true,
});

function numbersOf(json: unknown, place: string): readonly number[] {
  if (Array.isArray(json) && json.every((each) => typeof each === 'number')) return json;
  throw modelInvalid(`${place}: expected a list of numbers`);
}

/** Messages, each after its 4-byte big-endian length. */
function* frames(bytes: Uint8Array, file: string): Generator<readonly [Uint8Array, number]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const length = at + 4 <= bytes.length ? view.getInt32(at) : -1;
    if (length < 0 || at + 4 + length > bytes.length) {
      throw modelInvalid(`${file}: byte ${at}: a node extends beyond the file`);
    }
    yield [bytes.subarray(at + 4, at + 4 + length), at + 4];
    at += 4 + length;
  }
}

function* protoNodes(bytes: Uint8Array, file: string): Generator<FileNode> {
  for (const [message, at] of frames(bytes, file)) {
    const reader = new WireReader(message, file, at);
    let node: FileNode | undefined;
    while (reader.next()) {
      if (reader.field === TREE_NODE.internal) node = protoInternal(reader.nested(file), file);
      else if (reader.field === TREE_NODE.leaf)
        node = leafNode(protoReals(reader.nested(file), TREE_NODE_LEAF.values));
      else reader.skip();
    }
    if (node === undefined) throw modelInvalid(`${file}: byte ${at}: expected a split or a leaf`);
    yield node;
  }
}

function protoInternal(reader: WireReader, file: string): FileNode {
  let node: FileNode | undefined;
  while (reader.next()) {
    if (reader.field !== TREE_NODE_INTERNAL.split) {
      reader.skip();
      continue;
    }
    const split = reader.nested(file);
    while (split.next()) {
      if (split.field === SPLIT.categorical || split.field === SPLIT.continuous) {
        node = protoSplit(split.nested(file), split.field === SPLIT.categorical);
      } else {
        split.skip();
      }
    }
  }
  if (node === undefined) throw modelInvalid(`${file}: expected a continuous or categorical split`);
  return node;
}

function protoSplit(reader: WireReader, isCategorical: boolean): FileNode {
  let feature = 0;
  let threshold = 0;
  let isLeft = false;
  const categories: number[] = [];
  while (reader.next()) {
    if (reader.field === SPLIT_CATEGORICAL.featureIndex) feature = reader.number();
    else if (isCategorical && reader.field === SPLIT_CATEGORICAL.isLeft)
      isLeft = reader.number() !== 0;
    else if (isCategorical && reader.field === SPLIT_CATEGORICAL.categories)
      pushDoubles(reader, categories);
    else if (!isCategorical && reader.field === SPLIT_CONTINUOUS.threshold)
      threshold = doublesOf(reader)[0] ?? 0;
    else reader.skip();
  }
  if (isCategorical) return { feature, threshold: 0, categories, isLeft };
  return { feature, threshold, isLeft: true };
}

function doublesOf(reader: WireReader): readonly number[] {
  const list: number[] = [];
  pushDoubles(reader, list);
  return list;
}

function pushDoubles(reader: WireReader, to: number[]): void {
  const bytes = reader.fixed(8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 8) to.push(view.getFloat64(at, true));
}

function protoReals(reader: WireReader, field: number): readonly number[] {
  const values: number[] = [];
  while (reader.next()) {
    if (reader.field === field) pushDoubles(reader, values);
    else reader.skip();
  }
  return values;
}

interface FileCluster {
  readonly index: number;
  readonly values: readonly number[];
  readonly children: number;
}

/** The tree of bisecting k-means. Errors: ModelInvalid naming the file. */
export function readClusters(bytes: Uint8Array, format: 'json' | 'pb', file: string): ClusterNode {
  const nodes = format === 'json' ? jsonClusters(bytes, file) : protoClusters(bytes, file);
  const read = (depth: number): ClusterNode => {
    const next = nodes.next();
    if (next.done === true) throw modelInvalid(`${file}: the tree of clusters ends too early`);
    if (depth > CLUSTER_DEPTH_MAX) throw modelInvalid(`${file}: clusters nest too deep`);
    const { index, values, children } = next.value;
    const center = Float64Array.from(values);
    const made: ClusterNode[] = [];
    for (let i = 0; i < children; i += 1) made.push(read(depth + 1));
    return { index, center, children: made };
  };
  const root = read(1);
  if (nodes.next().done !== true) throw modelInvalid(`${file}: clusters after the tree's end`);
  return root;
}

function* jsonClusters(bytes: Uint8Array, file: string): Generator<FileCluster> {
  const lines = new TextDecoder().decode(bytes).split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const place = `${file}: line ${i + 1}`;
    const node = parseJson(Buffer.from(line), place) as Readonly<Record<string, unknown>> | null;
    const children = node?.['numChildren'] ?? node?.['num_children'] ?? 0;
    yield {
      index: Number(node?.['index'] ?? 0),
      values: numbersOf(node?.['values'], place),
      children: Number(children),
    };
  }
}

function* protoClusters(bytes: Uint8Array, file: string): Generator<FileCluster> {
  for (const [message, at] of frames(bytes, file)) {
    const reader = new WireReader(message, file, at);
    let index = 0;
    let children = 0;
    const values: number[] = [];
    while (reader.next()) {
      if (reader.field === CLUSTER_NODE.index) index = reader.number();
      else if (reader.field === CLUSTER_NODE.values) pushDoubles(reader, values);
      else if (reader.field === CLUSTER_NODE.numChildren) children = reader.number();
      else reader.skip();
    }
    yield { index, values, children };
  }
}
