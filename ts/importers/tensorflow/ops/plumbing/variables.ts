// Reading variables, and assigning them while serving (state of the version). Importer's worker
// thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';

const handle: Lowering = (cx) => ({ kind: 'variable', key: cx.around.variableKey(cx.node) });

function keyOf(cx: OpContext, index: number): string {
  const value = cx.input(index);
  return value.kind === 'variable'
    ? value.key
    : cx.fail(`input ${index} is a ${value.kind}, expected a variable`);
}

const read: Lowering = (cx) => cx.around.readVariable(keyOf(cx, 0));

/** The new value is the output of the reference forms; the resource forms have none. */
function assigning(
  combine: (cx: OpContext, old: TensorValue, value: TensorValue) => TensorValue,
  isReference: boolean,
): Lowering {
  return (cx) => {
    const key = keyOf(cx, 0);
    const value = combine(cx, cx.around.readVariable(key), cx.tensor(1));
    cx.around.assignVariable(key, value);
    return isReference ? value : [];
  };
}

/** The stored value must be a value of the graph at this point, even if it is a constant. */
const replace = (cx: OpContext, _old: TensorValue, value: TensorValue): TensorValue =>
  value.constant === undefined ? value : cx.op('Identity', [value]);
const add = (cx: OpContext, old: TensorValue, value: TensorValue): TensorValue =>
  cx.op('Add', [old, value]);
const subtract = (cx: OpContext, old: TensorValue, value: TensorValue): TensorValue =>
  cx.op('Sub', [old, value]);

/** Whether a variable has a value: always, because the load checks it. */
const initialised: Lowering = (cx) => cx.scalar('bool', 1);

const SERVED_STATE = 'in a signature: state of the version; requests run one at a time';

export const VARIABLES: Operators = {
  Variable: { lower: handle, dtypes: 'any' },
  VariableV2: { lower: handle, dtypes: 'any' },
  VarHandleOp: { lower: handle, dtypes: 'any' },
  ReadVariableOp: { lower: read, dtypes: 'any' },
  Assign: { lower: assigning(replace, true), dtypes: 'any', note: SERVED_STATE },
  AssignAdd: { lower: assigning(add, true), note: SERVED_STATE },
  AssignSub: { lower: assigning(subtract, true), note: SERVED_STATE },
  AssignVariableOp: { lower: assigning(replace, false), dtypes: 'any', note: SERVED_STATE },
  AssignAddVariableOp: { lower: assigning(add, false), note: SERVED_STATE },
  AssignSubVariableOp: { lower: assigning(subtract, false), note: SERVED_STATE },
  IsVariableInitialized: { lower: initialised, dtypes: 'any' },
  VarIsInitializedOp: { lower: initialised, dtypes: 'any' },
};
