// Small valid requests made from a model's signature, for the lines that `serval serve` prints, the
// console, OpenAPI and the load client. Pure; control plane.
import { elementCount } from '../model/shape.js';
import { SAMPLE_ELEMENTS_MAX } from '../base/limits.js';
import { dataTypeOf } from '../model/datatype.js';
import type { Datatype, SignatureInfo, TableDoc, TensorInfo } from '../model/snapshot.js';

/**
 * Bodies of one request in three protocols. `grpc` is the JSON form of ModelInferRequest without
 * the model's name; undefined if a datatype has no typed contents (FP16, BF16).
 */
export interface SampleRequest {
  readonly v1: string;
  readonly v2: string;
  readonly grpc: string | undefined;
}

/** Known facts of a tabular model. */
export type SampledTable = Pick<TableDoc, 'examples' | 'untyped'>;

interface SampleTensor {
  readonly info: TensorInfo;
  readonly shape: readonly number[];
  /** JSON tokens, row-major. */
  readonly tokens: readonly string[];
}

const FLOAT_TOKENS = ['1.0', '2.0', '5.0'];
const INT_TOKENS = ['1', '2', '5'];
const BOOL_TOKENS = ['true', 'false'];
const TEXT_TOKENS = ['"hello"', '"world"'];
/** Dates and times for tabular models. */
const DAYS: Partial<Record<Datatype, string>> = {
  DATE: '"2024-02-29"',
  TIMESTAMP: '"29/02/2024 23:15:00"',
};
/** Number of rows if every input is a vector of dynamic length; otherwise one row. */
const VECTOR_ROWS = 3;
/** Height and width of an image with dynamic sides. */
const PICTURE_SIDE = 224;
const PICTURE_CHANNELS: ReadonlySet<number> = new Set([1, 3, 4]);

/**
 * A request that the model's declared shapes accept, or undefined if its inputs have more than
 * `elementsMax` elements, the number that is printed. Dynamic dimensions become 1, or 3 if every
 * input is a vector; dimensions with the same symbolic name are equal. If a larger limit is given,
 * images of dynamic size get a realistic one. `table`: facts of a tabular model; the result is
 * undefined if the values that a field accepts are unknown.
 */
export function sampleRequest(
  signature: SignatureInfo,
  table?: SampledTable,
  elementsMax = SAMPLE_ELEMENTS_MAX,
): SampleRequest | undefined {
  const isTable = table !== undefined;
  if (isTable && signature.inputs.some((one) => isUnknowable(one, table))) return undefined;
  const small = sampleShapes(signature.inputs, isTable);
  const shapes =
    elementsMax <= SAMPLE_ELEMENTS_MAX || isTable
      ? small
      : signature.inputs.map((input, i) => pictureShape(input) ?? small[i] ?? []);
  const counts = shapes.map(elementCount);
  const brackets = shapes.map((shape) => elementCount(shape.map((dim) => Math.max(1, dim))));
  if (brackets.reduce((sum, count) => sum + count, 0) > elementsMax) return undefined;
  const tensors = signature.inputs.map((info, i): SampleTensor => {
    const example = isTable ? exampleOf(info, table) : undefined;
    const tokens = example === undefined ? datatypeTokens(info.datatype, isTable) : [example];
    const count = counts[i] ?? 0;
    return {
      info,
      shape: shapes[i] ?? [],
      tokens: Array.from({ length: count }, (_, k) => tokens[k % tokens.length] ?? ''),
    };
  });
  const v1 = isTable ? rowsBody(tensors) : v1Body(signature, tensors);
  return { v1, v2: v2Body(tensors), grpc: grpcBody(tensors) };
}

/** The words and lists that a tabular model accepts are not in its signature. */
function isUnknowable(info: TensorInfo, table: SampledTable): boolean {
  const isSaid = dataTypeOf(info.datatype).kind !== 'text' && !table.untyped.includes(info.name);
  return (!isSaid && exampleOf(info, table) === undefined) || info.shape.length > 2;
}

function exampleOf({ name, datatype }: TensorInfo, { examples }: SampledTable): string | undefined {
  return Object.hasOwn(examples, name) ? examples[name] : DAYS[datatype];
}

/** Tabular models get only ones: a valid count, and a valid flag. */
function datatypeTokens(datatype: Datatype, isTable: boolean): readonly string[] {
  const { kind } = dataTypeOf(datatype);
  if (kind === 'bool') return BOOL_TOKENS;
  if (kind === 'text') return TEXT_TOKENS;
  const tokens = kind === 'float' ? FLOAT_TOKENS : INT_TOKENS;
  return isTable ? tokens.slice(0, 1) : tokens;
}

