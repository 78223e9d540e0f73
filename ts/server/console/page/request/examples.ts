// A working request for each protocol that a browser speaks, made from a signature. A word replaces
// values that are too long to read; sending substitutes the values. Pure; the browser's thread.
import { CLASSIFY_METHOD, REGRESS_METHOD } from '../../../../base/signatures.js';
import { sampleRequest } from '../../../../protocols/sample-request.js';
import { dataTypeOf } from '../../../../model/datatype.js';
import type { SignatureInfo, TensorInfo } from '../../../../model/snapshot.js';
import { part } from '../api.js';
import type { ModelFacts } from '../models.js';
import { pictureOf, type Picture } from './pictures.js';

/** Stands for values: `@random` for all of an input, `@image` for those of the picture. */
export const RANDOM = '"@random"';
export const IMAGE = '"@image"';

/** An input that sending fills, with the shape that it gets. */
export interface Filled {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** V1 takes lists in lists, V2 one list. */
  readonly nested: boolean;
  readonly picture: Picture | undefined;
}

export interface Example {
  readonly id: string;
  readonly label: string;
  readonly path: string;
  readonly body: string;
  readonly type: 'json' | 'csv';
  /** In the order in which their words stand in the body. */
  readonly filled: readonly Filled[];
  readonly note?: string;
}

/** Free dims of pictures. */
const SIDE = 224;
/** Which words, days and lists a model takes is not in its signature. */
const PLACEHOLDERS =
  'Strings, dates and lists are placeholders: replace them by values that the model knows.';
const TEXT_VALUES: Readonly<Record<string, unknown>> = {
  DATE: '2024-01-31',
  TIMESTAMP: '2024-01-31T12:00:00Z',
  DECIMAL: 1.5,
  VECTOR: [1, 2],
};

const pretty = (json: string): string => {
  const text = JSON.stringify(JSON.parse(json), undefined, 2);
  // Lists of plain values on one line.
  return text.replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_all, inner: string) => {
    const line = inner.replace(/,\s+/g, ', ');
    return line.length > 2000 ? `[${inner}]` : `[${line}]`;
  });
};

function shapeOf(input: TensorInfo, picture: Picture | undefined): readonly number[] {
  if (input.unknownRank) return [1];
  return input.shape.map((dim, axis) => {
    if (dim >= 0) return dim;
    const isSide = picture !== undefined && (axis === picture.rows || axis === picture.columns);
    return isSide ? SIDE : 1;
  });
}

function filledOf(input: TensorInfo, nested: boolean): Filled {
  const picture = pictureOf(input);
  const shape = shapeOf(input, picture);
  return { name: input.name, datatype: input.datatype, shape, nested, picture };
}

const word = ({ picture }: Filled): string => (picture === undefined ? RANDOM : IMAGE);

function filledV2({ inputs }: SignatureInfo): Pick<Example, 'body' | 'filled'> {
  const filled = inputs.map((input) => filledOf(input, false));
  const tensors = filled.map((one) => {
    const { name, datatype, shape } = one;
    const head = JSON.stringify({ name, datatype, shape }).slice(0, -1);
    return `${head},"data":${word(one)}}`;
  });
  return { body: pretty(`{"inputs":[${tensors.join(',')}]}`), filled };
}

function filledV1({ inputs }: SignatureInfo): Pick<Example, 'body' | 'filled'> {
  const filled = inputs.map((input) => filledOf(input, true));
  const named = filled.map((one) => `${JSON.stringify(one.name)}:${word(one)}`);
  const [only] = filled;
  const inner = filled.length === 1 && only !== undefined ? word(only) : `{${named.join(',')}}`;
  return { body: pretty(`{"inputs":${inner}}`), filled };
}

function withSignature(body: string, { name }: SignatureInfo, isFirst: boolean): string {
  if (isFirst) return pretty(body);
  return pretty(`{"signature_name":${JSON.stringify(name)},${body.slice(1)}`);
}

/** Whether an input is too long to read, or one that only a picture is right for. */
function isLong(signature: SignatureInfo): boolean {
  if (signature.inputs.some((input) => pictureOf(input) !== undefined)) return true;
  return sampleRequest(signature) === undefined;
}

