// Shared parts of tests of ONNX models from files: files of hand-made models, calls over the
// protocols. Test time only.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { encodeModel, floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { decode, encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { decodeMessage, encodeMessage } from '../../unit/models/warmup/support.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

export const types = messageTypes();
const MODEL_INFER = '/inference.GRPCInferenceService/ModelInfer';
const PREDICT = '/tensorflow.serving.PredictionService/Predict';

/** A folder that is removed with the test. */
export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'serval-onnx-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function written(folder: string, name: string, model: OnnxModel): string {
  const path = join(folder, name);
  writeFileSync(path, encodeModel(model));
  return path;
}

export async function started(t: TestContext, ...args: readonly string[]): Promise<ServalProcess> {
  const server = await startServer(args);
  t.after(() => server.stop());
  return server;
}

/** y = x + amount, FP32 [n]. */
export function adder(amount: number): OnnxModel {
  return {
    graph: {
      name: 'adder',
      inputs: [{ name: 'x', type: 'float', shape: ['n'] }],
      outputs: [{ name: 'y', type: 'float', shape: ['n'] }],
      initializers: [{ name: 'amount', type: 'float', dims: [], data: floatBytes([amount]) }],
      nodes: [{ op: 'Add', inputs: ['x', 'amount'], outputs: ['y'] }],
    },
  };
}

export async function get(server: ServalProcess, path: string): Promise<Record<string, unknown>> {
  const answer = await exchange(server.httpPort, 'GET', path);
  assert.equal(answer.status, 200, answer.body.toString());
  return jsonOf(answer) as Record<string, unknown>;
}

/** The response's JSON, whatever its status. */
export async function post(
  server: ServalProcess,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const answer = await exchange(server.httpPort, 'POST', path, JSON.stringify(body));
  return jsonOf(answer) as Record<string, unknown>;
}

export interface V2Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
}

/** The outputs of a V2 REST inference by name. */
export async function infer(
  server: ServalProcess,
  model: string,
  body: object,
): Promise<Record<string, V2Tensor>> {
  const answer = await post(server, `/v2/models/${model}/infer`, body);
  assert.ok(Array.isArray(answer['outputs']), JSON.stringify(answer));
  const outputs = answer['outputs'] as readonly V2Tensor[];
  return Object.fromEntries(outputs.map((one) => [one.name, one]));
}

/** The raw contents of a V2 gRPC inference's outputs by name. */
export async function inferOverGrpc(
  server: ServalProcess,
  message: object,
): Promise<Record<string, Buffer>> {
  const client = new RawClient(server.grpcPort);
  const call = await client.unary(
    MODEL_INFER,
    encode(types, 'inference.ModelInferRequest', message),
  );
  client.close();
  assert.equal(call.code, 0, call.details);
  const bytes = call.message;
  assert.ok(bytes);
  const answer = decode(types, 'inference.ModelInferResponse', bytes) as unknown as {
    outputs: readonly { name: string }[];
    raw_output_contents: readonly Buffer[];
  };
  return Object.fromEntries(
    answer.outputs.map(({ name }, i) => [name, answer.raw_output_contents[i] ?? Buffer.alloc(0)]),
  );
}

/** TensorFlow Serving's Predict. */
export async function predictOverGrpc(
  server: ServalProcess,
  message: object,
): Promise<Record<string, unknown>> {
  const client = new RawClient(server.grpcPort);
  const call = await client.unary(PREDICT, encodeMessage('PredictRequest', message));
  client.close();
  assert.equal(call.code, 0, call.details);
  const bytes = call.message;
  assert.ok(bytes);
  return decodeMessage('PredictResponse', bytes) as Record<string, unknown>;
}

export const floats = (bytes: Buffer): number[] => [
  ...new Float32Array(new Uint8Array(bytes).buffer),
];

export function near(got: readonly number[], expected: readonly number[], where: string): void {
  assert.equal(got.length, expected.length, where);
  const off = got.findIndex((value, i) => Math.abs(value - (expected[i] ?? NaN)) > 1e-5);
  assert.equal(off, -1, `${where}: element ${off}: ${got[off]} for ${expected[off]}`);
}

/** Strings of BYTES, each after its length. */
export function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    texts.push(bytes.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}