/** An input of unknown rank gets a vector. */
function sampleShapes(
  inputs: readonly TensorInfo[],
  isTable: boolean,
): readonly (readonly number[])[] {
  const vectors =
    !isTable &&
    inputs.every(
      (input) => input.unknownRank || (input.shape.length === 1 && (input.shape[0] ?? 0) < 0),
    );
  const rows = vectors ? VECTOR_ROWS : 1;
  return inputs.map((input) => {
    if (input.unknownRank) return [rows];
    return input.shape.map((dim) => (dim >= 0 ? dim : rows));
  });
}

/** [n, height, width, channels] or [n, channels, height, width]; undefined: not an image. */
export function pictureShape({ shape, unknownRank }: TensorInfo): readonly number[] | undefined {
  if (unknownRank || shape.length !== 4) return undefined;
  const isLast = PICTURE_CHANNELS.has(shape[3] ?? 0);
  if (!isLast && !PICTURE_CHANNELS.has(shape[1] ?? 0)) return undefined;
  return shape.map((dim, i) => (dim >= 0 ? dim : i === 0 ? 1 : PICTURE_SIDE));
}

/** Row format if every input and output surely has the same first dimension, else column format. */
function v1Body(signature: SignatureInfo, tensors: readonly SampleTensor[]): string {
  const single = tensors.length === 1 ? tensors[0] : undefined;
  if (!rowForm(signature, tensors)) {
    if (single !== undefined) return `{"inputs":${nested(single)}}`;
    return `{"inputs":${named(tensors.map((one) => [one, nested(one)]))}}`;
  }
  if (single !== undefined) return `{"instances":${nested(single)}}`;
  return rowsBody(tensors);
}

/** Instances as objects by name. */
function rowsBody(tensors: readonly SampleTensor[]): string {
  const rows = tensors[0]?.shape[0] ?? 0;
  const instances = Array.from({ length: rows }, (_, row) =>
    named(tensors.map((one) => [one, nested(rowOf(one, row))])),
  );
  return `{"instances":[${instances.join(',')}]}`;
}

function rowForm(signature: SignatureInfo, tensors: readonly SampleTensor[]): boolean {
  const rows = tensors[0]?.shape[0];
  if (rows === undefined || rows === 0) return false;
  if (tensors.some((one) => one.shape[0] !== rows || one.info.unknownRank)) return false;
  const symbols = new Set(tensors.map((one) => one.info.symbols[0] ?? ''));
  return signature.outputs.every((output) => {
    const first = output.shape[0];
    if (output.unknownRank || first === undefined) return false;
    return first >= 0 ? first === rows : symbols.has(output.symbols[0] ?? '');
  });
}

function rowOf(tensor: SampleTensor, row: number): SampleTensor {
  const shape = tensor.shape.slice(1);
  const count = elementCount(shape);
  return { ...tensor, shape, tokens: tensor.tokens.slice(row * count, (row + 1) * count) };
}

function named(pairs: readonly (readonly [SampleTensor, string])[]): string {
  return `{${pairs.map(([one, json]) => `${JSON.stringify(one.info.name)}:${json}`).join(',')}}`;
}

/** The tensor as nested JSON lists, grouped from the innermost dimension. */
function nested(tensor: SampleTensor): string {
  if (tensor.tokens.length === 0 && tensor.shape.length > 0) return emptyNested(tensor.shape);
  let level = [...tensor.tokens];
  for (const dim of [...tensor.shape].reverse()) {
    const grouped: string[] = [];
    for (let i = 0; i < level.length; i += dim) {
      grouped.push(`[${level.slice(i, i + dim).join(',')}]`);
    }
    level = grouped;
  }
  return level[0] ?? '';
}

/** Nested lists down to the first dimension of size 0. */
function emptyNested(shape: readonly number[]): string {
  let text = '[]';
  for (const dim of shape.slice(0, shape.indexOf(0)).reverse()) {
    text = `[${Array.from({ length: dim }, () => text).join(',')}]`;
  }
  return text;
}

function v2Body(tensors: readonly SampleTensor[]): string {
  const inputs = tensors.map(({ info, shape, tokens }) => {
    const head = `"name":${JSON.stringify(info.name)},"datatype":"${info.datatype}"`;
    return `{${head},"shape":[${shape.join(',')}],"data":[${tokens.join(',')}]}`;
  });
  return `{"inputs":[${inputs.join(',')}]}`;
}

function grpcBody(tensors: readonly SampleTensor[]): string | undefined {
  const inputs: string[] = [];
  for (const { info, shape, tokens } of tensors) {
    const { contents } = dataTypeOf(info.datatype);
    if (contents === undefined) return undefined;
    const values = info.datatype === 'BYTES' ? tokens.map(base64Token) : tokens;
    const head = `"name":${JSON.stringify(info.name)},"datatype":"${info.datatype}"`;
    const data = `"contents":{"${contents}":[${values.join(',')}]}`;
    inputs.push(`{${head},"shape":[${shape.join(',')}],${data}}`);
  }
  return `"inputs":[${inputs.join(',')}]`;
}

function base64Token(token: string): string {
  return `"${Buffer.from(JSON.parse(token) as string).toString('base64')}"`;
}
