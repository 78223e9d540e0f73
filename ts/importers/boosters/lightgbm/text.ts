// Reads the text of a model that LightGBM has saved: its header, trees and categories. Importer's
// worker thread; pure. Source: LightGBM's src/boosting/gbdt_model_text.cpp, src/io/tree.cpp,
// python-package/lightgbm/basic.py (pandas_categorical).

/** Children below 0 are leaves: ~leaf. A tree of one leaf has no nodes. */
export interface LightgbmTree {
  readonly feature: Int32Array;
  /** For a categorical node: the number of its set. */
  readonly threshold: Float64Array;
  /** Bit 0: categorical; bit 1: missing values go left; bits 2 and 3: what is missing. */
  readonly decision: Int32Array;
  readonly left: Int32Array;
  readonly right: Int32Array;
  readonly leaves: Float64Array;
  /** By leaf: the count of training rows; absent: the file has none. */
  readonly counts?: Float64Array;
  /** Set i has the words [bounds[i], bounds[i + 1]) of 32 bits. */
  readonly bounds: Int32Array;
  readonly words: Float64Array;
  /** A linear tree: leaf i adds features[at] * factors[at] to its constant, from offsets[i] on. */
  readonly linear?: {
    readonly constants: Float64Array;
    readonly offsets: Int32Array;
    readonly features: Int32Array;
    readonly factors: Float64Array;
  };
}

export interface LightgbmModel {
  /** "v4" */
  readonly version: string;
  /** "binary sigmoid:1"; "" = none: predictions are sums. */
  readonly objective: string;
  /** Trees of each round: one for each class. */
  readonly classes: number;
  /** Random forests: the sums are divided by the number of rounds. */
  readonly average: boolean;
  readonly features: readonly string[];
  /** "[0:1.5]", "0:1:2" (categories), "none"; empty: the file does not say. */
  readonly infos: readonly string[];
  readonly trees: readonly LightgbmTree[];
  /** The values of a data frame's categorical columns; [] = none. */
  readonly pandas: readonly (readonly unknown[])[];
}

/** kZeroThreshold: numbers up to it are 0. A float in LightGBM. */
export const ZERO = Math.fround(1e-35);

type Entries = ReadonlyMap<string, string>;

const TREE = /^Tree=/;
const END = 'end of trees';
const PANDAS = 'pandas_categorical:';
const AVERAGE = 'average_output';

/** Errors: RangeError saying what of it is broken, or not supported, with its line. */
export function readLightgbm(text: string): LightgbmModel {
  const lines = text.split(/\r?\n/);
  const end = lines.indexOf(END);
  if (end < 0) throw new RangeError(`expected a line '${END}', got none: the file is truncated`);
  const starts: number[] = [];
  for (let i = 0; i < end; i += 1) if (TREE.test(lines[i] ?? '')) starts.push(i);
  const headEnd = starts[0] ?? end;
  const head = entriesOf(lines, 0, headEnd);
  const classes = countOf(head, 'num_tree_per_iteration', 'the header', head.get('num_class'));
  const features = (head.get('feature_names') ?? '').split(' ').filter((name) => name !== '');
  const last = countOf(head, 'max_feature_idx', 'the header');
  if (features.length !== last + 1) {
    throw new RangeError(`feature_names: expected ${last + 1} names, got ${features.length}`);
  }
  const infos = (head.get('feature_infos') ?? '').split(' ').filter((info) => info !== '');
  const trees = starts.map((start, i) => {
    try {
      return treeOf(entriesOf(lines, start + 1, starts[i + 1] ?? end), features.length);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new RangeError(`line ${start + 1}, tree ${i}: ${error.message}`);
    }
  });
  if (classes < 1 || trees.length % classes !== 0) {
    throw new RangeError(`expected ${classes} trees in each round, got ${trees.length} trees`);
  }
  return {
    version: head.get('version') ?? '',
    objective: head.get('objective') ?? '',
    classes,
    average: lines.slice(0, headEnd).includes(AVERAGE),
    features,
    infos: infos.length === features.length ? infos : [],
    trees,
    pandas: pandasOf(lines.slice(end)),
  };
}

/** Lines of the form key=value. */
function entriesOf(lines: readonly string[], from: number, to: number): Entries {
  const made = new Map<string, string>();
  for (let i = from; i < to; i += 1) {
    const line = lines[i] ?? '';
    const at = line.indexOf('=');
    if (at > 0) made.set(line.slice(0, at), line.slice(at + 1));
  }
  return made;
}

function countOf(entries: Entries, name: string, where: string, fallback?: string): number {
  const written = entries.get(name) ?? fallback;
  if (written !== undefined && /^\d{1,9}$/.test(written.trim())) return Number(written);
  throw new RangeError(`${where}: ${name}: expected a whole number, got ${shown(written)}`);
}

const shown = (written: string | undefined): string =>
  written === undefined ? 'none' : `'${written.slice(0, 40)}'`;

const NAMED: ReadonlyMap<string, number> = new Map([
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
]);

