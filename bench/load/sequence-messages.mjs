// Messages of one step of a recurrent cell: inputs x [1, width] and, if the client has the state, h
// and c [1, state]. Pure.
import { bytesOf } from '../bodies.mjs';
import { modelInferRequest, rawOutputs } from '../wire.mjs';

export const STATES = ['h', 'c'];

/** The step that is sent every time. */
export const stepOf = ({ width }) =>
  Float32Array.from({ length: width }, (_, i) => Math.sin(i + 1) / 2);

/** The states of a sequence that begins, as bytes. */
export const zeroStates = ({ state }) => STATES.map(() => Buffer.alloc(state * 4));

/**
 * ModelInferRequest of a step. `states`: bytes of h and c, which the client has; else `id`, `start`
 * and `end` of the sequence, whose state the server has.
 */
export function cellRequest(spec, { states, id, start, end }) {
  const tensor = (name, length) => ({ name, datatype: 'FP32', shape: [1, length] });
  const x = { tensor: tensor('x', spec.width), bytes: bytesOf(stepOf(spec)) };
  if (states === undefined) {
    const parameters = { sequence_id: id, sequence_start: start, sequence_end: end };
    return modelInferRequest(spec.model, [x], ['h_next'], parameters);
  }
  const given = STATES.map((name, at) => ({
    tensor: tensor(name, spec.state),
    bytes: states[at],
  }));
  return modelInferRequest(spec.model, [x, ...given], ['h_next', 'c_next']);
}

/** The states of a response to a request with states, as bytes. */
export function nextStates(answer) {
  const outputs = rawOutputs(answer);
  if (outputs.length !== STATES.length) throw new Error(`${outputs.length} outputs, expected 2`);
  return outputs;
}
