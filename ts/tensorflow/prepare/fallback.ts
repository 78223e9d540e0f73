// Variables of a graph without restore ops: by the checkpoint's object graph, else by name. A guess
// (names repeat, and exports rename), so it is never made where there is a restore op.
// Importer's worker thread. Source: tensorflow/core/protobuf/trackable_object_graph.proto.
import { WireReader } from '../../protobuf/reader.js';
import type { Checkpoint, FlatGraph, FlatNode } from '../types.js';
import { attributeOf, textAttribute, typeAttribute } from './attributes.js';
import { invalid, quoted } from './errors.js';
import { StoredTensor } from './kernels/restore.js';
import { resourceId, resourceKind, type SessionState } from './state.js';
import { stringsOf } from './tensors.js';

const OBJECT_GRAPH = '_CHECKPOINTABLE_OBJECT_GRAPH';
const VALUE_SUFFIX = '/.ATTRIBUTES/VARIABLE_VALUE';

/** Sets what variables it finds; returns the names of those that it does not.
 * Errors: ModelInvalid when the object graph is damaged. */
export function restoreByName(
  graph: FlatGraph,
  checkpoint: Checkpoint,
  state: SessionState,
): readonly string[] {
  const keys = checkpoint.has(OBJECT_GRAPH) ? readKeys(checkpoint) : new Map<string, string>();
  const missing: string[] = [];
  for (const node of graph.nodes.values()) {
    if (resourceKind(node.op) !== 'variable') continue;
    const key = candidates(node, keys).find((name) => fits(node, name, checkpoint));
    if (key === undefined) missing.push(node.name);
    else state.setVariable(resourceId(node), new StoredTensor(checkpoint, key));
  }
  return missing;
}

function candidates(node: FlatNode, keys: ReadonlyMap<string, string>): string[] {
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

// Variables' full names with the keys that hold them.
function readKeys(checkpoint: Checkpoint): ReadonlyMap<string, string> {
  const [bytes] = stringsOf(checkpoint.read(OBJECT_GRAPH));
  if (bytes === undefined) throw invalid(`tensor ${quoted(OBJECT_GRAPH)} is empty`);
  const keys = new Map<string, string>();
  const graph = new WireReader(bytes, 'TrackableObjectGraph');
  while (graph.next()) {
    if (graph.field === 1) readObject(graph.nested('TrackableObject'), keys);
    else graph.skip();
  }
  return keys;
}

function readObject(object: WireReader, keys: Map<string, string>): void {
  while (object.next()) {
    if (object.field === 2) readTensor(object.nested('SerializedTensor'), keys);
    else object.skip();
  }
}

function readTensor(tensor: WireReader, keys: Map<string, string>): void {
  let fullName = '';
  let key = '';
  while (tensor.next()) {
    if (tensor.field === 2) fullName = tensor.string();
    else if (tensor.field === 3) key = tensor.string();
    else tensor.skip();
  }
  if (fullName !== '' && key !== '' && !keys.has(fullName)) keys.set(fullName, key);
}
