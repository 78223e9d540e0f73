// Facts about values, derived from the operators that made them: enough to choose a form that the
// runtime computes faster. Importer's worker thread; pure.

/** Operators whose result is constant if their inputs are; the runtime folds them. */
const FOLDED: ReadonlySet<string> = new Set([
  'Add',
  'Cast',
  'Concat',
  'Div',
  'Identity',
  'Max',
  'Min',
  'Mul',
  'Neg',
  'Reciprocal',
  'Reshape',
  'Sqrt',
  'Squeeze',
  'Sub',
  'Transpose',
  'Unsqueeze',
]);

/** Operators that compute with the channels first. */
const CHANNELS_FIRST: ReadonlySet<string> = new Set([
  'AveragePool',
  'BatchNormalization',
  'Conv',
  'ConvTranspose',
  'MaxPool',
]);

/** Operators that work with any order of the axes: a Transpose can move through them. */
const ANY_ORDER: ReadonlySet<string> = new Set([
  'Abs',
  'Add',
  'Clip',
  'Concat',
  'Div',
  'Elu',
  'Identity',
  'LeakyRelu',
  'Max',
  'Min',
  'Mul',
  'Pad',
  'Relu',
  'Sigmoid',
  'Slice',
  'Softplus',
  'Sub',
  'Tanh',
  'Transpose',
]);

const NOT_NEGATIVE: ReadonlySet<string> = new Set([
  'Abs',
  'ArgMax',
  'ArgMin',
  'Exp',
  'NonZero',
  'Relu',
  'Shape',
  'Sigmoid',
  'Size',
]);
/** Operators whose result consists of elements of the first input, regardless of the others. */
const PICKS: ReadonlySet<string> = new Set([
  'Cast',
  'Expand',
  'Gather',
  'Reshape',
  'Slice',
  'Squeeze',
  'Unsqueeze',
]);
const KEEPS_SIGN: ReadonlySet<string> = new Set([
  'Add',
  'AveragePool',
  'Concat',
  'Identity',
  'MaxPool',
  'Mul',
  'Transpose',
]);

/** Facts about one model: its values have unique names. */
export class Facts {
  readonly #fixed = new Set<string>();
  readonly #ofWindows = new Set<string>();
  readonly #notNegative = new Set<string>();
  readonly #below = new Map<string, number>();

  /** Records a constant. */
  noteConstant(name: string): void {
    this.#fixed.add(name);
  }

  /** Records a node; called after the nodes of its inputs. */
  note(op: string, inputs: readonly string[], outputs: readonly string[]): void {
    const all = (known: ReadonlySet<string>, names: readonly string[]): boolean =>
      names.length > 0 && names.every((name) => known.has(name));
    const free = inputs.filter((name) => name !== '' && !this.#fixed.has(name));
    const add = (to: Set<string>): void => outputs.forEach((name) => to.add(name));
    if (free.length === 0 && inputs.length > 0 && FOLDED.has(op)) add(this.#fixed);
    const isOfWindows = CHANNELS_FIRST.has(op) || (ANY_ORDER.has(op) && all(this.#ofWindows, free));
    if (isOfWindows) add(this.#ofWindows);
    const isNotNegative =
      NOT_NEGATIVE.has(op) ||
      (KEEPS_SIGN.has(op) && all(this.#notNegative, inputs)) ||
      (PICKS.has(op) && all(this.#notNegative, inputs.slice(0, 1)));
    if (isNotNegative) add(this.#notNegative);
  }

  /** Records that elements of an integer value are at least 0 and below `bound`. */
  noteBelow(name: string | undefined, bound: number | undefined): void {
    if (name !== undefined && bound !== undefined) this.#below.set(name, bound);
  }

  /** Whether all elements are known to be at least 0 and below `bound`. */
  isBelow(name: string, bound: number): boolean {
    return (this.#below.get(name) ?? Infinity) <= bound;
  }

  /** Whether it is computed from constants alone. */
  isFixed(name: string): boolean {
    return this.#fixed.has(name);
  }

  /**
   * Whether it is computed from the results of convolutions and pools by operators that work with
   * any order of the axes: their Transposes cancel.
   */
  isOfWindows(name: string): boolean {
    return this.#ofWindows.has(name);
  }

  /** Whether no element is below 0. */
  isNotNegative(name: string): boolean {
    return this.#notNegative.has(name);
  }
}
