// Reads the object graphs of TensorFlow 2: the SavedModel's, which has the functions' captures, and
// the checkpoint's, which has the storage key of an object's value. Importer's worker thread; pure.
// Source: tensorflow/core/protobuf/{saved_object_graph,trackable_object_graph}.proto.
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
    if (reader.field === 1) {
      nodes.push({ children: readObject(reader.nested('SavedObject'), context).children });
    } else if (reader.field === 2) {
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
    if (reader.field === 1) nodes.push(readObject(reader.nested('TrackableObject'), context));
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
    if (reader.field === 1) {
      context.count(STRING_ITEMS);
      const { name, id } = readReference(reader.nested('ObjectReference'));
      children.set(context.shared(name), id);
    } else if (reader.field === 2) {
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
    if (reader.field === 1) id = reader.number();
    else if (reader.field === 2) name = reader.string();
    else reader.skip();
  }
  return { name, id };
}

function readTensor(reader: WireReader): Pick<ObjectNode, 'key' | 'fullName'> | undefined {
  let name = '';
  let fullName = '';
  let key = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.string();
    else if (reader.field === 2) fullName = reader.string();
    else if (reader.field === 3) key = reader.string();
    else reader.skip();
  }
  return name === VARIABLE_VALUE && key !== '' ? { key, fullName } : undefined;
}

function readBoundInputs(reader: WireReader, context: ReadContext): readonly number[] {
  const inputs: number[] = [];
  while (reader.next()) {
    if (reader.field === 2) {
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
