// Sends the same request to a running server in every form of the V2 protocol: typed and raw
// contents over gRPC, JSON and binary data over REST. Responses are converted to one form, so that
// one expectation covers them all. Test time only.
import assert from 'node:assert/strict';
import type { ServalProcess } from '../../../e2e/support/serval-process.js';
import { RawClient, decode, encode, messageTypes } from '../../../unit/protocols/raw-client.js';
import { REAL, TEXT, armOf, rawOf, valuesOf } from './contents.js';

export const FORMS = ['grpc', 'grpc-raw', 'rest', 'rest-binary'] as const;
export type Form = (typeof FORMS)[number];
export const RAW: readonly Form[] = ['grpc-raw', 'rest-binary'];
export const GRPC: readonly Form[] = ['grpc', 'grpc-raw'];
export const TYPED: readonly Form[] = ['grpc', 'rest'];

export type Parameters = Readonly<Record<string, string | number | boolean>>;

export interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Flat: numbers, bigints, booleans, strings or bytes. REST also accepts null, and lists. */
  readonly data: readonly unknown[];
  readonly parameters?: Parameters;
}

export interface Asked {
  readonly parameters?: Parameters;
  readonly outputs?: readonly string[];
}

/**
 * A tensor of a response. `data`: null if a value is missing, as in REST; strings as strings,
 * 64-bit numbers as bigint. Parameters without null_indices, which `data` shows.
 */
export interface Answer {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly data: readonly unknown[];
}

export interface Refusal {
  /** The status by gRPC's name, in every protocol. */
  readonly status: string;
  readonly error: string;
}

const GRPC_STATUS: Readonly<Record<number, string>> = {
  3: 'INVALID_ARGUMENT',
  5: 'NOT_FOUND',
  8: 'RESOURCE_EXHAUSTED',
  12: 'UNIMPLEMENTED',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
};
const HTTP_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  413: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
};

export const INFER = '/inference.GRPCInferenceService/ModelInfer';
export const types = messageTypes();

const ARM: Readonly<Record<string, string>> = {
  string: 'string_param',
  number: 'int64_param',
  boolean: 'bool_param',
};
/** A map of parameters in the message's form: a list of its entries. */
export const entriesOf = (parameters: Parameters = {}): object[] =>
  Object.entries(parameters).map(([key, value]) => ({
    key,
    value: { [ARM[typeof value] ?? '']: value },
  }));

interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly string[];
  readonly parameters: readonly {
    readonly key: string;
    readonly value: { readonly string_param: string };
  }[];
}

interface JsonOutput extends Omit<Answer, 'parameters' | 'data'> {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly data?: readonly unknown[];
}

/** The clients of one server. */
export class Asking {
  readonly server: ServalProcess;
  readonly client: RawClient;

