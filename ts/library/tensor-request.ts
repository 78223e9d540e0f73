// Encodes one request of V2's REST protocol with binary tensors and decodes its response. Pure; any
// thread. Source: docs/reference/protocols/v2-rest.md, Binary tensor data.
import { ErrorCode, ServalError, invalidArgument } from '../base/errors.js';
import type { Datatype } from '../model/snapshot.js';
import { elementBytes, elementValues } from './elements.js';
import { checkedShape, flatten, shapeFor, tensorInput } from './flatten.js';
import { dataTypeOf } from '../model/datatype.js';
import type {
  EncodedTensor,
  InferOptions,
  InputInfo,
  Inputs,
  InputValue,
  Outputs,
  Tensor,
} from './types.js';

/** A body: `jsonBytes` of JSON, then the tensors; -1: JSON only. */
export interface RequestBody {
  readonly body: ArrayBuffer;
  readonly jsonBytes: number;
}

/**
 * Encodes a request's tensors by the model's inputs; an input that the model does not have needs a
 * datatype, and the model refuses it. Errors: InvalidArgument naming input, dimension or element.
 */
export function encodeInputs(infos: readonly InputInfo[], inputs: Inputs): EncodedTensor[] {
  return Object.entries(inputs).map(([name, value]) =>
    encodeInput(
      name,
      value,
      infos.find((one) => one.name === name),
    ),
  );
}

function encodeInput(name: string, given: InputValue, info: InputInfo | undefined): EncodedTensor {
  const where = `input '${name}'`;
  const { data, shape, datatype: named, parameters = {} } = tensorInput(where, given);
  const datatype = info?.datatype ?? (named as Datatype | undefined);
  if (datatype === undefined) throw invalidArgument(where, 'the model has no such input');
  if (named !== undefined && named !== datatype) {
    throw invalidArgument(where, `expected datatype ${datatype}, got ${String(named)}`);
  }
  const type = dataTypeOf(datatype);
  if (type === undefined) throw invalidArgument(where, `there is no datatype ${String(datatype)}`);
  const flat = flatten(where, data, type.kind === 'text');
  const { values } = flat;
  const sized =
    shape === undefined
      ? (flat.shape ?? shapeFor(where, info, values.length))
      : checkedShape(where, shape, values.length);
  const bytes = elementBytes(where, datatype, values);
  return { name, datatype, shape: sized, bytes, parameters };
}

/** Encodes the whole body in one buffer. */
export function tensorBody(
  tensors: readonly EncodedTensor[],
  { outputs, parameters }: InferOptions,
): RequestBody {
  const head = Buffer.from(
    JSON.stringify({
      parameters: { ...parameters, binary_data_output: true },
      inputs: tensors.map(({ name, datatype, shape, bytes, parameters: own }) => ({
        name,
        datatype,
        shape,
        parameters: { ...own, binary_data_size: bytes.length },
      })),
      ...(outputs !== undefined && { outputs: outputs.map((name) => ({ name })) }),
    }),
  );
  const total = tensors.reduce((sum, { bytes }) => sum + bytes.length, head.length);
  const body = new Uint8Array(total);
  body.set(head);
  let at = head.length;
  for (const { bytes } of tensors) {
    body.set(bytes, at);
    at += bytes.length;
  }
  return { body: body.buffer, jsonBytes: head.length };
}

interface AnswerHead {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: Datatype;
    readonly shape: readonly number[];
    readonly parameters?: { readonly binary_data_size?: number };
    readonly data?: readonly unknown[];
  }[];
}

/**
 * Decodes a response's tensors into copies. `jsonBytes` 0: all of it is JSON. Errors: Internal: not
 * a V2 response.
 */
export function tensorAnswer(body: Uint8Array, jsonBytes: number): Outputs {
  const json = Buffer.from(body.buffer, body.byteOffset, jsonBytes === 0 ? body.length : jsonBytes);
  let at = jsonBytes;
  const tensors = parsedHead(json).outputs.map(({ name, datatype, shape, parameters, data }) => {
    const size = parameters?.binary_data_size;
    if (size === undefined) {
      const bytes = elementBytes(`output '${name}'`, datatype, (data?.flat(Infinity) ?? []) as []);
      return { name, datatype, shape, data: elementValues(datatype, bytes) };
    }
    const bytes = body.subarray(at, at + size);
    at += size;
    return { name, datatype, shape, data: elementValues(datatype, bytes) };
  });
  return byName(tensors);
}

function parsedHead(json: Buffer): AnswerHead {
  const head: unknown = JSON.parse(json.toString('utf8'));
  const { outputs } = (head ?? {}) as Partial<AnswerHead>;
  if (!Array.isArray(outputs)) {
    throw new ServalError(ErrorCode.Internal, 'an answer without outputs');
  }
  return head as AnswerHead;
}

/** Not assigned, because an output may be called "__proto__". */
export function byName(tensors: readonly Tensor[]): Outputs {
  return Object.fromEntries(tensors.map((one) => [one.name, one]));
}
