// The paths of one model in the OpenAPI document: the requests it accepts, with an example. Control
// plane, main thread; pure.
import { BINARY_TYPE, CSV_TYPE, JSON_TYPE } from '../../base/media-types.js';
import { CLASSIFY_METHOD, DEFAULT_SIGNATURE, REGRESS_METHOD } from '../../base/signatures.js';
import { sampleRequest } from '../../protocols/sample-request.js';
import type { SignatureInfo, VersionSnapshot } from '../../model/snapshot.js';
import { schemaRef, shapeText, v1Schema, v2Schemas, type Schema } from './schemas.js';

/** A model's part of the document. */
export interface ModelPart {
  readonly paths: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** A model as the document names it. */
export interface NamedModel {
  readonly name: string;
  /** Unique; consists of letters, digits and "_". */
  readonly key: string;
}

const content = (schema: Schema, example?: unknown): Schema => ({
  [JSON_TYPE]: { schema, ...(example !== undefined && { example }) },
});

export const ERRORS_ANSWER: Schema = {
  default: { description: 'An error message.', content: content(schemaRef('Error')) },
};

/** A POST of JSON. */
function posted(
  { name, key }: NamedModel,
  [verb, summary]: readonly [string, string],
  request: { readonly schema: Schema; readonly example?: unknown },
  answer: { readonly schema: Schema; readonly description: string },
): Schema {
  return {
    post: {
      operationId: `${verb}_${key}`,
      tags: [name],
      summary,
      requestBody: { required: true, content: content(request.schema, request.example) },
      responses: {
        200: { description: answer.description, content: content(answer.schema) },
        ...ERRORS_ANSWER,
      },
    },
  };
}

const outputsText = ({ outputs }: SignatureInfo): string =>
  outputs.map((output) => `${output.name}: ${shapeText(output)}`).join('; ') || 'The response.';

function csvPath({ name, key }: NamedModel): Schema {
  const csv = { [CSV_TYPE]: { schema: { type: 'string' } } };
  // The route accepts any content type; client generators that do not know text/csv send bytes.
  const bytes = { schema: { type: 'string', format: 'binary' } };
  return {
    post: {
      operationId: `csv_${key}`,
      tags: [name],
      summary: 'Rows as CSV, with field names in the first row',
      requestBody: { required: true, content: { ...csv, [BINARY_TYPE]: bytes } },
      responses: { 200: { description: 'CSV of the outputs.', content: csv }, ...ERRORS_ANSWER },
    },
  };
}

function tablePaths(model: NamedModel, url: string): Record<string, Schema> {
  const frame = { schema: schemaRef('LeapFrame') };
  return {
    [`/v2/models/${url}/csv`]: csvPath(model),
    [`/models/${url}/transform`]: posted(model, ['transform', 'A LeapFrame'], frame, {
      ...frame,
      description: 'The frame with the outputs after its own fields.',
    }),
  };
}

/** Whether classify works without a classification signature: native/codec/examples/signature.h. */
function hasNamedScores({ outputs }: SignatureInfo): boolean {
  return outputs.filter(({ labels }) => labels !== undefined && labels.length > 0).length === 1;
}

/** Classify and regress, if a signature supports one of them. */
function examplePaths(
  model: NamedModel,
  url: string,
  signatures: readonly SignatureInfo[],
): Record<string, Schema> {
  const of = (verb: string, method: string): readonly (readonly [string, Schema])[] => {
    const named = signatures.filter(
      (one) => one.methodName === method || (verb === 'classify' && hasNamedScores(one)),
    );
    if (named.length === 0) return [];
    const names = named.map(({ name }) => name).join(', ');
    const path = posted(
      model,
      [verb, `V1 ${verb}: ${names}`],
      { schema: schemaRef('ExamplesRequest') },
      { schema: schemaRef('ResultsResponse'), description: 'A result for each example.' },
    );
    return [[`/v1/models/${url}:${verb}`, path]];
  };
  return Object.fromEntries([...of('classify', CLASSIFY_METHOD), ...of('regress', REGRESS_METHOD)]);
}

/** `version`: the one that serves requests. */
export function modelPart(model: NamedModel, version: VersionSnapshot): ModelPart {
  const { signatures } = version;
  const isTable = version.table !== undefined;
  const first = signatures.find(({ name }) => name === DEFAULT_SIGNATURE) ?? signatures[0];
  if (first === undefined) return { paths: {}, schemas: {} };
  const others = signatures.filter((one) => one !== first).map(({ name }) => name);
  const url = encodeURIComponent(model.name);
  const sample = sampleRequest(first, version.table);
  const example = (body: string | undefined): { readonly example?: unknown } =>
    body === undefined ? {} : { example: JSON.parse(body) as unknown };
  const description = outputsText(first);
  const predict = posted(
    model,
    ['predict', 'V1 predict'],
    { schema: schemaRef(`${model.key}PredictRequest`), ...example(sample?.v1) },
    { schema: schemaRef('PredictResponse'), description },
  );
  const infer = posted(
    model,
    ['infer', 'V2 infer'],
    { schema: schemaRef(`${model.key}InferRequest`), ...example(sample?.v2) },
    { schema: schemaRef('InferResponse'), description },
  );
  const generate = posted(
    model,
    ['generate', 'Inputs and outputs by name'],
    { schema: schemaRef('GenerateRequest') },
    { schema: { type: 'object' }, description },
  );
  return {
    paths: {
      [`/v1/models/${url}:predict`]: predict,
      ...examplePaths(model, url, signatures),
      ...(version.decoupled !== true && { [`/v2/models/${url}/infer`]: infer }),
      [`/v2/models/${url}/generate`]: generate,
      ...(isTable && tablePaths(model, url)),
    },
    schemas: {
      [`${model.key}PredictRequest`]: v1Schema(first, others, isTable),
      ...v2Schemas(model.key, first, isTable),
    },
  };
}
