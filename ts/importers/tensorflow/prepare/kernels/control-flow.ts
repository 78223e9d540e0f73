// Interpreter kernels for branches with a known condition. Importer's worker thread. Source:
// tensorflow/core/kernels/{control_flow_ops,functional_ops,case_op}.
import { modelInvalid } from '../../../../base/errors.js';
import type { FunctionRef, Tensor } from '../../types.js';
import { attributeOf, functionAttribute } from '../attributes.js';
import { isHandle, type Kernel, type KernelCall, type Kernels } from '../interpreter.js';
import { computedCount, numbersOf, scalarOf, stringsOf, tensorOf } from '../tensors.js';
import { tensorInput } from './inputs.js';

// Output 0 is the false branch's.
const choose: Kernel = (call) => {
  const [value] = call.inputs;
  return scalarOf(tensorInput(call, 1)) ? [undefined, value] : [value, undefined];
};

const merge: Kernel = ({ inputs }) => {
  const index = inputs.findIndex((value) => value !== undefined);
  if (index < 0) return [];
  return [inputs[index], tensorOf('int32', [], [index])];
};

// A scalar is judged by its value, any other tensor by whether it has elements.
function isTrue(tensor: Tensor): boolean {
  if (tensor.shape.length > 0) return computedCount(tensor.shape) > 0;
  if (tensor.dtype === 'string') return (stringsOf(tensor)[0]?.length ?? 0) > 0;
  return Boolean(numbersOf(tensor)[0]);
}

function branch(call: KernelCall, ref: FunctionRef | undefined): ReturnType<Kernel> {
  if (ref === undefined) throw modelInvalid('a branch function is missing');
  return call.call(ref, call.inputs.slice(1));
}

const conditional: Kernel = (call) => {
  const name = isTrue(tensorInput(call, 0)) ? 'then_branch' : 'else_branch';
  return branch(call, functionAttribute(call.node.attributes, name));
};

const oneOfMany: Kernel = (call) => {
  const branches = attributeOf(call.node.attributes, 'branches', 'list')?.functions ?? [];
  const index = Number(scalarOf(tensorInput(call, 0)));
  return branch(call, branches[index] ?? branches.at(-1));
};

// The selected value; both sides exist.
const select: Kernel = (call) => {
  const condition = tensorInput(call, 0);
  if (condition.shape.length > 0) throw modelInvalid('expected a scalar condition');
  const value = call.inputs[scalarOf(condition) ? 1 : 2];
  return [isHandle(value) ? undefined : value];
};

export const CONTROL_FLOW_KERNELS: Kernels = {
  Switch: choose,
  RefSwitch: choose,
  Merge: merge,
  RefMerge: merge,
  If: conditional,
  StatelessIf: conditional,
  Case: oneOfMany,
  StatelessCase: oneOfMany,
  Select: select,
  SelectV2: select,
};
