// Shared parts of the tests of served TensorFlow models: the models beside the checkout
// (SERVAL_TFSERVING_MODELS names another folder; missing ones are skipped with a message), servers
// of one test, requests, and tensors of goldens as JSON. Test time only.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { exchange, jsonOf, type RawResponse } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

export const MODELS =
  process.env['SERVAL_TFSERVING_MODELS'] ??
  join(packageRoot(), '..', 'shared', 'models', 'tfserving');
export const HALF = 'saved_model_half_plus_two_cpu';

/** The response's JSON; its status must be 200. */
export function answered(response: RawResponse): unknown {
  assert.equal(response.status, 200, response.body.toString());
  return jsonOf(response);
}

/** A folder for the tests of the surrounding suite, removed after them. */
export function suiteFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'serval-tf-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The model's folder beside the checkout; without it, returns undefined and skips the test. */
export function model(t: TestContext, name: string): string | undefined {
  const path = join(MODELS, name);
  if (existsSync(path)) return path;
  t.skip(`no ${path}: set SERVAL_TFSERVING_MODELS`);
  return undefined;
}

/** A server that stops when the test ends. */
export async function started(t: TestContext, ...args: readonly string[]): Promise<ServalProcess> {
  const server = await startServer(args);
  t.after(() => server.stop());
  return server;
}

export const post = (server: ServalProcess, path: string, body: string): Promise<RawResponse> =>
  exchange(server.httpPort, 'POST', path, body);

export const get = async (server: ServalProcess, path: string): Promise<unknown> =>
  answered(await exchange(server.httpPort, 'GET', path));

export interface Golden {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: string | readonly string[];
}

export function floatsOf({ data }: Golden): number[] {
  const bytes = new Uint8Array(Buffer.from(String(data), 'base64'));
  return [...new Float32Array(bytes.buffer)];
}

/** The tensor as nested lists; strings as base64 objects. */
export function jsonTensor(golden: Golden): unknown {
  const { data, dtype, shape } = golden;
  let values: unknown[];
  if (typeof data !== 'string') values = data.map((b64) => ({ b64 }));
  else if (dtype === 'DT_FLOAT') values = floatsOf(golden);
  else {
    const { buffer } = new Uint8Array(Buffer.from(data, 'base64'));
    if (dtype === 'DT_BOOL') values = [...new Uint8Array(buffer)].map((one) => one !== 0);
    else if (dtype === 'DT_INT64') values = [...new BigInt64Array(buffer)].map(Number);
    else values = [...new Int32Array(buffer)];
  }
  for (const dim of [...shape].slice(1).reverse()) {
    values = Array.from({ length: values.length / dim }, (_, i) =>
      values.slice(i * dim, (i + 1) * dim),
    );
  }
  return shape.length === 0 ? values[0] : values;
}
