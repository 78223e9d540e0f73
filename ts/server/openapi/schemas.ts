// Schemas of requests, made from a model's signature: JSON Schema as OpenAPI 3.1 has it. Control
// plane, main thread; pure. Source: JSON Schema 2020-12; the Predict Protocol V2; tfserving.md 1.3.
import { dataTypeOf } from '../../model/datatype.js';
import type { SignatureInfo, TensorInfo } from '../../model/snapshot.js';

export type Schema = Readonly<Record<string, unknown>>;

/** Accepts any value. */
const ANY: Schema = {};
const TEXT: Schema = { type: 'string' };
const OBJECT: Schema = { type: 'object', additionalProperties: true };

export const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** "FP32[batch, 4]". */
export function shapeText({ datatype, shape, symbols, unknownRank }: TensorInfo): string {
  if (unknownRank) return `${datatype} of any shape`;
  const dims = shape.map((dim, axis) => (dim >= 0 ? String(dim) : symbols[axis] || '?'));
  return `${datatype}[${dims.join(', ')}]`;
}

function elementSchema({ datatype }: TensorInfo): Schema {
  const { kind } = dataTypeOf(datatype);
  if (kind === 'bool') return { type: 'boolean' };
  if (datatype === 'VECTOR') return { type: 'array', items: ANY };
  if (kind === 'text') return TEXT;
  return { type: kind === 'float' ? 'number' : 'integer' };
}

/** One input of a V2 request. A tabular model accepts missing values and any shape. */
function v2Input(input: TensorInfo, isTable: boolean): Schema {
  const { name, datatype, shape, unknownRank } = input;
  const rank = unknownRank || isTable ? {} : { minItems: shape.length, maxItems: shape.length };
  return {
    type: 'object',
    description: shapeText(input),
    required: ['name', 'shape', 'datatype', 'data'],
    properties: {
      name: { type: 'string', const: name },
      shape: { type: 'array', items: { type: 'integer', minimum: 0 }, ...rank },
      datatype: isTable ? { type: 'string' } : { type: 'string', const: datatype },
      data: {
        type: 'array',
        description: 'All values, row-major; nested lists are also accepted.',
        items: isTable ? ANY : elementSchema(input),
      },
      parameters: OBJECT,
    },
  };
}

/** Schemas of a V2 request by name; the request's own is `name` + "InferRequest". */
export function v2Schemas(
  name: string,
  { inputs: required, optionalInputs = [] }: SignatureInfo,
  isTable: boolean,
): Readonly<Record<string, Schema>> {
  const inputs = [...required, ...optionalInputs];
  const named = inputs.map(
    (input, index) => [`${name}Input${index}`, v2Input(input, isTable)] as const,
  );
  const [first] = named;
  const items =
    named.length === 1 && first !== undefined
      ? schemaRef(first[0])
      : { anyOf: named.map(([one]) => schemaRef(one)) };
  const request = {
    type: 'object',
    required: ['inputs'],
    properties: {
      id: TEXT,
      parameters: OBJECT,
      inputs: { type: 'array', items: inputs.length === 0 ? OBJECT : items },
      outputs: { type: 'array', items: schemaRef('RequestedOutput') },
    },
  };
  return { ...Object.fromEntries(named), [`${name}InferRequest`]: request };
}

/** Nested lists. */
function nested(element: Schema, shape: readonly number[]): Schema {
  return shape.reduceRight<Schema>(
    (items, dim) => ({
      type: 'array',
      items,
      ...(dim >= 0 && { minItems: dim, maxItems: dim }),
    }),
    element,
  );
}

/** One instance's part of an input: the trailing dimensions after the first. */
function rowPart(input: TensorInfo, isTable: boolean): Schema {
  if (isTable || input.unknownRank || dataTypeOf(input.datatype).kind === 'text') return ANY;
  return { ...nested(elementSchema(input), input.shape.slice(1)), description: shapeText(input) };
}

function rowSchema(signature: SignatureInfo, isTable: boolean): Schema {
  const { inputs, optionalInputs = [] } = signature;
  const [only] = inputs;
  if (inputs.length === 1 && only !== undefined && !isTable) {
    // With optional inputs, a row is the value of the required one, or an object of both.
    return optionalInputs.length === 0 ? rowPart(only, isTable) : ANY;
  }
  const properties = [...inputs, ...optionalInputs].map(
    (input) => [input.name, rowPart(input, isTable)] as const,
  );
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** A V1 predict request's schema; `others`: names of the model's other signatures. */
export function v1Schema(
  signature: SignatureInfo,
  others: readonly string[],
  isTable: boolean,
): Schema {
  const row = others.length === 0 ? rowSchema(signature, isTable) : ANY;
  return {
    type: 'object',
    description: 'Exactly one of instances (rows) and inputs (columns).',
    properties: {
      signature_name: { type: 'string', enum: [signature.name, ...others] },
      instances: { type: 'array', items: row },
      inputs: { description: 'By input name, or the values of the only input.' },
    },
  };
}

/** Schemas shared by the requests and responses of all models. */
export const COMMON_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: { type: 'object', required: ['error'], properties: { error: TEXT } },
  RequestedOutput: {
    type: 'object',
    required: ['name'],
    properties: { name: TEXT, parameters: OBJECT },
  },
  OutputTensor: {
    type: 'object',
    required: ['name', 'datatype', 'shape'],
    properties: {
      name: TEXT,
      datatype: TEXT,
      shape: { type: 'array', items: { type: 'integer' } },
      data: { type: 'array', items: ANY },
      parameters: OBJECT,
    },
  },
  InferResponse: {
    type: 'object',
    required: ['model_name', 'outputs'],
    properties: {
      model_name: TEXT,
      model_version: TEXT,
      id: TEXT,
      parameters: OBJECT,
      outputs: { type: 'array', items: schemaRef('OutputTensor') },
    },
  },
  PredictResponse: {
    type: 'object',
    description: 'predictions if rows were sent, outputs if columns were sent.',
    properties: { predictions: { type: 'array', items: ANY }, outputs: ANY },
  },
  ExamplesRequest: {
    type: 'object',
    required: ['examples'],
    properties: {
      signature_name: TEXT,
      context: OBJECT,
      examples: { type: 'array', items: OBJECT },
    },
  },
  ResultsResponse: {
    type: 'object',
    required: ['results'],
    properties: { results: { type: 'array', items: ANY } },
  },
  GenerateRequest: {
    type: 'object',
    properties: { id: TEXT, parameters: OBJECT },
    additionalProperties: true,
  },
  LeapFrame: {
    type: 'object',
    required: ['schema', 'rows'],
    properties: { schema: OBJECT, rows: { type: 'array', items: { type: 'array', items: ANY } } },
  },
  ModelList: {
    type: 'object',
    required: ['models'],
    properties: {
      models: { type: 'array', items: TEXT },
      details: { type: 'array', items: OBJECT },
      model_version_status: OBJECT,
      next: TEXT,
    },
  },
  ModelMetadata: {
    type: 'object',
    required: ['name', 'platform', 'inputs', 'outputs'],
    properties: {
      name: TEXT,
      versions: { type: 'array', items: TEXT },
      platform: TEXT,
      inputs: { type: 'array', items: OBJECT },
      outputs: { type: 'array', items: OBJECT },
    },
  },
};
