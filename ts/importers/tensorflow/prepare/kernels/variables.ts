// Interpreter kernels for variables, constants and pass-through operators. Importer's worker
// thread. Source: tensorflow/core/kernels/{assign_op,variable_ops,resource_variable_ops}.
import { modelInvalid } from '../../../../base/errors.js';
import { elementCount } from '../../../../model/shape.js';
import type { FlatNode, Shape, Tensor } from '../../types.js';
import { attributeOf, typeAttribute } from '../attributes.js';
import { isHandle, type Kernel, type KernelCall, type Kernels } from '../interpreter.js';
import { resourceId } from '../state.js';
import { tensorOf } from '../tensors.js';
import { handleInput, tensorInput, variableValue } from './inputs.js';
import { added, subtracted } from './math.js';

const handle: Kernel = ({ node }) => [{ id: resourceId(node), node }];
const pass: Kernel = ({ inputs }) => inputs;
const nothing: Kernel = () => [];

// For a reference variable the current value, so that a later assignment does not change it.
const identity: Kernel = ({ inputs, session }) =>
  inputs.map((value) => {
    if (!isHandle(value)) return value;
    return session.state.variables.get(value.id) ?? value;
  });

function bool(value: boolean): Tensor {
  return tensorOf('bool', [], [value ? 1 : 0]);
}

function isCompatible(declared: Shape, actual: readonly number[]): boolean {
  return (
    declared === undefined ||
    (declared.length === actual.length &&
      declared.every((dim, axis) => dim === undefined || dim === actual[axis]))
  );
}

/**
 * Errors: ModelInvalid if the variable's type or shape differs. Old graphs use a scalar's shape for
 * an unknown one, so it is only enforced for resource variables.
 */
export function checkFits(node: FlatNode, value: Tensor): void {
  const dtype = typeAttribute(node.attributes, 'dtype');
  const shape = attributeOf(node.attributes, 'shape', 'shape');
  const isUnknown = node.op !== 'VarHandleOp' && shape?.length === 0;
  if (dtype !== undefined && dtype !== value.dtype) {
    throw modelInvalid(
      `variable ${JSON.stringify(node.name)}: expected ${dtype}, got ${value.dtype}`,
    );
  }
  if (isUnknown || isCompatible(shape, value.shape)) return;
  const expected = (shape ?? []).map((dim) => dim ?? '?').join(', ');
  throw modelInvalid(
    `variable ${JSON.stringify(node.name)}: expected shape [${expected}], ` +
      `got [${value.shape.join(', ')}]`,
  );
}

const assign: Kernel = (call) => {
  const variable = handleInput(call, 0);
  const value = tensorInput(call, 1);
  const isChecked =
    attributeOf(call.node.attributes, 'validate_shape', 'bool') ?? call.node.op === 'Assign';
  if (isChecked || call.node.op === 'AssignVariableOp') checkFits(variable.node, value);
  call.session.state.setVariable(variable.id, value);
  return [variable];
};

function update(compute: (one: Tensor, other: Tensor) => Tensor): Kernel {
  return (call) => {
    const variable = handleInput(call, 0);
    const value = compute(variableValue(call, variable), tensorInput(call, 1));
    call.session.spend(elementCount(value.shape));
    call.session.state.setVariable(variable.id, value);
    return [variable];
  };
}

const isInitialised: Kernel = (call: KernelCall) => {
  const { id } = handleInput(call, 0);
  const failure = call.session.state.spoiled.get(id);
  if (failure !== undefined) throw modelInvalid(`${failure.op} failed earlier: ${failure.reason}`);
  return [bool(call.session.state.variables.has(id))];
};

const constant: Kernel = ({ node }) => {
  const value = attributeOf(node.attributes, 'value', 'tensor');
  if (value === undefined) throw modelInvalid('the constant has no value');
  return [value];
};

export const VARIABLE_KERNELS: Kernels = {
  Const: constant,
  HostConst: constant,
  VarHandleOp: handle,
  Variable: handle,
  VariableV2: handle,
  Identity: identity,
  Snapshot: identity,
  IdentityN: identity,
  RefIdentity: pass,
  StopGradient: identity,
  PreventGradient: identity,
  EnsureShape: identity,
  CheckNumerics: identity,
  PlaceholderWithDefault: identity,
  _Arg: pass,
  NoOp: nothing,
  ControlTrigger: nothing,
  Assert: nothing,
  DisableCopyOnRead: nothing,
  Assign: assign,
  AssignVariableOp: assign,
  AssignAdd: update(added),
  AssignAddVariableOp: update(added),
  AssignSub: update(subtracted),
  AssignSubVariableOp: update(subtracted),
  ReadVariableOp: (call) => [variableValue(call, handleInput(call, 0))],
  IsVariableInitialized: isInitialised,
  VarIsInitializedOp: isInitialised,
  Placeholder: () => {
    throw modelInvalid('it is not fed while the model is loaded');
  },
};
