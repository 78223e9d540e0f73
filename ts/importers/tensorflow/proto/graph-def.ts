// Reads tensorflow.GraphDef, NodeDef and FunctionDef. Importer's worker thread; pure.
// Source: tensorflow/core/framework/{graph,node_def,function,versions}.proto.
import {
  GRAPH_DEF,
  VERSION_DEF,
  NODE_DEF,
  FUNCTION_DEF_LIBRARY,
  FUNCTION_DEF,
} from '../../../protobuf/generated/tensorflow-graph-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { Attribute, FunctionDef, GraphDef, NodeDef, OpDef } from '../types.js';
import { readAttribute } from './attr-value.js';
import { readOpDef } from './op-def.js';
import { NODE_ITEMS, OBJECT_ITEMS, readInteger, readMapEntry } from './read-context.js';
import type { ReadContext } from './read-context.js';

/** Errors: ModelInvalid: not protobuf, above a limit, two nodes or functions of one name. */
export function readGraphDef(reader: WireReader, context: ReadContext): GraphDef {
  const nodes: NodeDef[] = [];
  const functions = new Map<string, FunctionDef>();
  let producer = 0;
  while (reader.next()) {
    switch (reader.field) {
      case GRAPH_DEF.node:
        nodes.push(readNodeDef(reader.nested('NodeDef'), context));
        break;
      case GRAPH_DEF.library:
        readLibrary(reader.nested('FunctionDefLibrary'), functions, context);
        break;
      case GRAPH_DEF.versions:
        producer = readProducer(reader.nested('VersionDef'), producer);
        break;
      default:
        reader.skip();
    }
  }
  checkNames(nodes, 'GraphDef');
  return { nodes, functions, producer };
}

function checkNames(nodes: readonly NodeDef[], where: string): void {
  const names = new Set<string>();
  for (const { name, op } of nodes) {
    if (name === '') throw modelInvalid(`${where}: expected names of nodes, got "" (op ${op})`);
    if (names.has(name)) throw modelInvalid(`${where}: expected one node "${name}", got two`);
    names.add(name);
  }
}

function readProducer(reader: WireReader, before: number): number {
  let producer = before;
  while (reader.next()) {
    if (reader.field === VERSION_DEF.producer) producer = readInteger(reader);
    else reader.skip();
  }
  return producer;
}

function readNodeDef(reader: WireReader, context: ReadContext): NodeDef {
  const inputs: string[] = [];
  const attributes = new Map<string, Attribute>();
  let name = '';
  let op = '';
  context.count(NODE_ITEMS);
  while (reader.next()) {
    switch (reader.field) {
      case NODE_DEF.name:
        name = reader.string();
        break;
      case NODE_DEF.op:
        op = context.shared(reader.string());
        break;
      case NODE_DEF.input:
        context.count();
        inputs.push(reader.string());
        break;
      case NODE_DEF.attr:
        readAttribute(reader.nested('NodeDef.AttrEntry'), attributes, context);
        break;
      default:
        reader.skip();
    }
  }
  return { name, op, inputs, attributes };
}

function readLibrary(
  reader: WireReader,
  functions: Map<string, FunctionDef>,
  context: ReadContext,
): void {
  while (reader.next()) {
    if (reader.field !== FUNCTION_DEF_LIBRARY.function) {
      reader.skip();
      continue;
    }
    const found = readFunctionDef(reader.nested('FunctionDef'), context);
    const { name } = found.signature;
    if (name === '') throw modelInvalid('FunctionDef: expected a name, got ""');
    if (functions.has(name)) {
      throw modelInvalid(`FunctionDefLibrary: expected one function "${name}", got two`);
    }
    functions.set(name, found);
  }
}

function readFunctionDef(reader: WireReader, context: ReadContext): FunctionDef {
  const nodes: NodeDef[] = [];
  const returns = new Map<string, string>();
  const controlReturns = new Map<string, string>();
  const attributes = new Map<string, Attribute>();
  let signature: OpDef = {
    name: '',
    inputs: [],
    outputs: [],
    defaults: new Map(),
    isStateful: false,
  };
  const name = (into: Map<string, string>): void => {
    context.count(OBJECT_ITEMS);
    const entry = reader.nested('FunctionDef.RetEntry');
    into.set(
      ...readMapEntry(
        entry,
        (value) => value.string(),
        () => '',
      ),
    );
  };
  while (reader.next()) {
    switch (reader.field) {
      case FUNCTION_DEF.signature:
        signature = readOpDef(reader.nested('OpDef'), context);
        break;
      case FUNCTION_DEF.nodeDef:
        nodes.push(readNodeDef(reader.nested('NodeDef'), context));
        break;
      case FUNCTION_DEF.ret:
        name(returns);
        break;
      case FUNCTION_DEF.attr:
        readAttribute(reader.nested('FunctionDef.AttrEntry'), attributes, context);
        break;
      case FUNCTION_DEF.controlRet:
        name(controlReturns);
        break;
      default:
        reader.skip();
    }
  }
  checkNames(nodes, `FunctionDef ${signature.name}`);
  return { signature, nodes, returns, controlReturns, attributes };
}
