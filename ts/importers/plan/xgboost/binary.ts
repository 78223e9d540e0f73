// The binary form that XGBoost wrote before version 2.1: structures of C as they lie in memory,
// least significant byte first. Importer's worker thread; pure.
import type { Booster, BoosterTree } from './booster.js';

const MAGIC = 'binf';
const LEARNER_BYTES = 136;
const GBTREE_BYTES = 160;
const TREE_BYTES = 148;
const NODE_BYTES = 20;
const STAT_BYTES = 16;
const DEFAULT_LEFT = 0x8000_0000;
const NAME_BYTES_MAX = 256;

/** Errors: RangeError saying what is wrong at which byte. */
export function readBinary(bytes: Uint8Array): Booster {
  const reader = new BinaryReader(bytes);
  const learner = reader.take(LEARNER_BYTES);
  const objective = reader.name();
  const booster = reader.name();
  if (booster !== 'gbtree' && booster !== 'dart') {
    throw new RangeError(`the booster '${booster}' is not supported`);
  }
  const model = reader.take(GBTREE_BYTES);
  const count = model.getInt32(0, true);
  if (count < 0) throw new RangeError(`expected a whole number of trees, got ${count}`);
  const trees: BoosterTree[] = [];
  for (let i = 0; i < count; i += 1) trees.push(readTree(reader));
  const info = reader.take(4 * count);
  const groups = trees.map((_, i) => info.getInt32(4 * i, true));
  const read = {
    objective,
    baseScore: learner.getFloat32(0, true),
    numFeature: learner.getUint32(4, true),
    numClass: learner.getInt32(8, true),
    trees,
    groups,
  };
  if (booster === 'gbtree') return read;
  const dropped = count === 0 ? 0 : reader.count();
  const weights = reader.take(4 * dropped);
  return { ...read, weights: trees.map((_, i) => weights.getFloat32(4 * i, true)) };
}

function readTree(reader: BinaryReader): BoosterTree {
  const head = reader.take(TREE_BYTES);
  const [roots, count, leafSize] = [0, 4, 20].map((at) => head.getInt32(at, true));
  if (roots !== 1 || count === undefined || count < 1 || leafSize !== 0) {
    throw new RangeError(
      `a tree of ${roots} roots, ${count} nodes and leaves of ${leafSize} values`,
    );
  }
  const nodes = reader.take(NODE_BYTES * count);
  const statistics = reader.take(STAT_BYTES * count);
  const left = new Int32Array(count);
  const right = new Int32Array(count);
  const feature = new Int32Array(count);
  const value = new Float64Array(count);
  const defaultLeft = new Uint8Array(count);
  const covers = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    const at = i * NODE_BYTES;
    left[i] = nodes.getInt32(at + 4, true);
    right[i] = nodes.getInt32(at + 8, true);
    const split = nodes.getUint32(at + 12, true);
    feature[i] = split % DEFAULT_LEFT;
    defaultLeft[i] = split >= DEFAULT_LEFT ? 1 : 0;
    value[i] = nodes.getFloat32(at + 16, true);
    covers[i] = statistics.getFloat32(i * STAT_BYTES + 4, true);
  }
  return { left, right, feature, value, defaultLeft, covers };
}

class BinaryReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    if (Buffer.from(bytes.subarray(0, 4)).toString('latin1') === MAGIC) this.#at = 4;
  }

  take(length: number): DataView {
    const left = this.#bytes.length - this.#at;
    if (length > left) {
      throw new RangeError(`byte ${this.#at}: expected ${length} bytes, got ${left}`);
    }
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, length);
    this.#at += length;
    return view;
  }

  count(): number {
    const count = this.take(8).getBigUint64(0, true);
    if (count > BigInt(this.#bytes.length))
      throw new RangeError(`byte ${this.#at}: a count of ${count}`);
    return Number(count);
  }

  name(): string {
    const length = this.count();
    if (length > NAME_BYTES_MAX)
      throw new RangeError(`byte ${this.#at}: a name of ${length} bytes`);
    const view = this.take(length);
    return Buffer.from(view.buffer, view.byteOffset, length).toString('latin1');
  }
}
