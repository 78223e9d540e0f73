// Shared parts of the warm-up tests: the makers of warm-up files (which share no code with
// ts/models/warmup), a ModelInferRequest as an object, and the text of an expected error.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ERRORS, ServalError } from '../../../../ts/base/errors.js';
import { packageRoot } from '../../../../ts/base/package-files.js';
import { decode, messageTypes } from '../../protocols/raw-client.js';

interface WarmupFiles {
  encodeMessage(name: string, object: object): Buffer;
  decodeMessage(name: string, bytes: Uint8Array): object;
  predictRecord(inputs: object, rest?: object): Buffer;
  exampleInput(value: number): object;
  exampleRecord(kind: 'classify' | 'regress', request: object): Buffer;
  multiRecord(request: object): Buffer;
  maskedCrc(bytes: Uint8Array): number;
  tfRecordFile(records: readonly Uint8Array[]): Buffer;
  tfRecords(file: Buffer): readonly Buffer[];
  warmupFiles(): Record<string, Buffer>;
}

const fixtures = join(packageRoot(), 'test', 'fixtures', 'warmup-files.mjs');
export const {
  encodeMessage,
  decodeMessage,
  predictRecord,
  exampleInput,
  exampleRecord,
  multiRecord,
  maskedCrc,
  tfRecordFile,
  tfRecords,
  warmupFiles,
} = (await import(pathToFileURL(fixtures).href)) as WarmupFiles;

/** Name, datatype, shape and raw bytes in hex of each input, and the requested outputs. */
export interface SeenRequest {
  readonly inputs: readonly (readonly [string, string, readonly number[], string])[];
  readonly outputs: readonly string[];
}

interface DecodedRequest {
  readonly model_name: string;
  readonly model_version: string;
  readonly inputs: readonly { name: string; datatype: string; shape: string[] }[];
  readonly outputs: readonly { name: string }[];
  readonly raw_input_contents: readonly Uint8Array[];
}

const types = messageTypes();

export function seenRequest(message: Uint8Array): SeenRequest {
  const bytes = Buffer.from(message);
  const request = decode(types, 'inference.ModelInferRequest', bytes) as DecodedRequest;
  assert.deepEqual([request.model_name, request.model_version], ['', '']);
  assert.equal(request.raw_input_contents.length, request.inputs.length);
  return {
    inputs: request.inputs.map(
      ({ name, datatype, shape }, i) =>
        [name, datatype, shape.map(Number), hexOf(request.raw_input_contents[i])] as const,
    ),
    outputs: request.outputs.map(({ name }) => name),
  };
}

export function hexOf(bytes: Uint8Array | undefined): string {
  assert.ok(bytes !== undefined);
  return Buffer.from(bytes).toString('hex');
}

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** "CODE_NAME: message" of the ServalError that `run` throws or rejects with. */
export async function errorOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof ServalError, String((error as Error).stack));
    return `${ERRORS[error.code].name}: ${error.message}`;
  }
  return 'no error';
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
