// State that a session would have while a model is restored and initialised: variables, tables and
// other resources, each by the identity that its nodes share. Importer's worker thread. Source:
// tensorflow/core/framework/resource_mgr (container and shared name).
import type { FlatNode, LoadedForest, Tensor } from '../types.js';
import { textAttribute } from './attributes.js';
import type { HashTable } from './hash-table.js';

export type ResourceKind = 'variable' | 'table' | 'blob' | 'quantiles' | 'forest';

const KINDS: Readonly<Record<string, ResourceKind>> = {
  Variable: 'variable',
  VariableV2: 'variable',
  VarHandleOp: 'variable',
  HashTable: 'table',
  HashTableV2: 'table',
  AnonymousHashTable: 'table',
  MutableHashTable: 'table',
  MutableHashTableV2: 'table',
  AnonymousMutableHashTable: 'table',
  MutableHashTableOfTensors: 'table',
  MutableHashTableOfTensorsV2: 'table',
  AnonymousMutableHashTableOfTensors: 'table',
  MutableDenseHashTable: 'table',
  MutableDenseHashTableV2: 'table',
  AnonymousMutableDenseHashTable: 'table',
  BoostedTreesEnsembleResourceHandleOp: 'blob',
  BoostedTreesQuantileStreamResourceHandleOp: 'quantiles',
  DecisionTreeEnsembleResourceHandleOp: 'blob',
  DecisionTreeResourceHandleOp: 'blob',
  SimpleMLCreateModelResource: 'forest',
};

/** The kind of resource that a node creates; undefined for other nodes. */
export function resourceKind(op: string): ResourceKind | undefined {
  return Object.hasOwn(KINDS, op) ? KINDS[op] : undefined;
}

// VarHandleOp with this name creates a separate variable.
const ANONYMOUS = 'cd2c89b7-88b7-44c8-ad83-06c2a9158347';

/** Equal for nodes that mean the same resource. */
export function resourceId(node: FlatNode): string {
  const shared = textAttribute(node.attributes, 'shared_name');
  const isOwn = shared === '' || shared === ANONYMOUS || node.op.startsWith('Anonymous');
  const kind = resourceKind(node.op) ?? 'other';
  if (isOwn) return `${kind} node ${node.name}`;
  return `${kind} shared ${textAttribute(node.attributes, 'container')} ${shared}`;
}

/** Why a node could not be run: the first one, if another node then needed its result. */
export interface Failure {
  readonly op: string;
  readonly node: string;
  readonly reason: string;
}

/**
 * The state of a session. A resource that an operation failed to change is `spoiled`: its contents
 * differ from TensorFlow's.
 */
export class SessionState {
  readonly variables = new Map<string, Tensor>();
  readonly tables = new Map<string, HashTable>();
  /** Keys that mark an empty slot in a dense table, by table. */
  readonly emptyKeys = new Map<string, ReadonlySet<string>>();
  readonly blobs = new Map<string, Uint8Array>();
  /** Bucket boundaries of each feature. */
  readonly quantiles = new Map<string, readonly Tensor[]>();
  readonly forests = new Map<string, LoadedForest>();
  readonly spoiled = new Map<string, Failure>();

  spoil(id: string, failure: Failure): void {
    this.variables.delete(id);
    this.tables.delete(id);
    this.blobs.delete(id);
    this.quantiles.delete(id);
    this.forests.delete(id);
    this.spoiled.set(id, failure);
  }

  setVariable(id: string, value: Tensor): void {
    this.variables.set(id, value);
    this.spoiled.delete(id);
  }
}
