// Finds the files that an ONNX model's tensors name as their external data. Reads the whole file.
// Control plane. Source: onnx/onnx.proto (TensorProto.external_data).
import { readFile } from 'node:fs/promises';
import { modelInvalid, reasonOf } from '../../base/errors.js';
import { WireReader } from '../../protobuf/reader.js';
import {
  ATTRIBUTE_PROTO,
  FUNCTION_PROTO,
  GRAPH_PROTO,
  MODEL_PROTO,
  NODE_PROTO,
  SPARSE_TENSOR_PROTO,
  STRING_STRING_ENTRY_PROTO,
  TENSOR_PROTO,
} from '../../protobuf/generated/onnx-fields.js';

/** Nesting of graphs; protobuf's own decoders stop at this many messages. */
const DEPTH_MAX = 100;
const LOCATION = 'location';

type Walk = (reader: WireReader, found: Set<string>, depth: number) => void;

/** A message whose fields in `fields` are messages, and whose others do not matter. */
function walkOf(fields: () => Readonly<Record<number, Walk>>): Walk {
  return (reader, found, depth) => {
    if (depth > DEPTH_MAX) throw new RangeError(`more than ${DEPTH_MAX} messages in each other`);
    const known = fields();
    while (reader.next()) {
      const walk = known[reader.field];
      if (walk === undefined) reader.skip();
      else walk(reader.nested('onnx'), found, depth + 1);
    }
  };
}

const location: Walk = (reader, found) => {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === STRING_STRING_ENTRY_PROTO.key) key = reader.string();
    else if (reader.field === STRING_STRING_ENTRY_PROTO.value) value = reader.string();
    else reader.skip();
  }
  if (key === LOCATION) found.add(value);
};
const tensor = walkOf(() => ({ [TENSOR_PROTO.externalData]: location }));
const sparse = walkOf(() => ({
  [SPARSE_TENSOR_PROTO.values]: tensor,
  [SPARSE_TENSOR_PROTO.indices]: tensor,
}));
const attribute = walkOf(() => ({
  [ATTRIBUTE_PROTO.t]: tensor,
  [ATTRIBUTE_PROTO.tensors]: tensor,
  [ATTRIBUTE_PROTO.sparseTensor]: sparse,
  [ATTRIBUTE_PROTO.sparseTensors]: sparse,
  [ATTRIBUTE_PROTO.g]: graph,
  [ATTRIBUTE_PROTO.graphs]: graph,
}));
const node = walkOf(() => ({ [NODE_PROTO.attribute]: attribute }));
const graphFields = walkOf(() => ({
  [GRAPH_PROTO.node]: node,
  [GRAPH_PROTO.initializer]: tensor,
  [GRAPH_PROTO.sparseInitializer]: sparse,
}));
function graph(reader: WireReader, found: Set<string>, depth: number): void {
  graphFields(reader, found, depth);
}
const func = walkOf(() => ({ [FUNCTION_PROTO.node]: node }));
const model = walkOf(() => ({ [MODEL_PROTO.graph]: graph, [MODEL_PROTO.functions]: func }));

/**
 * The locations, relative to the model's folder, in no order. Errors: ModelInvalid: the file cannot
 * be read or is not protobuf.
 */
export async function externalFiles(path: string): Promise<readonly string[]> {
  const found = new Set<string>();
  try {
    model(new WireReader(await readFile(path), 'onnx'), found, 0);
  } catch (error) {
    throw modelInvalid(path, reasonOf(error));
  }
  return [...found];
}
