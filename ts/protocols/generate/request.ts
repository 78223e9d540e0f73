// The request of Triton's generate extension, a flat JSON object, as a V2 request. A member is the
// input of its name, or a parameter. The listener's thread; pure. Source: Triton's
// docs/protocol/extension_generate.md, src/http_server.cc (GenerateRequestClass); v2-protocol.md.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { echo } from '../../base/text.js';
import type { SignatureInfo } from '../../model/snapshot.js';
import { exactText, ExactNumber, type ExactValue, parseExact } from '../frames/exact-json.js';

type TensorInfo = SignatureInfo['inputs'][number];

const PARAMETERS = 'parameters';
const ID = 'id';
/** V2's own parameter, which would make the response binary. */
const BINARY_OUTPUT = 'binary_data_output';

/** The values of one input. */
interface Values {
  readonly flat: readonly ExactValue[];
  /** The lengths of nested lists; undefined: one value, or a list of values. */
  readonly shape: readonly number[] | undefined;
}

/** Errors: MalformedBody: not a JSON object; InvalidArgument: a member that is neither. */
export function generateRequest(text: string, signature: SignatureInfo): string {
  const root = parseExact(text);
  if (!(root instanceof Map)) {
    throw new ServalError(ErrorCode.MalformedBody, `expected a JSON object, got ${kindOf(root)}`);
  }
  const request = new Request(signature);
  for (const [name, value] of root as ReadonlyMap<string, ExactValue>) {
    if (name === PARAMETERS && value instanceof Map && !request.isInput(name)) {
      for (const [inner, one] of value as ReadonlyMap<string, ExactValue>) request.add(inner, one);
    } else if (name === ID && typeof value === 'string' && !request.isInput(name)) {
      request.id = value;
    } else {
      request.add(name, value);
    }
  }
  return request.text();
}

class Request {
  id: string | undefined;
  readonly #infos: ReadonlyMap<string, TensorInfo>;
  readonly #inputs = new Map<string, string>();
  readonly #parameters = new Map<string, string>();

  constructor({ inputs, optionalInputs = [] }: SignatureInfo) {
    this.#infos = new Map([...inputs, ...optionalInputs].map((info) => [info.name, info]));
  }

  isInput(name: string): boolean {
    return this.#infos.has(name);
  }

  add(name: string, value: ExactValue): void {
    if (this.#inputs.has(name) || this.#parameters.has(name)) {
      throw invalid(`expected ${echo(name)} once, got it beside and in ${PARAMETERS}`);
    }
    const info = this.#infos.get(name);
    if (info !== undefined) this.#inputs.set(name, inputText(info, value));
    else this.#parameters.set(name, this.#parameterText(name, value));
  }

  #parameterText(name: string, value: ExactValue): string {
    if (name === BINARY_OUTPUT) throw invalid(`${name}: responses are JSON here; use /infer`);
    if (typeof value === 'string' || typeof value === 'boolean') return exactText(value, false);
    if (value instanceof ExactNumber && !/[NI]/.test(value.text)) return value.text;
    const inputs = [...this.#infos.keys()].map(echo).join(', ') || 'none';
    throw invalid(
      `${echo(name)}: expected an input of the model (${inputs}), or a parameter that is a ` +
        `string, number or boolean, got ${kindOf(value)}`,
    );
  }

  text(): string {
    const id = this.id === undefined ? '' : `"id":${JSON.stringify(this.id)},`;
    const members = [...this.#parameters].map(([name, one]) => `${JSON.stringify(name)}:${one}`);
    const parameters = members.length === 0 ? '' : `"parameters":{${members.join(',')}},`;
    return `{${id}${parameters}"inputs":[${[...this.#inputs.values()].join(',')}]}`;
  }
}

function inputText(info: TensorInfo, value: ExactValue): string {
  const values = valuesOf(info.name, value);
  const shape = values.shape ?? filled(info, values.flat.length);
  return (
    `{"name":${JSON.stringify(info.name)},"datatype":"${info.datatype}",` +
    `"shape":[${shape.join(',')}],"data":${exactText(values.flat, false)}}`
  );
}

/** Errors: InvalidArgument: an object, or lists of different lengths. */
function valuesOf(name: string, value: ExactValue): Values {
  if (value instanceof Map) {
    throw invalid(`input ${echo(name)}: expected a value or a list, got an object`);
  }
  if (!Array.isArray(value)) return { flat: [value], shape: undefined };
  const list = value as readonly ExactValue[];
  if (!list.some((one) => Array.isArray(one) || one instanceof Map)) {
    return { flat: list, shape: undefined };
  }
  const parts = list.map((one) => valuesOf(name, one));
  const shapes = parts.map((part, i) => {
    const isList = Array.isArray(list[i]);
    return isList ? (part.shape ?? [part.flat.length]) : [];
  });
  const [first = []] = shapes;
  const other = shapes.find((shape) => shape.join() !== first.join());
  if (other !== undefined) {
    throw invalid(
      `input ${echo(name)}: expected lists of equal shapes, got [${first.join(', ')}] and ` +
        `[${other.join(', ')}]`,
    );
  }
  return { flat: parts.flatMap(({ flat }) => flat), shape: [list.length, ...first] };
}

/**
 * The model's shape for `count` values: the last dynamic dim has what the fixed ones leave, others
 * are 1. Errors: InvalidArgument: it does not fit.
 */
function filled({ name, shape, unknownRank }: TensorInfo, count: number): readonly number[] {
  if (unknownRank) return [count];
  const fixed = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const last = shape.lastIndexOf(-1);
  const left = count / fixed;
  if (last < 0 ? count !== fixed : !Number.isInteger(left)) {
    const expected = last < 0 ? `${fixed} values` : `a multiple of ${fixed} values`;
    const of = `for the shape [${shape.join(', ')}]`;
    throw invalid(`input ${echo(name)}: expected ${expected} ${of}, got ${count}`);
  }
  return shape.map((dim, i) => (dim !== -1 ? dim : i === last ? left : 1));
}

function kindOf(value: ExactValue): string {
  if (value === null) return 'null';
  if (value instanceof Map) return 'an object';
  if (Array.isArray(value)) return 'a list';
  return value instanceof ExactNumber ? value.text : `a ${typeof value}`;
}

function invalid(text: string): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, text);
}
