// The server's OpenAPI document: its own calls, and those of each serving model. Built on the main
// thread, which no request waits for, a few models per event-loop iteration; a version's part is
// cached as long as the version exists, the document until something changes. Control plane.
// Source: OpenAPI 3.1.0; docs/reference/protocols.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { JSON_TYPE, TEXT_TYPE } from '../../base/media-types.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { OPENAPI_MODELS_MAX } from '../../base/limits.js';
import type { ModelSnapshot, RegistrySnapshot, VersionSnapshot } from '../../model/snapshot.js';
import { echoed } from '../../protocols/request-text.js';
import { ERRORS_ANSWER, modelPart, type NamedModel } from './model-paths.js';
import { COMMON_SCHEMAS, schemaRef, type Schema } from './schemas.js';

/** Models per event-loop iteration. */
const MODELS_A_TURN = 32;
const KEY_CHARS_MAX = 64;
const OBJECT: Schema = { type: 'object', additionalProperties: true };
const LIST_QUERY = [
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1000 } },
  { name: 'after', in: 'query', schema: { type: 'string' } },
];
const MODEL = { name: 'model', in: 'path', required: true, schema: { type: 'string' } };

interface Call {
  readonly id: string;
  readonly summary: string;
  readonly schema?: Schema;
  readonly parameters?: readonly unknown[];
  readonly type?: string;
}

function operation({ id, summary, schema = OBJECT, parameters, type = JSON_TYPE }: Call): Schema {
  return {
    operationId: id,
    tags: ['server'],
    summary,
    ...(parameters && { parameters }),
    responses: {
      200: { description: 'The response.', content: { [type]: { schema } } },
      ...ERRORS_ANSWER,
    },
  };
}

const done = (id: string, summary: string): Schema => ({
  post: {
    operationId: id,
    tags: ['server'],
    summary,
    parameters: [MODEL],
    requestBody: { required: false, content: { [JSON_TYPE]: { schema: OBJECT } } },
    responses: { 200: { description: 'Done.' }, ...ERRORS_ANSWER },
  },
});

const TEXT: Schema = { type: 'string' };
const listing = (id: string, summary: string): Schema => ({
  get: operation({ id, summary, schema: schemaRef('ModelList'), parameters: LIST_QUERY }),
});
const reading = (id: string, summary: string, schema?: Schema): Schema => ({
  get: operation({ id, summary, parameters: [MODEL], ...(schema && { schema }) }),
});

const SERVER_PATHS: Readonly<Record<string, Schema>> = {
  '/v1/models': listing('v1_models', 'Models and the status of their versions'),
  '/v1/models/{model}': reading('v1_model_status', 'Status of a model'),
  '/v1/models/{model}/metadata': reading('v1_model_metadata', 'Signatures of a model'),
  '/v2': { get: operation({ id: 'server_metadata', summary: 'Name, version, extensions' }) },
  '/v2/health/live': {
    get: operation({ id: 'server_live', summary: 'Whether the server is live' }),
  },
  '/v2/health/ready': {
    get: operation({ id: 'server_ready', summary: 'Whether the server is ready' }),
  },
  '/v2/models': listing('v2_models', 'Models, their versions and states'),
  '/v2/models/{model}': reading(
    'model_metadata',
    'Inputs and outputs of a model',
    schemaRef('ModelMetadata'),
  ),
  '/v2/models/{model}/ready': reading('model_ready', 'Whether a model is ready'),
  '/v2/models/{model}/config': reading('model_config', 'Configuration of a model'),
  '/v2/models/{model}/stats': reading('model_statistics', 'Statistics of a model'),
  '/v2/repository/models/{model}/load': done('load_model', 'Loads a model'),
  '/v2/repository/models/{model}/unload': done('unload_model', 'Unloads a model'),
  '/metrics': {
    get: operation({
      id: 'metrics',
      summary: "Prometheus's text format",
      schema: TEXT,
      type: TEXT_TYPE,
    }),
  },
};

/** JSON text without the outer braces: a version's part of the document, made once per name. */
const PARTS = new WeakMap<VersionSnapshot, { readonly paths: string; readonly schemas: string }>();
let kept: { readonly snapshot: RegistrySnapshot; readonly text: Promise<string> } | undefined;

