// Writes the parts of .skops files for tests: schema.json and NumPy's arrays. Test time only.
export type Json = Readonly<Record<string, unknown>>;

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A file in NumPy's format. */
export function npyOf(descr: string, shape: readonly number[], data: Uint8Array): Buffer {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const header = `{'descr': ${descr}, 'fortran_order': False, 'shape': (${sizes}), }\n`;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([latin1('\u0093NUMPY\u0001\0'), length, latin1(header), data]);
}

/** Collects the arrays of a file. */
export class SkopsWriter {
  readonly parts = new Map<string, Uint8Array>();

  reals(values: readonly number[], shape: readonly number[] = [values.length]): Json {
    const bytes = new Uint8Array(Float64Array.from(values).buffer);
    return this.array(npyOf("'<f8'", shape, bytes));
  }

  integers(values: readonly number[], shape: readonly number[] = [values.length]): Json {
    const bytes = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
    return this.array(npyOf("'<i8'", shape, bytes));
  }

  array(bytes: Uint8Array, name = `${this.parts.size}.npy`): Json {
    this.parts.set(name, bytes);
    return { ...node('ndarray', 'numpy', 'NdArrayNode'), type: 'numpy', file: name };
  }

  /** The file's parts by name. */
  file(
    root: Json,
    more: Json = { protocol: 2, _skops_version: '0.16.0' },
  ): Map<string, Uint8Array> {
    const schema = JSON.stringify({ ...root, ...more });
    return new Map([...this.parts, ['schema.json', Buffer.from(schema)]]);
  }
}

export const node = (name: string, module: string, loader: string): Json => ({
  __class__: name,
  __module__: module,
  __loader__: loader,
});

export const json = (value: unknown): Json => ({
  ...node('str', 'builtins', 'JsonNode'),
  content: typeof value === 'string' && value === 'NaN' ? value : JSON.stringify(value),
  is_json: true,
});

export const list = (...items: readonly Json[]): Json => ({
  ...node('list', 'builtins', 'ListNode'),
  content: items,
});

export const dict = (content: Json): Json => ({
  ...node('dict', 'builtins', 'DictNode'),
  content,
});

/** An estimator with its attributes. */
export const object = (name: string, attributes: Json, module = 'sklearn.some'): Json => ({
  ...node(name, module, 'ObjectNode'),
  content: dict(attributes),
});

/** An array of texts or other objects. */
export const objects = (...items: readonly Json[]): Json => ({
  ...node('ndarray', 'numpy', 'NdArrayNode'),
  type: 'json',
  content: items,
  shape: list(json(items.length)),
});

export const pipeline = (...steps: readonly (readonly [string, Json])[]): Json =>
  object('Pipeline', { steps: list(...steps.map(([name, step]) => list(json(name), step))) });

/** LogisticRegression of two features: score 2 a - b + 0.5. */
export const logistic = (writer: SkopsWriter, more: Json = {}): Json =>
  object('LogisticRegression', {
    classes_: objects(json('no'), json('yes')),
    coef_: writer.reals([2, -1], [1, 2]),
    intercept_: writer.reals([0.5]),
    n_features_in_: json(2),
    _sklearn_version: json('1.9.1'),
    ...more,
  });

/** A tree of one split: value <= 0.5 goes left. */
export function treeOf(writer: SkopsWriter, children: readonly number[]): Json {
  const fields =
    "[('left_child', '<i8'), ('right_child', '<i8'), ('feature', '<i8'), ('threshold', '<f8'), " +
    "('weighted_n_node_samples', '<f8'), ('missing_go_to_left', '|u1'), ('', '|V7')]";
  const nodes = Buffer.alloc(48 * 3);
  [0, 1, 2].forEach((row) => {
    const isRoot = row === 0;
    nodes.writeBigInt64LE(BigInt(isRoot ? (children[0] ?? 0) : -1), 48 * row);
    nodes.writeBigInt64LE(BigInt(isRoot ? (children[1] ?? 0) : -1), 48 * row + 8);
    nodes.writeDoubleLE(0.5, 48 * row + 24);
    nodes.writeDoubleLE(1, 48 * row + 32);
    nodes.writeUInt8(1, 48 * row + 40);
  });
  const tree = {
    ...node('Tree', 'sklearn.tree._tree', 'TreeNode'),
    __reduce__: { args: list() },
    content: dict({
      nodes: writer.array(npyOf(fields, [3], nodes)),
      values: writer.reals([0, 1, 2], [3, 1, 1]),
    }),
  };
  return object('DecisionTreeRegressor', {
    criterion: json('squared_error'),
    n_features_in_: json(1),
    n_outputs_: json(1),
    tree_: tree,
  });
}