  constructor(server: ServalProcess) {
    this.server = server;
    this.client = new RawClient(server.grpcPort);
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.server.httpPort}${path}`;
  }

  /** Returns the status and the body of an HTTP request. */
  async post(path: string, body: string | Uint8Array | object): Promise<[number, string]> {
    const plain = typeof body === 'string' || body instanceof Uint8Array;
    const sent = plain ? (body as string) : JSON.stringify(body);
    const answer = await fetch(this.url(path), { method: 'POST', body: sent });
    return [answer.status, await answer.text()];
  }

  async ask(
    form: Form,
    model: string,
    tensors: readonly Tensor[],
    asked: Asked = {},
  ): Promise<readonly Answer[] | Refusal> {
    if (form === 'rest' || form === 'rest-binary') return this.#rest(form, model, tensors, asked);
    return this.#grpc(form === 'grpc-raw', model, tensors, asked);
  }

  /** Expects this response in all of `forms`. */
  async answers(
    model: string,
    tensors: readonly Tensor[],
    expected: readonly Partial<Answer>[],
    { forms = FORMS, ...asked }: Asked & { readonly forms?: readonly Form[] } = {},
  ): Promise<void> {
    for (const form of forms) {
      const got = await this.ask(form, model, tensors, asked);
      assert.ok(!('error' in got), `${form}: ${JSON.stringify(got)}`);
      const shown = got.map((one, i) =>
        Object.fromEntries(
          Object.keys(expected[i] ?? one).map((key) => [key, one[key as keyof Answer]]),
        ),
      );
      assert.deepEqual(shown, expected, form);
    }
  }

  /** Expects that all of `forms` refuse the request with this status and message. */
  async refuses(
    model: string,
    tensors: readonly Tensor[],
    words: RegExp,
    {
      forms = FORMS,
      status = 'INVALID_ARGUMENT',
      ...asked
    }: Asked & { readonly forms?: readonly Form[]; readonly status?: string } = {},
  ): Promise<void> {
    for (const form of forms) {
      const got = await this.ask(form, model, tensors, asked);
      assert.ok('error' in got, `${form}: answered ${JSON.stringify(got)}`);
      assert.equal(got.status, status, `${form}: ${got.error}`);
      assert.match(got.error, words, form);
    }
  }

  /** Sends a ModelInferRequest unchanged, with members named as in the .proto file. */
  async message(request: object): Promise<readonly Answer[] | Refusal> {
    const sent = encode(types, 'inference.ModelInferRequest', request);
    const { code, details, message } = await this.client.unary(INFER, sent);
    if (message === undefined) {
      return { status: GRPC_STATUS[code] ?? `gRPC ${code}`, error: details };
    }
    const { outputs, raw_output_contents: raw } = decode(
      types,
      'inference.ModelInferResponse',
      message,
    ) as { outputs: WireOutput[]; raw_output_contents: Uint8Array[] };
    return outputs.map((one, i) => {
      const parameters = Object.fromEntries(
        one.parameters.map(({ key, value }) => [key, value.string_param]),
      );
      const data = valuesOf(one.datatype, Buffer.from(raw[i] ?? []));
      return answerOf({ ...one, shape: one.shape.map(Number), parameters, data });
    });
  }

  #grpc(
    raw: boolean,
    model: string,
    tensors: readonly Tensor[],
    { parameters, outputs = [] }: Asked,
  ): Promise<readonly Answer[] | Refusal> {
    return this.message({
      model_name: model,
      parameters: entriesOf(parameters),
      inputs: tensors.map((one) => ({
        name: one.name,
        datatype: one.datatype,
        shape: one.shape,
        parameters: entriesOf(one.parameters),
        ...(raw ? {} : { contents: { [armOf(one.datatype)]: one.data.map(wireValue) } }),
      })),
      outputs: outputs.map((name) => ({ name })),
      ...(raw ? { raw_input_contents: tensors.map((one) => rawOf(one.datatype, one.data)) } : {}),
    });
  }

  async #rest(
    form: Form,
    model: string,
    tensors: readonly Tensor[],
    { parameters, outputs }: Asked,
  ): Promise<readonly Answer[] | Refusal> {
    const binary = form === 'rest-binary';
    const raw = binary ? tensors.map((one) => rawOf(one.datatype, one.data)) : [];
    const inputs = tensors.map(({ data, ...one }, i) =>
      binary
        ? { ...one, parameters: { ...one.parameters, binary_data_size: raw[i]?.byteLength } }
        : { ...one, data },
    );
    const head = Buffer.from(
      jsonText({
        inputs,
        ...(outputs === undefined ? {} : { outputs: outputs.map((name) => ({ name })) }),
        parameters: { ...parameters, ...(binary ? { binary_data_output: true } : {}) },
      }),
    );
    const answer = await fetch(this.url(`/v2/models/${model}/infer`), {
      method: 'POST',
      body: Buffer.concat([head, ...raw]),
      headers: binary ? { 'Inference-Header-Content-Length': String(head.byteLength) } : {},
    });
    const body = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 200) {
      const { error } = JSON.parse(body.toString()) as { error: string };
      return { status: HTTP_STATUS[answer.status] ?? `HTTP ${answer.status}`, error };
    }
    const jsonBytes = Number(answer.headers.get('inference-header-content-length') ?? body.length);
    const json = JSON.parse(body.subarray(0, jsonBytes).toString()) as { outputs: JsonOutput[] };
    let behind = body.subarray(jsonBytes);
    return json.outputs.map((one) => {
      const { binary_data_size: size, ...rest } = one.parameters ?? {};
      if (size === undefined) return answerOf({ ...one, parameters: rest, data: one.data ?? [] });
      const own = behind.subarray(0, Number(size));
      behind = behind.subarray(own.length);
      return answerOf({ ...one, parameters: rest, data: valuesOf(one.datatype, own) });
    });
  }
}

/** JSON with 64-bit integers, and with the words for values that JSON numbers cannot express. */
function jsonText(value: object): string {
  const text = JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === 'bigint') return `#${one}#`;
    if (typeof one === 'number' && !Number.isFinite(one)) return String(one);
    return one instanceof Uint8Array ? Buffer.from(one).toString() : one;
  });
  return text.replaceAll(/"#(-?\d+)#"/g, '$1');
}

function wireValue(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value !== 'bigint') return value;
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) };
}

/** Converts to the common form: null if a value is missing. */
function answerOf({ name, datatype, shape, parameters, data }: Answer): Answer {
  const { null_indices: indices, ...rest } = parameters;
  const nulls = new Set(String(indices ?? '').split(','));
  const width = shape.length === 2 && rest['features'] === undefined ? (shape[1] ?? 1) : 1;
  const values = data.map((one, i) => {
    if (REAL.has(datatype) && Number.isNaN(Number(one))) return null;
    if (!shape.includes(-1) && nulls.has(String(Math.floor(i / width)))) return null;
    if (one === null) return null;
    return REAL.has(datatype) || TEXT.has(datatype) || typeof one !== 'number' ? one : one;
  });
  return { name, datatype, shape, parameters: rest, data: values };
}
