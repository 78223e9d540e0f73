// Damaged checkpoints, the same in every run: whatever the bytes, only a ServalError may be thrown.
// Flips and cuts of real files mostly fail checksums, so entries are also changed with valid
// checksums.
import assert from 'node:assert/strict';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ServalError } from '../../../../../ts/base/errors.js';
import { openCheckpoint } from '../../../../../ts/importers/tensorflow/checkpoint/index.js';
import { unpackSnappy } from '../../../../../ts/importers/tensorflow/checkpoint/snappy.js';
import { TableFile } from '../../../../../ts/importers/tensorflow/checkpoint/table.js';
import type { CheckpointFiles } from '../../../../../ts/importers/tensorflow/types.js';
import { tempFolder } from '../../../temp-folder.js';
import { randomNumbers } from './random.js';
import { haveSamples, sampleFiles } from './samples.js';
import { elements, hex, table } from './support.js';
import type { Entry } from './support.js';

const FOLDERS = [
  'session_bundle/generated/v1_sharded_dtypes/00000123',
  'session_bundle/generated/v1_plain_dtypes/00000123',
  'session_bundle/generated/v2_sharded_dtypes/00000123',
  'session_bundle/v1_plain_half_plus_two/00000123',
  'tfserving/saved_model_half_plus_two_tf2_cpu/00000123/variables',
];
const BLOCK_BYTES_MAX = 1_000_000;
/** The number of damaged forms of each file. */
const ROUNDS = 200;

type Random = (below: number) => number;

/** Reads everything; true if nothing was wrong. */
function readAll(files: CheckpointFiles): boolean {
  let sound = true;
  const attempt = (use: () => unknown): void => {
    try {
      use();
    } catch (error) {
      assert.ok(error instanceof ServalError, String((error as Error).stack));
      sound = false;
    }
  };
  attempt(() => {
    const checkpoint = openCheckpoint(files);
    for (const name of checkpoint.names) {
      attempt(() => elements(checkpoint.read(name)));
      const slice = checkpoint.describe(name).shape.map(() => ({ start: 0, length: 1 }));
      attempt(() => elements(checkpoint.read(name, slice)));
    }
  });
  return sound;
}

/** A copy of a sample's files, and the names of those that are tables. */
function copied(
  context: TestContext,
  folder: string,
): { files: CheckpointFiles; paths: string[]; tables: string[] } {
  const files = sampleFiles(folder);
  const target = tempFolder(context);
  const moved = (path: string): string => join(target, basename(path));
  const isV2 = files.version === 2;
  const source = dirname(isV2 ? files.prefix : (files.files[0] ?? ''));
  const start = basename(isV2 ? files.prefix : 'export');
  const names = readdirSync(source).filter(
    (name) => name.startsWith(start) && !name.endsWith('.meta'),
  );
  for (const name of names) cpSync(join(source, name), join(target, name));
  const paths = names.map((name) => join(target, name));
  if (isV2) {
    const tables = paths.filter((path) => path.endsWith('.index'));
    return { files: { version: 2, prefix: moved(files.prefix) }, paths, tables };
  }
  return { files: { version: 1, files: files.files.map(moved) }, paths, tables: paths };
}

/** Changes, cuts, doubles or adds a few bytes. */
function mutated(bytes: Uint8Array, random: Random): Buffer {
  const at = random(bytes.length + 1);
  const out = Buffer.from(bytes);
  switch (random(6)) {
    case 0:
      return out.subarray(0, at);
    case 1:
      return Buffer.concat([out.subarray(0, at), out.subarray(at + 1 + random(8))]);
    case 2:
      return Buffer.concat([
        out.subarray(0, at),
        Buffer.alloc(1 + random(12), 0xff),
        out.subarray(at),
      ]);
    case 3:
      return Buffer.concat([out.subarray(0, at), out.subarray(random(at + 1))]);
    default:
      if (at === out.length) return out;
      out[at] = random(2) === 0 ? random(256) : (out[at] ?? 0) ^ (1 << random(8));
      return out;
  }
}

test('flips and cuts of real files', (context) => {
  if (!haveSamples(context)) return;
  const random = randomNumbers(11);
  for (const folder of FOLDERS) {
    const { files, paths } = copied(context, folder);
    assert.ok(readAll(files), folder);
    for (const path of paths) {
      const good = readFileSync(path);
      let errors = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        writeFileSync(path, mutated(good, random));
        if (!readAll(files)) errors += 1;
      }
      writeFileSync(path, good);
      assert.ok(errors > ROUNDS / 2, `${path}: ${errors} of ${ROUNDS} were noticed`);
    }
  }
});

test('changed entries under right checksums', (context) => {
  if (!haveSamples(context)) return;
  const random = randomNumbers(12);
  for (const folder of FOLDERS) {
    const { files, tables } = copied(context, folder);
    for (const path of tables) {
      const good = readFileSync(path);
      const entries = [...new TableFile(path, BLOCK_BYTES_MAX).entries(BLOCK_BYTES_MAX)].map(
        ({ key, value }): Entry => [key, value],
      );
      let errors = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const chosen = random(entries.length);
        const edited = entries.map(
          ([key, value], i): Entry => [key, i === chosen ? mutated(value, random) : value],
        );
        const edit = round % 3 === 0 ? (block: Buffer) => mutated(block, random) : undefined;
        writeFileSync(path, edit === undefined ? table(edited) : table(entries, { edit }));
        if (!readAll(files)) errors += 1;
      }
      writeFileSync(path, good);
      assert.ok(errors > ROUNDS / 5, `${path}: ${errors} of ${ROUNDS} were noticed`);
    }
  }
});

test('Snappy of anything', () => {
  const random = randomNumbers(13);
  const good = hex('0b 04 6162 220200');
  for (let round = 0; round < 5000; round += 1) {
    const packed =
      round % 2 === 0
        ? mutated(good, random)
        : Buffer.from(Array.from({ length: random(40) }, () => random(256)));
    try {
      assert.ok(unpackSnappy(packed, BLOCK_BYTES_MAX, 'block').length <= packed.length * 22);
    } catch (error) {
      assert.ok(error instanceof ServalError, String((error as Error).stack));
    }
  }
});
