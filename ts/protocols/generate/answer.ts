// The response of Triton's generate extension: the members of a V2 response, flat. The listener's
// thread; pure. Source: Triton's docs/protocol/extension_generate.md; v2-protocol.md.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { exactText, type ExactValue, parseExact } from '../frames/exact-json.js';
import { memberOf } from '../frames/tensors.js';

const HEAD = ['id', 'model_name', 'model_version'];

/** An output of one value is that value, others are lists. */
export function generateAnswer(text: string): string {
  const root = parseExact(text);
  const answer = new Map<string, ExactValue>();
  for (const name of HEAD) {
    const value = memberOf(root, name);
    if (value !== undefined) answer.set(name, value);
  }
  const outputs = memberOf(root, 'outputs');
  if (!Array.isArray(outputs)) throw broken();
  for (const output of outputs as readonly ExactValue[]) {
    const [name, data] = [memberOf(output, 'name'), memberOf(output, 'data')];
    if (typeof name !== 'string' || !Array.isArray(data)) throw broken();
    const values = data as readonly ExactValue[];
    answer.set(name, values.length === 1 ? (values[0] ?? null) : values);
  }
  return exactText(answer, false);
}

function broken(): ServalError {
  return new ServalError(ErrorCode.Internal, 'a V2 response without outputs in JSON');
}
