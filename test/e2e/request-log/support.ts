// Shared parts of the request log's tests: requests of every protocol with what was sent and
// answered, and the log's files. Test time only.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  decode,
  encode,
  messageTypes,
  RawClient,
  type Outcome,
} from '../../unit/protocols/raw-client.js';
import { decodeMessage, encodeMessage, tfRecords } from '../../unit/models/warmup/support.js';
import { until } from '../support/polling.js';

export const types = messageTypes();
const SERVICE = '/tensorflow.serving.PredictionService';
const V2 = '/inference.GRPCInferenceService';

/** A PredictRequest of x = values. */
export function predictMessage(model: string, values: readonly number[]): Buffer {
  const dim = [{ size: values.length }];
  return encodeMessage('PredictRequest', {
    model_spec: { name: model },
    inputs: { x: { dtype: 1, tensor_shape: { dim }, float_val: values } },
  });
}

export function inferMessage(model: string, values: readonly number[], id = ''): Buffer {
  return encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id,
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [values.length],
        contents: { fp32_contents: [...values] },
      },
    ],
  });
}

/** Calls of a server's gRPC port; each must be answered. */
export class Calls {
  readonly client: RawClient;

  constructor(port: number) {
    this.client = new RawClient(port);
  }

  async predict(message: Buffer, method = 'Predict'): Promise<Buffer> {
    return answered(await this.client.unary(`${SERVICE}/${method}`, message));
  }

  async infer(message: Buffer): Promise<Buffer> {
    return answered(await this.client.unary(`${V2}/ModelInfer`, message));
  }

  /** A stream of these messages. */
  async stream(messages: readonly Buffer[]): Promise<void> {
    const stream = this.client.stream(`${V2}/ModelStreamInfer`);
    for (const message of messages) stream.call.write(message);
    await stream.reply(messages.length - 1);
    stream.call.end();
    await stream.ended;
  }

  close(): void {
    this.client.close();
  }
}

function answered({ code, details, message }: Outcome): Buffer {
  assert.equal(code, 0, details);
  assert.ok(message !== undefined);
  return message;
}

/** Paths of a log's files, the oldest first. */
export function filesOf(folder: string, start: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.startsWith(start));
  return names.sort().map((name) => join(folder, name));
}

/** A PredictionLog whose messages are bytes. */
export interface LoggedPair {
  readonly log_metadata: {
    readonly model_spec: { readonly name: string; readonly version: { readonly value: string } };
    readonly sampling_config: { readonly sampling_rate: number };
    readonly timestamp_secs: string;
  };
  readonly predict_log?: { readonly request: Buffer; readonly response?: Buffer };
  readonly classify_log?: { readonly request: Buffer; readonly response?: Buffer };
  readonly regress_log?: { readonly request: Buffer; readonly response?: Buffer };
  readonly multi_inference_log?: { readonly request: Buffer; readonly response?: Buffer };
}

export function recordsOf(paths: readonly string[]): readonly LoggedPair[] {
  return paths
    .flatMap((path) => tfRecords(readFileSync(path)))
    .map((record) => decodeMessage('LoggedPair', record) as LoggedPair);
}

/** The records of a log, once there are `count` of them. */
export function records(folder: string, start: string, count: number) {
  let seen: readonly LoggedPair[] = [];
  return until(
    `${count} records in ${folder}/${start}*`,
    () => {
      seen = recordsOf(filesOf(folder, start));
      return seen.length >= count && seen;
    },
    () => seen.length,
  );
}

export type LogLine = Readonly<Record<string, unknown>>;

export function linesOf(paths: readonly string[]): readonly LogLine[] {
  return paths
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine);
}

/** The lines of a log, once there are `count` of them. */
export function lines(folder: string, count: number): Promise<readonly LogLine[]> {
  let seen: readonly LogLine[] = [];
  return until(
    `${count} lines in ${folder}`,
    () => {
      seen = linesOf(filesOf(folder, 'requests-'));
      return seen.length >= count && seen;
    },
    () => seen.length,
  );
}

interface Tensor {
  readonly dtype: number;
  readonly tensor_shape: { readonly dim: readonly { readonly size: string }[] };
  readonly tensor_content?: Buffer;
}

/** Model, signature and x of a PredictRequest that the engine built: raw floats. */
export function madeRequest(bytes: Buffer | undefined): unknown {
  assert.ok(bytes !== undefined);
  const made = decodeMessage('PredictRequest', bytes) as {
    readonly model_spec: { readonly name: string; readonly signature_name?: string };
    readonly inputs: { readonly x: Tensor };
    readonly output_filter?: readonly string[];
  };
  const { dtype, tensor_shape: shape, tensor_content: content } = made.inputs.x;
  assert.ok(content !== undefined);
  const values = Array.from({ length: content.length / 4 }, (_, i) => content.readFloatLE(i * 4));
  return {
    model: made.model_spec.name,
    dtype,
    shape: shape.dim.map((one) => Number(one.size)),
    values,
    filter: made.output_filter ?? [],
  };
}

export { decode };
