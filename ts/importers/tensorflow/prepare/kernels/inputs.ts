// Reads the inputs of kernels: as tensors, as handles, by position. Importer's worker thread.
import { modelInvalid } from '../../../../base/errors.js';
import type { Tensor } from '../../types.js';
import { type Handle, isHandle, type KernelCall } from '../interpreter.js';

/**
 * Input `index` as a tensor; for a reference variable its current value. Errors: ModelInvalid: no
 * such input, a resource, a variable without a value.
 */
export function tensorInput(call: KernelCall, index: number): Tensor {
  const value = call.inputs[index];
  if (value === undefined) throw modelInvalid(`it has no input ${index}`);
  return isHandle(value) ? variableValue(call, value) : value;
}

/** All inputs from `start` on as tensors. */
export function tensorInputs(call: KernelCall, start: number, end?: number): Tensor[] {
  return call.inputs.slice(start, end).map((_, index) => tensorInput(call, start + index));
}

/** Errors: ModelInvalid if the input is not a handle. */
export function handleInput(call: KernelCall, index: number): Handle {
  const value = call.inputs[index];
  if (value !== undefined && isHandle(value)) return value;
  throw modelInvalid(`expected a variable or resource as input ${index}`);
}

/** Errors: ModelInvalid if the variable has no value, or lost it because of a failed operation. */
export function variableValue({ session }: KernelCall, { id, node }: Handle): Tensor {
  const value = session.state.variables.get(id);
  if (value !== undefined) return value;
  const failure = session.state.spoiled.get(id);
  const reason = failure === undefined ? '' : ` (${failure.op} failed: ${failure.reason})`;
  throw modelInvalid(`variable ${JSON.stringify(node.name)} has no value${reason}`);
}
