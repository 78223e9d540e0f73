// Encodes one request as clients of TensorFlow Serving do: V1's JSON, and PredictionService's
// Predict. Pure; control plane. Source: docs/reference/protocols/v1-rest.md;
// docs/reference/protocols/tf-grpc.md; docs/reference/tabular.md, V1, TensorFlow's Predict.
import { elementCount } from '../../../model/shape.js';
import { ErrorCode, ServalError, invalidArgument } from '../../../base/errors.js';
import { elementValues } from '../../../library/elements.js';
import { isTypedArray, tensorInput } from '../../../library/flatten.js';
import type { EncodedTensor, InputInfo, Inputs } from '../../../library/types.js';
import { columnTensors } from '../../predict/grpc/columns.js';
import { predictRequest } from '../../predict/grpc/predict-request.js';
import { v1Text } from '../../predict/v1-json.js';
import type { RequestPlace } from './place.js';

/** Digits that distinguish adjacent 32-bit floats. */
const FLOAT_DIGITS = 9;

type Parameters = Readonly<Record<string, unknown>>;

/** Rows (`instances`), or the whole tensors by name (`inputs`).
 * Errors: Unimplemented: a tensor with parameters. */
export function v1Body(
  tensors: readonly EncodedTensor[],
  signature: string,
  byRows: boolean,
): Uint8Array {
  for (const { name, parameters } of tensors) checkPlain(name, parameters);
  if (!byRows) {
    const whole = tensors.map((one) => [one.name, nestedTexts(one, 0)[0] ?? '[]'] as const);
    return bodyOf(signature, 'inputs', objectText(whole));
  }
  const columns = tensors.map((one) => [one.name, nestedTexts(one, 1)] as const);
  return bodyOf(signature, 'instances', rowsText(columns));
}

/**
 * For a tabular model: rows by field. Errors: those of v1Body(); InvalidArgument: a column that
 * does not have one cell per row.
 */
export function v1TableBody(columns: Inputs, signature: string): Uint8Array {
  const texts = Object.entries(columns).map(([name, value]) => {
    const { data, shape, parameters = {} } = tensorInput(`input '${name}'`, value);
    checkPlain(name, parameters);
    const cells = Array.isArray(data) || isTypedArray(data) ? [...(data as unknown[])] : [data];
    if (shape !== undefined && shape[0] !== cells.length) {
      throw invalidArgument(`input '${name}'`, `expected a list of ${shape[0] ?? 1} rows`);
    }
    return [name, cells.map(v1Text)] as const;
  });
  return bodyOf(signature, 'instances', rowsText(texts, true));
}

function checkPlain(name: string, parameters: Parameters): void {
  const [first] = Object.keys(parameters);
  if (first === undefined) return;
  const text = `input '${name}': parameters (${first}) can only be sent by V2`;
  throw new ServalError(ErrorCode.Unimplemented, text);
}

function bodyOf(signature: string, form: 'instances' | 'inputs', text: string): Uint8Array {
  const named = signature === '' ? '' : `"signature_name":${JSON.stringify(signature)},`;
  return Buffer.from(`{${named}"${form}":${text}}`);
}

type Texts = readonly (readonly [name: string, texts: readonly string[]])[];

/** A row of one input is its value; others are objects. */
function rowsText(columns: Texts, isNamed = columns.length > 1): string {
  const rows = Array.from({ length: columns[0]?.[1].length ?? 0 }, (_, row) => {
    const values = columns.map(([name, texts]) => [name, texts[row] ?? 'null'] as const);
    return isNamed ? objectText(values) : (values[0]?.[1] ?? 'null');
  });
  return `[${rows.join(',')}]`;
}

const objectText = (members: readonly (readonly [string, string])[]): string =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

/** Nested lists from dimension `depth` on, one for each index of the dimensions before it. */
function nestedTexts({ datatype, shape, bytes }: EncodedTensor, depth: number): readonly string[] {
  const values = Array.from(elementValues(datatype, bytes) as ArrayLike<unknown>);
  let level: readonly string[] = values.map((value) => valueText(datatype, value));
  for (let at = shape.length - 1; at >= depth; at -= 1) {
    const size = shape[at] ?? 0;
    const inner = level;
    level = Array.from({ length: elementCount(shape.slice(0, at)) }, (_, i) => {
      return `[${inner.slice(i * size, (i + 1) * size).join(',')}]`;
    });
  }
  return level;
}

function valueText(datatype: string, value: unknown): string {
  if (datatype === 'BOOL') return value === 0 ? 'false' : 'true';
  const isFloat = datatype === 'FP32' && typeof value === 'number';
  return v1Text(isFloat ? Number(value.toPrecision(FLOAT_DIGITS)) : value);
}

/** PredictRequest. Errors: Unimplemented: a tensor with parameters. */
export function predictMessage(tensors: readonly EncodedTensor[], place: RequestPlace): Buffer {
  for (const { name, parameters } of tensors) checkPlain(name, parameters);
  return predictRequest(place, place.signature, tensors, []);
}

/** The same for a tabular model. Errors: Unimplemented: values that a TensorProto cannot hold. */
export function predictTableMessage(
  infos: readonly InputInfo[],
  columns: Inputs,
  place: RequestPlace,
): Buffer {
  for (const [name, value] of Object.entries(columns)) {
    checkPlain(name, tensorInput(`input '${name}'`, value).parameters ?? {});
  }
  const tensors = columnTensors(infos, columns).map((tensor) => {
    const { name, shape, parameters } = tensor;
    if (shape.some((dim) => dim < 0) || parameters['null_indices'] !== undefined) {
      const text = `input '${name}': missing cells or lists of different lengths`;
      throw new ServalError(ErrorCode.Unimplemented, `${text} can only be sent as JSON`);
    }
    return { ...tensor, parameters: {} };
  });
  return predictRequest(place, place.signature, tensors, []);
}
