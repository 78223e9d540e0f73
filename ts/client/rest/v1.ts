// The client of TensorFlow Serving's REST API (V1). Any thread of any JavaScript runtime. Values
// are JSON: exact for 64-bit integers and NaN; V1 reports no datatypes. Source:
// docs/reference/protocols/v1-rest.md.
import { badResponse } from '../core/errors.js';
import { jsonText } from '../core/json.js';
import type { Clock } from '../core/retry.js';
import type { Cell, Document, RestOptions, Values, VersionOptions } from '../core/types.js';
import { RestCaller, modelPath, type Send } from './http.js';

/** A row: a value if the model has one input, else values by input name. */
export type V1Row = Values | Readonly<Record<string, Values>>;
/** An input's values: nested lists, or a flat list or typed array with its shape. */
export type V1Column = Values | { readonly data: Values; readonly shape: readonly number[] };
/** A tf.Example: values by feature. */
export type V1Example = Readonly<Record<string, Values>>;
/** JSON values; {"b64": ...} is a Uint8Array. */
export type V1Value = Cell | Uint8Array | V1Values | readonly V1Value[];
export interface V1Values {
  readonly [name: string]: V1Value;
}

export interface V1Options extends VersionOptions {
  /** A label instead of a version. */
  readonly label?: string | undefined;
  /** Default: serving_default. */
  readonly signature?: string | undefined;
}

export interface V1ExampleOptions extends V1Options {
  /** Features of all examples. */
  readonly context?: V1Example | undefined;
}

/** One version in a status. */
export interface V1VersionStatus {
  readonly version: string;
  readonly state: string;
  readonly status: { readonly error_code: string; readonly error_message: string };
}

export class V1RestClient {
  readonly #caller: RestCaller;

  /** `url`: "http://HOST:PORT", with a path if a proxy has one. */
  constructor(url: string, options: RestOptions = {}, send?: Send, clock?: Clock) {
    this.#caller = new RestCaller(url, options, send, clock);
  }

  /** Predictions of rows: V1's `instances`. A Uint8Array is sent as {"b64": ...}. */
  async predict(
    model: string,
    instances: readonly V1Row[],
    options: V1Options = {},
  ): Promise<readonly V1Value[]> {
    const found = await this.#post(model, 'predict', { instances }, options);
    return listOf('predictions', found);
  }

  /** Outputs of columns: V1's `inputs`, by name, or the values of the only input. One output is
   * returned without its name, as the protocol has it. */
  async predictColumns(
    model: string,
    inputs: Readonly<Record<string, V1Column>> | Values,
    options: V1Options = {},
  ): Promise<V1Value> {
    const { outputs } = (await this.#post(
      model,
      'predict',
      { inputs: columnsOf(inputs) },
      options,
    )) as {
      readonly outputs?: unknown;
    };
    if (outputs === undefined) throw badResponse('predict', 'the member "outputs"', 'none');
    return decoded(outputs);
  }

  /** The classes of each example: pairs of label and score. */
  async classify(
    model: string,
    examples: readonly V1Example[],
    options: V1ExampleOptions = {},
  ): Promise<readonly (readonly (readonly [label: string, score: number])[])[]> {
    const { context, ...rest } = options;
    const found = await this.#post(model, 'classify', { context, examples }, rest);
    return listOf('results', found) as never;
  }

  /** The value of each example. */
  async regress(
    model: string,
    examples: readonly V1Example[],
    options: V1ExampleOptions = {},
  ): Promise<readonly number[]> {
    const { context, ...rest } = options;
    const found = await this.#post(model, 'regress', { context, examples }, rest);
    return listOf('results', found) as readonly number[];
  }

  /** The states of a model's versions. */
  async status(model: string, options: V1Options = {}): Promise<readonly V1VersionStatus[]> {
    const found = await this.#caller.json({ path: pathOf(model, options) }, options);
    const { model_version_status: versions } = found as Document;
    return (versions ?? []) as readonly V1VersionStatus[];
  }

  /** The signatures of a model: the protocol's document. */
  metadata(model: string, options: V1Options = {}): Promise<Document> {
    const path = `${pathOf(model, options)}/metadata`;
    return this.#caller.json({ path }, options) as Promise<Document>;
  }

  #post(model: string, verb: string, request: Document, options: V1Options): Promise<unknown> {
    const document = { signature_name: options.signature, ...request };
    const body = jsonText(document, (bytes) => ({ b64: base64(bytes) }));
    const headers = { 'content-type': 'application/json' };
    return this.#caller.json({ path: `${pathOf(model, options)}:${verb}`, headers, body }, options);
  }
}

function pathOf(model: string, { version, label }: V1Options): string {
  const path = modelPath('v1', model, version);
  return label === undefined ? path : `${path}/labels/${encodeURIComponent(label)}`;
}

function listOf(name: string, response: unknown): readonly V1Value[] {
  const found = (response as Document)?.[name];
  if (!Array.isArray(found)) throw badResponse('infer', `a list "${name}"`, typeof found);
  return found.map(decoded);
}

/** Replaces {"b64": ...} by its bytes. */
function decoded(value: unknown): V1Value {
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return value as Cell;
  const members = Object.entries(value);
  const [[key, text] = ['', undefined]] = members;
  if (members.length === 1 && key === 'b64' && typeof text === 'string') return bytesOf(text);
  return Object.fromEntries(members.map(([name, one]) => [name, decoded(one)]));
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Nested lists of {data, shape}. */
function columnsOf(inputs: unknown): unknown {
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) return inputs;
  if (ArrayBuffer.isView(inputs)) return inputs;
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, columnOf(value)] as const),
  );
}

function columnOf(value: unknown): unknown {
  const { data, shape } = (value ?? {}) as { data?: ArrayLike<unknown>; shape?: readonly number[] };
  if (data === undefined || shape === undefined) return value;
  let level: unknown[] = Array.from(data);
  for (const dim of shape.slice(1).reverse()) {
    const grouped: unknown[] = [];
    const lists = dim > 0 ? level.length / dim : 0;
    for (let i = 0; i < lists; i += 1) grouped.push(level.slice(i * dim, (i + 1) * dim));
    level = grouped;
  }
  return shape.length === 0 ? level[0] : level;
}