function tensorExamples(model: string, signatures: readonly SignatureInfo[]): readonly Example[] {
  const examples: Example[] = [];
  for (const [index, signature] of signatures.entries()) {
    const isFirst = index === 0;
    const suffix = isFirst ? '' : ` · ${signature.name}`;
    const sample = isLong(signature) ? undefined : sampleRequest(signature);
    const verb = verbOf(signature);
    if (isFirst && verb === 'predict') {
      const made = sample ? { body: pretty(sample.v2), filled: [] } : filledV2(signature);
      const path = `/v2/models/${part(model)}/infer`;
      examples.push({ id: 'v2', label: 'V2 infer', path, type: 'json', ...made });
    }
    const path = `/v1/models/${part(model)}:${verb}`;
    const id = `${verb}${index}`;
    const shown = { id, label: `V1 ${verb}${suffix}`, path, type: 'json' } as const;
    if (verb !== 'predict') {
      const body = withSignature('{"examples":[{"x":1.0}]}', signature, isFirst);
      const note = 'Name the features that the model parses from an Example.';
      examples.push({ ...shown, body, filled: [], note });
    } else if (sample) {
      examples.push({ ...shown, body: withSignature(sample.v1, signature, isFirst), filled: [] });
    } else {
      const made = filledV1(signature);
      const body = withSignature(made.body, signature, isFirst);
      examples.push({ ...shown, body, filled: made.filled });
    }
  }
  return examples;
}

function verbOf({ methodName }: SignatureInfo): 'predict' | 'classify' | 'regress' {
  if (methodName === CLASSIFY_METHOD) return 'classify';
  return methodName === REGRESS_METHOD ? 'regress' : 'predict';
}

/** One value of a column. */
function columnValue({ datatype }: TensorInfo): unknown {
  if (Object.hasOwn(TEXT_VALUES, datatype)) return TEXT_VALUES[datatype];
  const { kind } = dataTypeOf(datatype);
  if (kind === 'text') return 'a';
  if (kind === 'bool') return true;
  return kind === 'float' ? 1.5 : 1;
}

const LEAP_TYPES: Readonly<Record<string, string>> = {
  BOOL: 'boolean',
  INT8: 'byte',
  INT16: 'short',
  INT32: 'integer',
  INT64: 'long',
  FP32: 'float',
};

function leapType({ datatype }: TensorInfo): unknown {
  if (datatype === 'VECTOR') return { type: 'tensor', base: 'double', dimensions: [2] };
  const { kind } = dataTypeOf(datatype);
  return LEAP_TYPES[datatype] ?? (kind === 'float' ? 'double' : 'string');
}

const cell = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function tableV2(inputs: readonly TensorInfo[]): string {
  const tensors = inputs.map((input) => {
    const isVector = input.datatype === 'VECTOR';
    const shape = input.shape.length > 1 && !isVector ? [1, 1] : [1];
    return { name: input.name, datatype: input.datatype, shape, data: [columnValue(input)] };
  });
  return JSON.stringify({ inputs: tensors });
}

function tableExamples(model: string, signature: SignatureInfo): readonly Example[] {
  const { inputs } = signature;
  const values = inputs.map((input) => [input.name, columnValue(input)] as const);
  const sample = sampleRequest(signature, { examples: {}, untyped: [] });
  const note = sample === undefined ? { note: PLACEHOLDERS } : {};
  const rows = JSON.stringify({ instances: [Object.fromEntries(values)] });
  const leap = {
    schema: { fields: inputs.map((input) => ({ name: input.name, type: leapType(input) })) },
    rows: [
      inputs.map((input) =>
        input.datatype === 'VECTOR'
          ? { values: columnValue(input), dimensions: [2] }
          : columnValue(input),
      ),
    ],
  };
  const csv = [values.map(([name]) => cell(name)), values.map(([, value]) => cell(value))];
  const csvBody = `${csv.map((line) => line.join(',')).join('\n')}\n`;
  const at = (id: string, label: string, path: string, body: string): Example => {
    const type = id === 'csv' ? 'csv' : 'json';
    return { id, label, path, body, type, filled: [], ...note };
  };
  const name = part(model);
  return [
    at('predict0', 'V1 rows', `/v1/models/${name}:predict`, pretty(sample?.v1 ?? rows)),
    at('v2', 'V2 infer', `/v2/models/${name}/infer`, pretty(sample?.v2 ?? tableV2(inputs))),
    at('csv', 'CSV', `/v2/models/${name}/csv`, csvBody),
    at('leap', 'LeapFrame', `/models/${name}/transform`, pretty(JSON.stringify(leap))),
  ];
}

/** The first one is the protocol that most clients of the model speak. */
export function examplesOf(model: string, { signatures, isTable }: ModelFacts): readonly Example[] {
  const [first] = signatures;
  if (first === undefined) return [];
  return isTable ? tableExamples(model, first) : tensorExamples(model, signatures);
}
