// Restores variables by the object graph, as tf.saved_model.load does: the function's bound inputs
// identify a call's last arguments, and the checkpoint's own object graph locates such an object's
// value. Used for handles that the restore op leaves without a value: Keras 3 restores copies that
// no signature reads. Importer's worker thread. Source: tensorflow/python/saved_model/load.py
// (_setup_functions_captures, _restore_checkpoint); tensorflow/python/checkpoint/restore.py.
import { ServalError, modelInvalid } from '../../../../base/errors.js';
import { WireReader } from '../../../../protobuf/reader.js';
import { readStoredObjects } from '../../proto/object-graph.js';
import { ReadContext } from '../../proto/read-context.js';
import type {
  Checkpoint,
  FlatGraph,
  LoadedGraph,
  NodeDef,
  ObjectNode,
  SavedObjects,
} from '../../types.js';
import { functionAttribute } from '../attributes.js';
import { quoted } from '../errors.js';
import { StoredTensor } from '../kernels/restore.js';
import { checkFits } from '../kernels/variables.js';
import { resourceId, resourceKind, type SessionState } from '../state.js';
import { stringsOf } from '../tensors.js';

const OBJECT_GRAPH = '_CHECKPOINTABLE_OBJECT_GRAPH';
const PASSING: ReadonlySet<string> = new Set(['Identity', 'StopGradient']);
const PASSED_MAX = 100;

/** The checkpoint's object graph; undefined: it has none. Errors: ModelInvalid: damaged. */
export function storedObjects(checkpoint: Checkpoint): readonly ObjectNode[] | undefined {
  if (!checkpoint.has(OBJECT_GRAPH)) return undefined;
  const [bytes] = stringsOf(checkpoint.read(OBJECT_GRAPH));
  if (bytes === undefined) throw modelInvalid(`tensor ${quoted(OBJECT_GRAPH)} is empty`);
  return readStoredObjects(new WireReader(bytes, 'TrackableObjectGraph'), new ReadContext());
}

/**
 * Sets the variables that no operation has set and that a call captures. A variable that cannot be
 * read is spoiled, which matters only if a signature needs it. Errors: ModelInvalid if the
 * checkpoint's object graph is damaged.
 */
export function restoreByObjects(
  { graph, objects }: Pick<LoadedGraph, 'graph' | 'objects'>,
  main: FlatGraph,
  checkpoint: Checkpoint,
  state: SessionState,
): void {
  if (objects === undefined || objects.boundInputs.size === 0) return;
  const wanted = [...captures(graph.nodes, objects)].filter(([handle]) => {
    const node = main.nodes.get(handle);
    if (node === undefined || resourceKind(node.op) !== 'variable') return false;
    const id = resourceId(node);
    return !state.variables.has(id) && !state.spoiled.has(id);
  });
  const stored = wanted.length === 0 ? undefined : storedObjects(checkpoint);
  if (stored === undefined) return;
  const keys = keysOf(objects.nodes, stored);
  const given = new Map<string, string>();
  for (const [handle, object] of wanted) {
    const node = main.nodes.get(handle);
    const key = keys.get(object);
    if (node === undefined || key === undefined) continue;
    const id = resourceId(node);
    try {
      const before = given.get(id);
      if (before !== undefined && before !== key) {
        throw modelInvalid(`two objects have the same name: ${quoted(before)} and ${quoted(key)}`);
      }
      given.set(id, key);
      const value = new StoredTensor(checkpoint, key);
      checkFits(node, value);
      state.setVariable(id, value);
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      state.spoil(id, { op: node.op, node: node.name, reason: error.message });
    }
  }
}

/** The handle nodes that calls of the graph pass to captured arguments, and their objects. */
function captures(
  nodes: readonly NodeDef[],
  { boundInputs }: SavedObjects,
): ReadonlyMap<string, number> {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const found = new Map<string, number>();
  for (const node of nodes) {
    const bound =
      boundInputs.get(functionAttribute(node.attributes, 'f')?.name ?? node.op) ??
      boundInputs.get(node.op);
    if (bound === undefined) continue;
    const inputs = node.inputs.filter((input) => !input.startsWith('^'));
    const first = inputs.length - bound.length;
    if (first < 0) continue;
    bound.forEach((object, at) => {
      const handle = handleOf(byName, inputs[first + at] ?? '');
      if (handle !== undefined && !found.has(handle)) found.set(handle, object);
    });
  }
  return found;
}

function handleOf(byName: ReadonlyMap<string, NodeDef>, input: string): string | undefined {
  let name = input.replace(/:0$/, '');
  for (let steps = 0; steps < PASSED_MAX; steps += 1) {
    const node = byName.get(name);
    if (node === undefined || !PASSING.has(node.op)) return node?.name;
    name = (node.inputs[0] ?? '').replace(/:0$/, '');
  }
  return undefined;
}

/**
 * The keys of variables by the SavedModel's node: both graphs are walked from their roots, and
 * parts with the same name are the same object.
 */
function keysOf(
  saved: readonly ObjectNode[],
  stored: readonly ObjectNode[],
): ReadonlyMap<number, string> {
  const keys = new Map<number, string>();
  const seen = new Set([0]);
  const queue: [saved: number, stored: number][] = [[0, 0]];
  // The queue grows while it is walked.
  for (const [one, other] of queue) {
    const [object, found] = [saved[one], stored[other]];
    if (object === undefined || found === undefined) continue;
    if (found.key !== undefined) keys.set(one, found.key);
    for (const [name, child] of object.children) {
      const match = found.children.get(name);
      if (match === undefined || seen.has(child)) continue;
      seen.add(child);
      queue.push([child, match]);
    }
  }
  return keys;
}
