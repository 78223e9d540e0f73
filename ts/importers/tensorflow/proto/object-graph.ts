// Reads the object graphs of TensorFlow 2: the SavedModel's, which has the functions' captures, and
// the checkpoint's, which has the storage key of an object's value. Importer's worker thread; pure.
// Source: tensorflow/core/protobuf/{saved_object_graph,trackable_object_graph}.proto.
import {
  TRACKABLE_OBJECT_GRAPH,
  TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT as TRACKABLE_OBJECT,
  TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_OBJECT_REFERENCE as OBJECT_REFERENCE,
  TRACKABLE_OBJECT_GRAPH_TRACKABLE_OBJECT_SERIALIZED_TENSOR as SERIALIZED_TENSOR,
} from '../../../protobuf/generated/checkpoint-fields.js';
import {
  SAVED_OBJECT_GRAPH,
  SAVED_CONCRETE_FUNCTION,
} from '../../../protobuf/generated/tensorflow-graph-fields.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { ObjectNode, SavedObjects } from '../types.js';
import { OBJECT_ITEMS, readMapEntry, STRING_ITEMS } from './read-context.js';
import type { ReadContext } from './read-context.js';

/** The attribute that holds a variable's value. */
const VARIABLE_VALUE = 'VARIABLE_VALUE';

/** SavedObjectGraph. Errors: ModelInvalid. */
export function readSavedObjects(reader: WireReader, context: ReadContext): SavedObjects {
  const nodes: ObjectNode[] = [];
  const boundInputs = new Map<string, readonly number[]>();
  while (reader.next()) {
    if (reader.field === SAVED_OBJECT_GRAPH.nodes) {
      nodes.push({ children: readObject(reader.nested('SavedObject'), context).children });
    } else if (reader.field === SAVED_OBJECT_GRAPH.concreteFunctions) {
      const entry = reader.nested('SavedObjectGraph.ConcreteFunctionsEntry');
      const read = (value: WireReader): readonly number[] =>
        readBoundInputs(value.nested('SavedConcreteFunction'), context);
      boundInputs.set(...readMapEntry<readonly number[]>(entry, read, () => []));
    } else {
      reader.skip();
    }
  }
  return { nodes, boundInputs };
}

/** TrackableObjectGraph: nodes, with the keys of those that are variables. Errors: ModelInvalid. */
export function readStoredObjects(reader: WireReader, context: ReadContext): readonly ObjectNode[] {
  const nodes: ObjectNode[] = [];
  while (reader.next()) {
    if (reader.field === TRACKABLE_OBJECT_GRAPH.nodes)
      nodes.push(readObject(reader.nested('TrackableObject'), context));
    else reader.skip();
  }
  return nodes;
}

/** A node of either graph: field 1 is the same in both, field 2 exists only in the checkpoint's. */
function readObject(reader: WireReader, context: ReadContext): ObjectNode {
  context.count(OBJECT_ITEMS);
  const children = new Map<string, number>();
  let stored: Pick<ObjectNode, 'key' | 'fullName'> = {};
  while (reader.next()) {
    if (reader.field === TRACKABLE_OBJECT.children) {
      context.count(STRING_ITEMS);
      const { name, id } = readReference(reader.nested('ObjectReference'));
      children.set(context.shared(name), id);
    } else if (reader.field === TRACKABLE_OBJECT.attributes) {
      stored = readTensor(reader.nested('SerializedTensor')) ?? stored;
    } else {
      reader.skip();
    }
  }
  return { children, ...stored };
}

function readReference(reader: WireReader): { readonly name: string; readonly id: number } {
  let name = '';
  let id = 0;
  while (reader.next()) {
    if (reader.field === OBJECT_REFERENCE.nodeId) id = reader.number();
    else if (reader.field === OBJECT_REFERENCE.localName) name = reader.string();
    else reader.skip();
  }
  return { name, id };
}

function readTensor(reader: WireReader): Pick<ObjectNode, 'key' | 'fullName'> | undefined {
  let name = '';
  let fullName = '';
  let key = '';
  while (reader.next()) {
    if (reader.field === SERIALIZED_TENSOR.name) name = reader.string();
    else if (reader.field === SERIALIZED_TENSOR.fullName) fullName = reader.string();
    else if (reader.field === SERIALIZED_TENSOR.checkpointKey) key = reader.string();
    else reader.skip();
  }
  return name === VARIABLE_VALUE && key !== '' ? { key, fullName } : undefined;
}

function readBoundInputs(reader: WireReader, context: ReadContext): readonly number[] {
  const inputs: number[] = [];
  while (reader.next()) {
    if (reader.field === SAVED_CONCRETE_FUNCTION.boundInputs) {
      reader.varints(({ low, high }) => {
        context.count();
        inputs.push(high === 0 ? low : -1);
      });
    } else {
      reader.skip();
    }
  }
  return inputs;
}
