// An operator's information (status, index, metrics, statistics, log), requested over the wire, and
// the models that tests of operation serve. Test time only.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { encodeModel, floatBytes } from '../../../ts/importers/onnx/builder.js';
import { exchange, jsonOf, RawConnection, requestBytes, type RawResponse } from './raw-http.js';
import type { ServalProcess } from './serval-process.js';

/** y = x + number, as the bytes of an ONNX file; `weightBytes` of its weights are unused. */
export function plusModel(number: number, weightBytes = 0): Uint8Array {
  const port = (name: string) => ({ name, type: 'float', shape: ['batch'] }) as const;
  const count = Math.ceil(weightBytes / 4);
  const unused = {
    name: 'unused',
    type: 'float',
    dims: [count],
    data: new Uint8Array(count * 4),
  } as const;
  return encodeModel({
    graph: {
      name: 'plus',
      inputs: [port('x')],
      outputs: [port('y')],
      initializers: [
        { name: 'c', type: 'float', dims: [], data: floatBytes([number]) },
        ...(count > 0 ? [unused] : []),
      ],
      nodes: [{ op: 'Add', inputs: ['x', 'c'], outputs: ['y'] }],
    },
  });
}

/** Writes a file with the folders above it. */
export function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/**
 * Adds a model that returns its FP32 input "x" [-1] as "y" after `delayMs`; `rest` is the rest of
 * its configuration.
 */
export function putDelayModel(repository: string, name: string, delayMs: number, rest = ''): void {
  mkdirSync(join(repository, name, '1'), { recursive: true });
  put(
    join(repository, name, 'config.pbtxt'),
    `backend: "serval_null"
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
parameters { key: "mode" value { string_value: "delay" } }
parameters { key: "delay_us" value { string_value: "${delayMs * 1000}" } }
${rest}`,
  );
}

/** A V2 body for one FP32 input of these values; `parameters` are the request's. */
export function v2Body(name: string, values: readonly number[], parameters?: object): string {
  return JSON.stringify({
    inputs: [{ name, datatype: 'FP32', shape: [values.length], data: values }],
    ...(parameters === undefined ? {} : { parameters }),
  });
}

/** The values of the first output. */
export function v2Values(response: RawResponse): readonly number[] {
  assert.equal(response.status, 200, response.body.toString());
  const { outputs } = jsonOf(response) as { outputs: readonly [{ data: readonly number[] }] };
  return outputs[0].data;
}

export const infer = (server: ServalProcess, model: string, body: string): Promise<RawResponse> =>
  exchange(server.httpPort, 'POST', `/v2/models/${model}/infer`, body);

export const predict = (server: ServalProcess, place: string, body: string): Promise<RawResponse> =>
  exchange(server.httpPort, 'POST', `/v1/models/${place}:predict`, body);

/** A connection on which this request runs, or waits for its turn. */
export async function begun(
  server: ServalProcess,
  model: string,
  body: string,
): Promise<RawConnection> {
  const connection = await RawConnection.open(server.httpPort);
  await connection.write(requestBytes('POST', `/v2/models/${model}/infer`, body));
  // It follows on the same listener and, because it has a query, through JavaScript, as the first
  // request of a URL does: everything sent before is in its model's queue.
  await exchange(server.httpPort, 'GET', '/v2/health/live?after');
  return connection;
}

/** Calls a control endpoint, which must return 200. */
export async function control(server: ServalProcess, path: string, body = ''): Promise<unknown> {
  const response = await exchange(server.httpPort, 'POST', path, body);
  assert.equal(response.status, 200, `${path}: ${response.body.toString()}`);
  return response.body.length === 0 ? undefined : jsonOf(response);
}

/** The sum of the metric's samples that carry all these labels ('model="m"'); 0 without any. */
export async function metric(
  server: ServalProcess,
  name: string,
  ...labels: readonly string[]
): Promise<number> {
  const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

export interface V1Version {
  readonly version: string;
  readonly state: string;
  readonly status: { readonly error_code: string; readonly error_message: string };
}

/** Every version in the status, by its number. */
export async function v1Versions(
  server: ServalProcess,
  model: string,
): Promise<ReadonlyMap<string, V1Version>> {
  const response = await exchange(server.httpPort, 'GET', `/v1/models/${model}`);
  assert.equal(response.status, 200, response.body.toString());
  const { model_version_status: versions } = jsonOf(response) as {
    model_version_status: readonly V1Version[];
  };
  return new Map(versions.map((one) => [one.version, one]));
}

export interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state: string;
  readonly reason?: string;
}

export async function index(server: ServalProcess): Promise<readonly IndexEntry[]> {
  return (await control(server, '/v2/repository/index')) as readonly IndexEntry[];
}

/** Triton's statistics of a model's only version. */
export interface Statistics {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, { count: number; ns: number }>>;
  readonly batch_stats: readonly {
    readonly batch_size: number;
    readonly compute_infer: { readonly count: number };
  }[];
}

export async function statistics(server: ServalProcess, model: string): Promise<Statistics> {
  const response = await exchange(server.httpPort, 'GET', `/v2/models/${model}/stats`);
  const { model_stats: all } = jsonOf(response) as { model_stats: readonly Statistics[] };
  assert.equal(all.length, 1, response.body.toString());
  return all[0] as Statistics;
}

export type LogLine = Readonly<Record<string, unknown>>;

/** The server's log so far. */
export function logLines(server: ServalProcess): readonly LogLine[] {
  return server.stderr
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine);
}