function numbersOf(entries: Entries, name: string, count: number, fallback?: number): Float64Array {
  const written = entries.get(name);
  if (written === undefined && fallback !== undefined)
    return new Float64Array(count).fill(fallback);
  const words = (written ?? '').split(' ').filter((word) => word !== '');
  if (words.length !== count) {
    throw new RangeError(`${name}: expected ${count} numbers, got ${words.length}`);
  }
  const made = new Float64Array(count);
  words.forEach((word, i) => {
    const value = NAMED.get(word) ?? Number(word);
    if (Number.isNaN(value)) throw new RangeError(`${name}: expected a number, got ${shown(word)}`);
    made[i] = value;
  });
  return made;
}

/** Errors: RangeError: a number is no integer from `least` to `most`. */
function integersOf(
  entries: Entries,
  name: string,
  count: number,
  { least, most, fallback }: { least: number; most: number; fallback?: number },
): Int32Array {
  const read = numbersOf(entries, name, count, fallback);
  const wrong = read.find((each) => !Number.isInteger(each) || each < least || each > most);
  if (wrong === undefined) return Int32Array.from(read);
  throw new RangeError(`${name}: expected whole numbers from ${least} to ${most}, got ${wrong}`);
}

function treeOf(entries: Entries, features: number): LightgbmTree {
  const leafCount = countOf(entries, 'num_leaves', 'the tree');
  if (leafCount < 1) throw new RangeError(`num_leaves: expected 1 or more, got ${leafCount}`);
  const isLinear = /^[1-9]/.test(entries.get('is_linear') ?? '0');
  const nodes = leafCount - 1;
  const sets = nodes === 0 ? 0 : countOf(entries, 'num_cat', 'the tree', '0');
  const children = { least: -leafCount, most: nodes - 1 };
  const integers = (name: string, most: number, count = nodes, fallback?: number): Int32Array =>
    integersOf(entries, name, count, {
      least: 0,
      most,
      ...(fallback === undefined ? {} : { fallback }),
    });
  const bounds = sets === 0 ? new Int32Array(1) : integers('cat_boundaries', 2 ** 26, sets + 1);
  if (bounds[0] !== 0 || bounds.some((bound, i) => i > 0 && bound < (bounds[i - 1] ?? 0))) {
    throw new RangeError('cat_boundaries: expected ascending numbers from 0');
  }
  const words = bounds[sets] ?? 0;
  const tree = {
    feature: integers('split_feature', features - 1),
    threshold: nodes === 0 ? new Float64Array(0) : numbersOf(entries, 'threshold', nodes),
    decision: integers('decision_type', 11, nodes, 0),
    left: integersOf(entries, 'left_child', nodes, children),
    right: integersOf(entries, 'right_child', nodes, children),
    leaves: numbersOf(entries, 'leaf_value', leafCount),
    bounds,
    words: sets === 0 ? new Float64Array(0) : numbersOf(entries, 'cat_threshold', words),
    ...(entries.has('leaf_count') && nodes > 0
      ? { counts: numbersOf(entries, 'leaf_count', leafCount) }
      : {}),
    ...(isLinear ? { linear: linearOf(entries, leafCount, features) } : {}),
  };
  if (tree.words.some((word) => !Number.isInteger(word) || word < 0 || word >= 2 ** 32)) {
    throw new RangeError('cat_threshold: expected whole numbers of 32 bits');
  }
  checkShape(tree);
  return tree;
}

function linearOf(
  entries: Entries,
  leafCount: number,
  features: number,
): NonNullable<LightgbmTree['linear']> {
  const constants = numbersOf(entries, 'leaf_const', leafCount);
  const counts = integersOf(entries, 'num_features', leafCount, { least: 0, most: features });
  const offsets = new Int32Array(leafCount + 1);
  counts.forEach((count, i) => (offsets[i + 1] = (offsets[i] ?? 0) + count));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const range = { least: 0, most: features - 1 };
  return {
    constants,
    offsets,
    features: integersOf(entries, 'leaf_features', total, range),
    factors: numbersOf(entries, 'leaf_coeff', total),
  };
}

/** Errors: RangeError: a node or a leaf is not reached from the root, or twice. */
function checkShape({ left, right, leaves }: LightgbmTree): void {
  if (left.length === 0) return;
  const nodes = new Uint8Array(left.length);
  const seen = new Uint8Array(leaves.length);
  const waiting = [0];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const [marks, place] = at < 0 ? [seen, ~at] : [nodes, at];
    if (marks[place] !== 0) {
      const what = at < 0 ? 'leaf' : 'node';
      throw new RangeError(`${what} ${place} is not part of exactly one branch`);
    }
    marks[place] = 1;
    if (at >= 0) waiting.push(right[at] ?? 0, left[at] ?? 0);
  }
  const lost = nodes.indexOf(0);
  if (lost >= 0) throw new RangeError(`node ${lost} has no parent`);
}

function pandasOf(lines: readonly string[]): LightgbmModel['pandas'] {
  const line = lines.find((one) => one.startsWith(PANDAS));
  if (line === undefined) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(line.slice(PANDAS.length));
  } catch {
    throw new RangeError('pandas_categorical: expected JSON');
  }
  if (parsed === null) return [];
  if (Array.isArray(parsed) && parsed.every((one) => Array.isArray(one))) return parsed;
  throw new RangeError('pandas_categorical: expected a list of lists');
}
