// Hash tables: filled when the model is loaded, read-only while serving. Source:
// tensorflow/core/kernels/lookup_table_op.cc. Importer's worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TableContents } from '../../types.js';

const handle: Lowering = (cx) => ({ kind: 'table', key: cx.node.name });

function contentsOf(cx: OpContext): TableContents {
  const value = cx.input(0);
  if (value.kind !== 'table') return cx.fail(`input 0 is a ${value.kind}, expected a table`);
  return (
    cx.around.state.tables.get(value.key) ??
    cx.fail(`the table '${value.key}' was not initialised when the model was loaded`)
  );
}

const find: Lowering = (cx) => {
  const { keyDtype, valueDtype, keys, values } = contentsOf(cx);
  const wanted = cx.tensor(1);
  const shape =
    wanted.shape === undefined ? undefined : [...wanted.shape, ...values.shape.slice(1)];
  return cx.custom(
    'LookupFind',
    [
      cx.cast(wanted, keyDtype),
      cx.cast(cx.tensor(2), valueDtype),
      cx.constant(keys),
      cx.constant(values),
    ],
    [{ dtype: valueDtype, shape }],
  );
};

const size: Lowering = (cx) => cx.scalar('int64', contentsOf(cx).keys.shape[0] ?? 0);

const contents: Lowering = (cx) => {
  const { keys, values } = contentsOf(cx);
  return [cx.constant(keys), cx.constant(values)];
};

const HANDLES = [
  'HashTable',
  'HashTableV2',
  'AnonymousHashTable',
  'MutableHashTable',
  'MutableHashTableV2',
  'AnonymousMutableHashTable',
  'MutableHashTableOfTensors',
  'MutableHashTableOfTensorsV2',
  'AnonymousMutableHashTableOfTensors',
  'MutableDenseHashTable',
  'MutableDenseHashTableV2',
  'AnonymousMutableDenseHashTable',
] as const;

const READ_ONLY = 'the contents from load time';

export const TABLES: Operators = {
  ...Object.fromEntries(HANDLES.map((name) => [name, { lower: handle, dtypes: 'any' }])),
  LookupTableFind: { lower: find, dtypes: 'any', note: READ_ONLY },
  LookupTableFindV2: { lower: find, dtypes: 'any', note: READ_ONLY },
  LookupTableSize: { lower: size, dtypes: 'any', note: READ_ONLY },
  LookupTableSizeV2: { lower: size, dtypes: 'any', note: READ_ONLY },
  LookupTableExport: { lower: contents, dtypes: 'any', note: READ_ONLY },
  LookupTableExportV2: { lower: contents, dtypes: 'any', note: READ_ONLY },
};
