// Interpreter kernels for hash tables. Importer's worker thread. Source:
// tensorflow/core/ops/lookup_ops.cc.
import { modelInvalid } from '../../../../base/errors.js';
import { attributeOf, textAttribute } from '../attributes.js';
import type { Kernel, KernelCall, Kernels } from '../interpreter.js';
import { resourceId } from '../state.js';
import { HashTable } from '../hash-table.js';
import {
  computedCount,
  elementName,
  elementsOf,
  stringsOf,
  stringsTensor,
  tensorFrom,
  tensorOf,
} from '../tensors.js';
import { handleInput, tensorInput, tensorInputs } from './inputs.js';
import { readAsset, readTextFile } from './text-file.js';

const make: Kernel = ({ node }) => [{ id: resourceId(node), node }];

// Dense tables are stored with all their slots; two keys (empty, deleted) mark a free one.
const makeDense: Kernel = (call) => {
  const { node, session } = call;
  const id = resourceId(node);
  const keys = tensorInputs(call, 0).flatMap((key) => elementsOf(key).map(elementName));
  session.state.emptyKeys.set(id, new Set(keys));
  return [{ id, node }];
};

function tableInput(call: KernelCall): HashTable {
  const { id, node } = handleInput(call, 0);
  const { spoiled, tables } = call.session.state;
  let table = tables.get(id);
  if (table === undefined) {
    const failure = spoiled.get(id);
    if (failure !== undefined)
      throw modelInvalid(`${failure.op} failed earlier: ${failure.reason}`);
    tables.set(id, (table = new HashTable(node, call.session.state.emptyKeys.get(id))));
  }
  return table;
}

// A table that is refilled is no longer affected by an earlier failure.
function freshTableInput(call: KernelCall): HashTable {
  const { id } = handleInput(call, 0);
  call.session.state.spoiled.delete(id);
  return tableInput(call);
}

const fill: Kernel = (call) => {
  freshTableInput(call).fill(tensorInput(call, 1), tensorInput(call, 2));
  return [];
};

/**
 * The path in a string input. Errors: ModelInvalid if it is not an asset of the model: no other
 * files of this machine are read.
 */
function assetPath(call: KernelCall, index: number): string {
  const [bytes] = stringsOf(tensorInput(call, index));
  const path = Buffer.from(bytes ?? []).toString('utf8');
  if (call.session.assetPaths.has(path)) return path;
  throw modelInvalid(`${JSON.stringify(path)} is not an asset of the model`);
}

const fillFromFile: Kernel = (call) => {
  const { attributes } = call.node;
  const path = assetPath(call, 1);
  const table = freshTableInput(call);
  const number = (name: string, otherwise: bigint): bigint =>
    attributeOf(attributes, name, 'int') ?? otherwise;
  const { keys, values } = readTextFile(path, {
    keyDtype: table.keyDtype,
    keyIndex: Number(number('key_index', -2n)),
    valueDtype: table.valueDtype,
    valueIndex: Number(number('value_index', -1n)),
    vocabSize: Number(number('vocab_size', -1n)),
    offset: number('offset', 0n),
    delimiter: textAttribute(attributes, 'delimiter'),
  });
  // TensorFlow does not change a table that is already initialised.
  if (!(table.isStatic && table.isInitialised)) table.fill(keys, values);
  return [];
};

const readFile: Kernel = (call) => [
  stringsTensor(tensorInput(call, 0).shape, [readAsset(assetPath(call, 0))]),
];

const insert: Kernel = (call) => {
  const table = tableInput(call);
  if (table.isStatic) throw modelInvalid('a static table accepts no single keys');
  table.insert(tensorInput(call, 1), tensorInput(call, 2));
  return [];
};

const remove: Kernel = (call) => {
  tableInput(call).remove(tensorInput(call, 1));
  return [];
};

const size: Kernel = (call) => [tensorOf('int64', [], [BigInt(tableInput(call).size)])];

const exported: Kernel = (call) => {
  const { keys, values } = tableInput(call).contents();
  return [keys, values];
};

const find: Kernel = (call) => {
  const table = tableInput(call);
  const keys = tensorInput(call, 1);
  const [otherwise, ...more] = elementsOf(tensorInput(call, 2));
  if (otherwise === undefined || more.length > 0) throw modelInvalid('expected one default value');
  if (keys.dtype !== table.keyDtype)
    throw modelInvalid(`keys: expected ${table.keyDtype}, got ${keys.dtype}`);
  call.session.spend(computedCount(keys.shape));
  const found = elementsOf(keys).map((key) => table.find(key) ?? otherwise);
  return [tensorFrom(table.valueDtype, keys.shape, found)];
};

export const TABLE_KERNELS: Kernels = {
  HashTable: make,
  HashTableV2: make,
  AnonymousHashTable: make,
  MutableHashTable: make,
  MutableHashTableV2: make,
  AnonymousMutableHashTable: make,
  MutableHashTableOfTensors: make,
  MutableHashTableOfTensorsV2: make,
  AnonymousMutableHashTableOfTensors: make,
  MutableDenseHashTable: makeDense,
  MutableDenseHashTableV2: makeDense,
  AnonymousMutableDenseHashTable: makeDense,
  InitializeTable: fill,
  InitializeTableV2: fill,
  LookupTableImport: fill,
  LookupTableImportV2: fill,
  InitializeTableFromTextFile: fillFromFile,
  InitializeTableFromTextFileV2: fillFromFile,
  LookupTableInsert: insert,
  LookupTableInsertV2: insert,
  LookupTableRemoveV2: remove,
  LookupTableExport: exported,
  LookupTableExportV2: exported,
  LookupTableFind: find,
  LookupTableFindV2: find,
  LookupTableSize: size,
  LookupTableSizeV2: size,
  ReadFile: readFile,
};
