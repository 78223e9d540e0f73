// Damaged archives: any bytes lead to complete content or to the error of an invalid model, in
// bounded time.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { openModelFiles } from '../../../../../ts/importers/plan/archive/index.js';
import { tempFolder } from '../../../temp-folder.js';
import { archiveIn, tarOf, zipOf } from './archives.js';

const ROUNDS = 150;
const CONTENT: Readonly<Record<string, string>> = {
  'metadata/part-00000': '{"class":"x"}',
  'stages/0_a/metadata/part-00000': 'y'.repeat(700),
  'stages/0_a/data/part-0.parquet': 'PAR1'.repeat(50),
};
const ENTRIES = Object.entries(CONTENT).map(([name, content]) => ({ name, content }));

/** Numbers from 0 up to, but not including, `limit`, the same in every run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A copy of `bytes` with a few changed, a part missing, or a part repeated. */
function damaged(bytes: Buffer, pick: (limit: number) => number): Buffer {
  const copy = Buffer.from(bytes);
  const at = pick(copy.length);
  switch (pick(4)) {
    case 0:
      return copy.subarray(0, at);
    case 1:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(pick(copy.length))]);
    default:
      for (let i = 0; i <= pick(6); i += 1) copy[pick(copy.length)] = pick(256);
      return copy;
  }
}

/** Reads all of it; errors other than those of an invalid model fail the test. */
async function readAll(path: string): Promise<void> {
  try {
    const files = await openModelFiles(path);
    try {
      for (const name of files.names) {
        assert.equal((await files.read(name)).byteLength, files.size(name));
        assert.ok(!name.startsWith('/') && !name.split('/').includes('..'), name);
      }
    } finally {
      await files.close();
    }
  } catch (error) {
    assert.ok(error instanceof ServalError, String((error as Error).stack));
    assert.equal(error.code, ErrorCode.ModelInvalid);
  }
}

async function survives(t: TestContext, bytes: Buffer, pack: (bytes: Buffer) => Buffer) {
  const folder = tempFolder(t);
  const pick = numbers(bytes.length);
  for (let round = 0; round < ROUNDS; round += 1) {
    await readAll(archiveIn(folder, 'model', pack(damaged(bytes, pick))));
  }
}

const plain = (bytes: Buffer): Buffer => bytes;

test('zips', { timeout: 120_000 }, (t) => survives(t, zipOf(ENTRIES), plain));
test('zips that are stored', { timeout: 120_000 }, (t) =>
  survives(t, zipOf(ENTRIES.map((one) => ({ ...one, stored: true }))), plain),
);
test('tars', { timeout: 120_000 }, async (t) => survives(t, await tarOf(ENTRIES), plain));
test('tars, damaged before they were packed', { timeout: 120_000 }, async (t) =>
  survives(t, await tarOf(ENTRIES), gzipSync),
);
test('packed tars', { timeout: 120_000 }, async (t) =>
  survives(t, gzipSync(await tarOf(ENTRIES)), plain),
);