const inner = (value: object): string => JSON.stringify(value).slice(1, -1);

function partOf(model: NamedModel, version: VersionSnapshot) {
  let part = PARTS.get(version);
  if (part === undefined) {
    const { paths, schemas } = modelPart(model, version);
    part = { paths: inner(paths), schemas: inner(schemas) };
    PARTS.set(version, part);
  }
  return part;
}

const servedBy = ({ versions, defaultVersion }: ModelSnapshot): VersionSnapshot | undefined =>
  versions.find((one) => one.version === defaultVersion && one.state === 'AVAILABLE');

const FNV_PRIME = 0x01000193;

/**
 * A stable name for the model. Names that differ only in characters other than letters and digits,
 * or that do not begin with one, get a checksum to be unique.
 */
function keyOf(name: string): string {
  if (/^[A-Za-z]\w*$/.test(name) && name.length <= KEY_CHARS_MAX) return name;
  let sum = 0x811c9dc5;
  for (const byte of Buffer.from(name)) sum = Math.imul(sum ^ byte, FNV_PRIME) >>> 0;
  const readable = name.replace(/\W/g, '_').slice(0, KEY_CHARS_MAX);
  return `m_${readable}_${sum.toString(16)}`;
}

function documentText(
  version: string,
  { paths, schemas }: { readonly paths: readonly string[]; readonly schemas: readonly string[] },
  isCut: boolean,
): string {
  const described = isCut
    ? ` The first ${OPENAPI_MODELS_MAX} models; see /openapi.json?model=NAME for others.`
    : '';
  const head = inner({
    openapi: '3.1.0',
    info: {
      title: 'Serval',
      version,
      description: `Models over TensorFlow Serving's REST API and the V2 protocol.${described}`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{}, { key: [] }],
  });
  const joined = (parts: readonly string[]): string => parts.filter(Boolean).join(',');
  const all = joined([inner(SERVER_PATHS), ...paths]);
  const components = joined([inner(COMMON_SCHEMAS), ...schemas]);
  const keys = '"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}';
  return `{${head},"paths":{${all}},"components":{"schemas":{${components}},${keys}}}`;
}

async function make(version: string, models: readonly ModelSnapshot[]): Promise<string> {
  const served = models.filter((model) => servedBy(model) !== undefined);
  const listed = served.slice(0, OPENAPI_MODELS_MAX);
  const parts: { readonly paths: string; readonly schemas: string }[] = [];
  for (const [index, model] of listed.entries()) {
    const { name } = model;
    const found = servedBy(model);
    if (found !== undefined) parts.push(partOf({ name, key: keyOf(name) }, found));
    if (index % MODELS_A_TURN === MODELS_A_TURN - 1) await nextTurn();
  }
  const paths = parts.map((part) => part.paths);
  const schemas = parts.map((part) => part.schemas);
  return documentText(version, { paths, schemas }, served.length > listed.length);
}

/**
 * The document as JSON text: of all serving models (OPENAPI_MODELS_MAX at most, by name), or of
 * one. `version`: the server's. Errors: ModelNotFound, ModelNotReady.
 */
export async function openApiText(
  version: string,
  snapshot: RegistrySnapshot,
  model: string,
): Promise<string> {
  const { models } = snapshot;
  if (model !== '') {
    const one = Object.hasOwn(models, model) ? models[model] : undefined;
    if (one === undefined) {
      const text = `Request for unknown model: '${echoed(model)}' is not found`;
      throw new ServalError(ErrorCode.ModelNotFound, text);
    }
    if (servedBy(one) === undefined) {
      const text = `model '${echoed(model)}' has no version that serves`;
      throw new ServalError(ErrorCode.ModelNotReady, text);
    }
    return make(version, [one]);
  }
  if (kept?.snapshot !== snapshot) {
    const names = Object.keys(models).sort();
    const text = make(
      version,
      names.flatMap((name) => models[name] ?? []),
    );
    kept = { snapshot, text };
  }
  return kept.text;
}
