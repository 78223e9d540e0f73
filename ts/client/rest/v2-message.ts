// Requests and responses of V2 over REST: JSON, with the tensors as bytes after it or as lists in
// it. Pure; any thread of any JavaScript runtime. Source: docs/reference/protocols/v2-rest.md.
import { fromBytes, fromJson, isBinary, toBytes, arrayName, textOf } from '../core/elements.js';
import { badResponse, wrongInput } from '../core/errors.js';
import { jsonText, parseJson } from '../core/json.js';
import { elementCount, type FlatTensor } from '../core/tensors.js';
import type {
  InferOptions,
  InferResult,
  Outputs,
  Parameters,
  RequestedOutput,
  Tensor,
} from '../core/types.js';

export interface V2Body {
  readonly body: Uint8Array | string;
  /** The length of the JSON if bytes follow it. */
  readonly jsonBytes: number | undefined;
}

/** The parameters of a request, with those that have an option. */
export function requestParameters(options: InferOptions): Record<string, unknown> {
  const { parameters, sequence, priority, queueTimeoutUs } = options;
  return {
    ...parameters,
    ...(sequence && {
      sequence_id: sequence.id,
      sequence_start: sequence.start ?? false,
      sequence_end: sequence.end ?? false,
    }),
    ...(priority !== undefined && { priority }),
    ...(queueTimeoutUs !== undefined && { timeout: queueTimeoutUs }),
  };
}

export const requestedOutputs = ({
  outputs = [],
  classification,
}: InferOptions): RequestedOutput[] =>
  outputs.map((one) => {
    const asked = typeof one === 'string' ? { name: one } : one;
    return { classification, ...asked };
  });

const orNothing = (parameters: object): object | undefined =>
  Object.keys(parameters).length > 0 ? parameters : undefined;

/** `isBinary`: whether the server accepts tensors as bytes. Errors: INVALID_ARGUMENT. */
export function v2Body(
  tensors: readonly FlatTensor[],
  options: InferOptions,
  binary: boolean,
): V2Body {
  const pieces: Uint8Array[] = [];
  const inputs = tensors.map(({ name, datatype, shape, values, parameters }) => {
    const head = { name, datatype, shape };
    // null is a missing value of a tabular model, which only JSON has.
    const hasNull = Array.isArray(values) && values.includes(null);
    if (!binary || !isBinary(datatype) || hasNull) {
      return { ...head, parameters: orNothing(parameters), data: jsonData(name, datatype, values) };
    }
    const bytes = toBytes(`input '${name}'`, datatype, values);
    pieces.push(bytes);
    return { ...head, parameters: { ...parameters, binary_data_size: bytes.length } };
  });
  const asked = requestedOutputs(options).map(({ name, classification, parameters }) => ({
    name,
    parameters: orNothing({
      ...parameters,
      ...(binary && { binary_data: true }),
      ...(classification !== undefined && { classification }),
    }),
  }));
  const parameters = {
    ...requestParameters(options),
    ...(binary && asked.length === 0 && { binary_data_output: true }),
  };
  const document = {
    id: options.id,
    parameters: orNothing(parameters),
    inputs,
    outputs: asked.length > 0 ? asked : undefined,
  };
  const json = jsonText(document);
  return pieces.length === 0 ? { body: json, jsonBytes: undefined } : joined(json, pieces);
}

function joined(json: string, pieces: readonly Uint8Array[]): V2Body {
  const head = new TextEncoder().encode(json);
  const all = [head, ...pieces];
  const body = new Uint8Array(all.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of all) {
    body.set(piece, at);
    at += piece.length;
  }
  return { body, jsonBytes: head.length };
}

/** Values in a request's JSON, checked as their bytes would be. */
function jsonData(name: string, datatype: string, values: ArrayLike<unknown>): unknown {
  const where = `input '${name}'`;
  const list = Array.from(values, (value, i) => {
    const text = arrayName(value) === 'Uint8Array' ? textOf(value as Uint8Array) : value;
    if (typeof text !== 'object' || text === null) return text;
    throw wrongInput(
      `${where}: element ${i}`,
      'UTF-8 for a request without binary data',
      'other bytes',
    );
  });
  if (!isBinary(datatype) || list.includes(null)) return list;
  const bytes = toBytes(where, datatype, values as ArrayLike<never>);
  if (datatype === 'BYTES') return list;
  const numbers = fromBytes(where, datatype, bytes, list.length);
  return datatype === 'BOOL' ? Array.from(numbers as Uint8Array, (one) => one === 1) : numbers;
}

interface WireTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: Parameters;
  readonly data?: unknown;
}
interface WireResponse {
  readonly model_name?: string;
  readonly model_version?: string;
  readonly id?: string;
  readonly parameters?: Parameters;
  readonly outputs?: readonly WireTensor[];
}

/** `jsonBytes`: the length header; undefined: no bytes follow. Errors: INTERNAL. */
export function v2Result(
  body: Uint8Array,
  jsonBytes: number | undefined,
  raw?: boolean,
): InferResult {
  const json = new TextDecoder().decode(body.subarray(0, jsonBytes));
  const response = parseJson('infer', json) as WireResponse;
  if (!Array.isArray(response?.outputs)) throw badResponse('infer', 'a list of outputs', 'none');
  let at = jsonBytes ?? body.length;
  const outputs = response.outputs.map((one: WireTensor): Tensor => {
    const { name, datatype, shape, parameters: given = {} } = one;
    const where = `output '${name}'`;
    const { binary_data_size: size, ...parameters } = given;
    const facts = { name, datatype, shape, parameters };
    if (size === undefined) {
      const list = Array.isArray(one.data) ? one.data.flat(Infinity) : [one.data];
      return {
        ...facts,
        data: fromJson(where, datatype, isBinary(datatype) ? list : (one.data as []), raw),
      };
    }
    const bytes = body.subarray(at, at + Number(size));
    if (bytes.length !== size) throw badResponse(where, `${size} bytes`, `${bytes.length}`);
    at += bytes.length;
    return { ...facts, data: fromBytes(where, datatype, bytes, elementCount(shape), raw) };
  });
  return {
    model: response.model_name ?? '',
    version: response.model_version ?? '',
    id: response.id ?? '',
    parameters: response.parameters ?? {},
    outputs: byName(outputs),
  };
}

export const byName = (outputs: readonly Tensor[]): Outputs =>
  Object.fromEntries(outputs.map((one) => [one.name, one]));
