// Reads tensorflow.OpDef and OpList. Importer's worker thread; pure.
// Source: tensorflow/core/framework/op_def.proto.
import {
  OP_LIST,
  OP_DEF,
  OP_DEF_ARG_DEF as ARG_DEF,
  OP_DEF_ATTR_DEF as ATTR_DEF,
} from '../../../protobuf/generated/tensorflow-graph-fields.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { ArgDef, Attribute, OpDef } from '../types.js';
import { readAttrValue } from './attr-value.js';
import { dtypeOfCode } from '../../../model/datatype.js';
import { OBJECT_ITEMS, readBool } from './read-context.js';
import type { ReadContext } from './read-context.js';

export function readOpList(reader: WireReader, context: ReadContext): readonly OpDef[] {
  const ops: OpDef[] = [];
  while (reader.next()) {
    if (reader.field === OP_LIST.op) ops.push(readOpDef(reader.nested('OpDef'), context));
    else reader.skip();
  }
  return ops;
}

export function readOpDef(reader: WireReader, context: ReadContext): OpDef {
  const inputs: ArgDef[] = [];
  const outputs: ArgDef[] = [];
  const defaults = new Map<string, Attribute>();
  let name = '';
  let isStateful = false;
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    switch (reader.field) {
      case OP_DEF.name:
        name = reader.string();
        break;
      case OP_DEF.inputArg:
        inputs.push(readArgDef(reader.nested('OpDef.ArgDef'), context));
        break;
      case OP_DEF.outputArg:
        outputs.push(readArgDef(reader.nested('OpDef.ArgDef'), context));
        break;
      case OP_DEF.attr:
        readDefault(reader.nested('OpDef.AttrDef'), defaults, context);
        break;
      case OP_DEF.isStateful:
        isStateful = readBool(reader);
        break;
      default:
        reader.skip();
    }
  }
  return { name, inputs, outputs, defaults, isStateful };
}

function readArgDef(reader: WireReader, context: ReadContext): ArgDef {
  const arg = { name: '', typeAttr: '', numberAttr: '', typeListAttr: '', isRef: false };
  let code = 0;
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    switch (reader.field) {
      case ARG_DEF.name:
        arg.name = reader.string();
        break;
      case ARG_DEF.type:
        reader.varint();
        code = reader.low;
        break;
      case ARG_DEF.typeAttr:
        arg.typeAttr = reader.string();
        break;
      case ARG_DEF.numberAttr:
        arg.numberAttr = reader.string();
        break;
      case ARG_DEF.typeListAttr:
        arg.typeListAttr = reader.string();
        break;
      case ARG_DEF.isRef:
        arg.isRef = readBool(reader);
        break;
      default:
        reader.skip();
    }
  }
  const type = dtypeOfCode(code);
  return type === undefined ? arg : { ...arg, type };
}

function readDefault(reader: WireReader, into: Map<string, Attribute>, context: ReadContext): void {
  let name = '';
  let value: Attribute | undefined;
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    if (reader.field === ATTR_DEF.name) name = reader.string();
    else if (reader.field === ATTR_DEF.defaultValue)
      value = readAttrValue(reader.nested('AttrValue'), context);
    else reader.skip();
  }
  if (value !== undefined) into.set(name, value);
}
