// Restores variables of a graph that has neither restore ops nor an object graph: by the names in
// the checkpoint's object graph, else by its keys. This is a guess (exports rename), so it is never
// used if better information exists; a name shared by several objects does not match. Importer's
// worker thread.
import type { Checkpoint, FlatGraph, FlatNode } from '../../types.js';
import { attributeOf, textAttribute, typeAttribute } from '../attributes.js';
import { StoredTensor } from '../kernels/restore.js';
import { resourceId, resourceKind, type SessionState } from '../state.js';
import { storedObjects } from './by-object.js';

const VALUE_SUFFIX = '/.ATTRIBUTES/VARIABLE_VALUE';

/**
 * Sets the variables that it finds; returns the names of the others. Errors: ModelInvalid if the
 * object graph is damaged.
 */
export function restoreByName(
  graph: FlatGraph,
  checkpoint: Checkpoint,
  state: SessionState,
): readonly string[] {
  const keys = keysByName(checkpoint);
  const missing: string[] = [];
  for (const node of graph.nodes.values()) {
    if (resourceKind(node.op) !== 'variable') continue;
    const key = candidates(node, keys).find((name) => fits(node, name, checkpoint));
    if (key === undefined) missing.push(node.name);
    else state.setVariable(resourceId(node), new StoredTensor(checkpoint, key));
  }
  return missing;
}

function candidates(node: FlatNode, keys: ReadonlyMap<string, string | undefined>): string[] {
  const shared = Buffer.from(textAttribute(node.attributes, 'shared_name'), 'latin1').toString();
  return [shared, node.name]
    .filter((name) => name !== '')
    .flatMap((name) => [
      ...[keys.get(name)].filter((key) => key !== undefined),
      name,
      `${name}${VALUE_SUFFIX}`,
    ]);
}

function fits(node: FlatNode, key: string, checkpoint: Checkpoint): boolean {
  if (!checkpoint.has(key)) return false;
  const { dtype, shape } = checkpoint.describe(key);
  const declared = attributeOf(node.attributes, 'shape', 'shape');
  return (
    typeAttribute(node.attributes, 'dtype') === dtype &&
    (declared === undefined ||
      (declared.length === shape.length &&
        declared.every((dim, axis) => dim === undefined || dim === shape[axis])))
  );
}

/** Full names with the keys that hold them; undefined if several objects have the name. */
function keysByName(checkpoint: Checkpoint): ReadonlyMap<string, string | undefined> {
  const keys = new Map<string, string | undefined>();
  for (const { key, fullName = '' } of storedObjects(checkpoint) ?? []) {
    if (key === undefined || fullName === '') continue;
    const isOther = keys.has(fullName) && keys.get(fullName) !== key;
    keys.set(fullName, isOther ? undefined : key);
  }
  return keys;
}
