// Converts bodies of REST requests, JSON and V2's JSON followed by binary data, to JSON text
// without line breaks. Numbers keep their text. Control plane, main thread; pure. Errors:
// ServalError if the bytes are not such a body. Source: Predict Protocol V2, binary data extension;
// tfserving.md 1.
import { dataTypeOf } from '../../../model/datatype.js';
import type { Datatype } from '../../../model/snapshot.js';
import {
  ExactNumber,
  exactText,
  parseExact,
  type ExactObject,
  type ExactValue,
} from '../../../protocols/frames/exact-json.js';
import type { ValuesMax } from '../../../config/observation/request-log-settings.js';
import { TensorValues } from './tensor-values.js';

const UTF8 = new TextDecoder('utf-8', { fatal: true });
/** Members of V1 bodies that have values, possibly as nested lists. */
const V1_VALUES = new Set(['instances', 'inputs', 'predictions', 'outputs', 'examples', 'results']);
const V1_CONTEXT = 'context';

const isObject = (value: ExactValue | undefined): value is ExactObject => value instanceof Map;
const isList = (value: ExactValue | undefined): value is readonly ExactValue[] =>
  Array.isArray(value);

/** Keeps only the first values of nested lists, up to a limit. */
class Cut {
  leftOut = 0;
  #left: number;

  constructor(valuesMax: ValuesMax) {
    this.#left = valuesMax;
  }

  of(value: ExactValue): ExactValue | undefined {
    if (isList(value)) return this.#kept(value.map((one) => this.of(one)));
    if (isObject(value)) {
      const kept = new Map<string, ExactValue>();
      for (const [name, one] of value) {
        const cut = this.of(one);
        if (cut !== undefined) kept.set(name, cut);
      }
      return kept.size === 0 && value.size > 0 ? undefined : kept;
    }
    if (this.#left > 0) {
      this.#left -= 1;
      return value;
    }
    this.leftOut += 1;
    return undefined;
  }

  #kept(values: readonly (ExactValue | undefined)[]): readonly ExactValue[] | undefined {
    const kept = values.filter((one) => one !== undefined);
    return kept.length === 0 && values.length > 0 ? undefined : kept;
  }
}

function withCut(members: ExactObject, names: ReadonlySet<string>, max: ValuesMax): ExactObject {
  const out = new Map<string, ExactValue>();
  let leftOut = 0;
  for (const [name, value] of members) {
    if (!names.has(name)) {
      out.set(name, value);
      continue;
    }
    if (max === 0) continue;
    const cut = new Cut(max);
    const kept = cut.of(value);
    if (kept !== undefined) out.set(name, kept);
    leftOut += cut.leftOut;
  }
  if (leftOut > 0) out.set('values_left_out', new ExactNumber(String(leftOut)));
  return out;
}

const parse = (bytes: Uint8Array): ExactValue => parseExact(UTF8.decode(bytes));
const text = (value: ExactValue): string => exactText(value, true);

/** Converts a V1 body. */
export function v1Text(body: Uint8Array, max: ValuesMax): string {
  const value = parse(body);
  if (!isObject(value) || max === Number.POSITIVE_INFINITY) return text(value);
  return text(withCut(value, max === 0 ? new Set([...V1_VALUES, V1_CONTEXT]) : V1_VALUES, max));
}

/** Converts a V2 body. `jsonBytes`: length of its JSON; binary data follows it. */
export function v2BodyText(
  body: Uint8Array,
  jsonBytes: number,
  member: 'inputs' | 'outputs',
  max: ValuesMax,
): string {
  const value = parse(body.subarray(0, jsonBytes));
  if (!isObject(value)) return text(value);
  const tensors = value.get(member);
  const rest = [...value]
    .filter(([name]) => name !== member)
    .map(([name, one]) => `${JSON.stringify(name)}:${text(one)}`);
  if (!isList(tensors)) return `{${rest.join(',')}}`;
  let at = jsonBytes;
  const texts = tensors.map((tensor) => {
    if (!isObject(tensor)) return text(tensor);
    const bytes = binaryBytes(tensor);
    if (bytes === undefined) return jsonTensorText(tensor, max);
    at += bytes;
    return binaryTensorText(tensor, body.subarray(at - bytes, at), max);
  });
  return `{${[...rest, `"${member}":[${texts.join(',')}]`].join(',')}}`;
}

function binaryBytes(tensor: ExactObject): number | undefined {
  const parameters = tensor.get('parameters');
  const size = isObject(parameters) ? parameters.get('binary_data_size') : undefined;
  return size instanceof ExactNumber ? Number(size.text) : undefined;
}

const jsonTensorText = (tensor: ExactObject, max: ValuesMax): string =>
  text(max === Number.POSITIVE_INFINITY ? tensor : withCut(tensor, new Set(['data']), max));

function binaryTensorText(tensor: ExactObject, raw: Uint8Array, max: ValuesMax): string {
  const datatype = tensor.get('datatype');
  const type = typeof datatype === 'string' ? dataTypeOf(datatype as Datatype) : undefined;
  const members = text(tensor).slice(0, -1);
  if (type === undefined) return `${members}}`;
  const values = new TensorValues(type, max);
  values.addRaw(raw);
  return `${members}${values.members}}`;
}
