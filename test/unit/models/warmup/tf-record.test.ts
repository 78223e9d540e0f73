// TFRecord files: complete ones, and ones broken at every position. Source: tfserving.md 3.6.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { WARMUP_RECORDS_MAX, readTfRecords } from '../../../../ts/models/warmup/tf-record.js';
import { tempFolder } from '../../temp-folder.js';
import { collect, errorOf, hex, hexOf, maskedCrc, tfRecordFile } from './support.js';

const HINT =
  '; the file must be a whole, uncompressed TFRecord file of ' + 'tensorflow.serving.PredictionLog';

function fileWith(context: TestContext, bytes: Uint8Array): string {
  const path = join(tempFolder(context), 'records');
  writeFileSync(path, bytes);
  return path;
}

const recordsOf = async (path: string): Promise<string[]> =>
  (await collect(readTfRecords(path))).map(({ index, data }) => `${index}:${hexOf(data)}`);

describe('TFRecord', () => {
  it('reads a record that TensorFlow wrote', async (context) => {
    const written = hex(
      '1800000000000000 a37f4b22' + '090000c025dd75d541 1a0d627261696e2e4576656e743a31 ecf3328d',
    );
    assert.deepEqual(await recordsOf(fileWith(context, written)), [
      '0:090000c025dd75d5411a0d627261696e2e4576656e743a31',
    ]);
  });

  it('reads records of any length, empty and longer than one piece', async (context) => {
    const long = Buffer.alloc(2 * 1_048_576 + 3, 'serval');
    for (const edge of [1_048_571, 1_048_572, 1_048_573, 1_048_576]) {
      const file = tfRecordFile([hex('01'), Buffer.alloc(0), long.subarray(0, edge)]);
      const records = await collect(readTfRecords(fileWith(context, file)));
      assert.deepEqual(
        records.map(({ index, data }) => [index, data.length]),
        [
          [0, 1],
          [1, 0],
          [2, edge],
        ],
      );
      assert.ok(long.subarray(0, edge).equals(Buffer.from(records[2]?.data ?? [])));
    }
    const [record] = await collect(readTfRecords(fileWith(context, tfRecordFile([long]))));
    assert.ok(long.equals(Buffer.from(record?.data ?? [])));
  });

  it('finds nothing in an empty file and where there is none', async (context) => {
    const path = fileWith(context, Buffer.alloc(0));
    assert.deepEqual(await recordsOf(path), []);
    assert.deepEqual(await recordsOf(`${path}-not`), []);
    assert.deepEqual(await recordsOf(join(path, 'assets.extra', 'file')), []);
  });

  it('refuses what is not a regular file', async (context) => {
    const folder = tempFolder(context);
    mkdirSync(join(folder, 'records'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    for (const name of ['records', 'pipe']) {
      const path = join(folder, name);
      assert.equal(
        await errorOf(() => recordsOf(path)),
        `MODEL_INVALID: warmup file ${path}: expected a regular file`,
      );
    }
    const nul = join(folder, 'a\0b');
    assert.match(await errorOf(() => recordsOf(nul)), /^MODEL_INVALID: warmup file .*cannot be op/);
  });

  it('ends with a clear error wherever the file is cut', async (context) => {
    const file = tfRecordFile([hex('010203'), hex('0405060708')]);
    const first = 12 + 3 + 4;
    for (let cut = 1; cut < file.length; cut += 1) {
      const path = fileWith(context, file.subarray(0, cut));
      const [index, begin, length] = cut < first ? [0, 0, 3] : [1, first, 5];
      const place = `MODEL_INVALID: warmup record ${index}: byte ${begin} of ${path}: DATA_LOSS: `;
      const have = cut - begin;
      const expected =
        have < 12
          ? `the file ends after ${have} of the 12 bytes of the length`
          : `expected ${length} bytes of data and 4 of their checksum, only ${have - 12} remain`;
      const error = await errorOf(() => recordsOf(path));
      assert.equal(error, cut === first ? 'no error' : `${place}${expected}${HINT}`);
    }
  });

  it('ends with a clear error whichever byte is changed', async (context) => {
    const file = tfRecordFile([hex('010203'), hex('0405060708')]);
    for (let at = 0; at < file.length; at += 1) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      const path = fileWith(context, changed);
      const within = at < 19 ? at : at - 19;
      const part = within < 12 ? 'length' : 'data';
      const error = await errorOf(() => recordsOf(path));
      assert.match(
        error,
        new RegExp(
          `^MODEL_INVALID: warmup record ${at < 19 ? 0 : 1}: byte ` +
            `${at < 19 ? 0 : 19} of .*: DATA_LOSS: checksum of the ${part}: stored 0x[0-9a-f]{8}, ` +
            'computed 0x[0-9a-f]{8}; the file must be',
        ),
      );
    }
  });

  it('hands out the records before a broken one', async (context) => {
    const file = tfRecordFile([hex('01'), hex('02'), hex('03')]).subarray(0, -1);
    const seen: number[] = [];
    const error = await errorOf(async () => {
      for await (const { index } of readTfRecords(fileWith(context, file))) seen.push(index);
    });
    assert.deepEqual(seen, [0, 1]);
    assert.match(error, /^MODEL_INVALID: warmup record 2: byte 34 of /);
  });

  it('believes no length that the file has no room for', async (context) => {
    for (const length of [100n, 2n ** 31n, 2n ** 63n, 2n ** 64n - 1n]) {
      const head = Buffer.alloc(12);
      head.writeBigUInt64LE(length);
      head.writeUInt32LE(maskedCrc(head.subarray(0, 8)), 8);
      const path = fileWith(context, Buffer.concat([head, Buffer.alloc(50)]));
      assert.equal(
        await errorOf(() => recordsOf(path)),
        'MODEL_INVALID: warmup record 0: byte 0 ' +
          `of ${path}: DATA_LOSS: expected ${Number(length)} bytes of data and 4 of their ` +
          `checksum, only 50 remain${HINT}`,
      );
    }
  });

  it('says so when the file is compressed', async (context) => {
    const path = fileWith(context, hex('1f8b0800000000000003 0102030405060708'));
    assert.match(
      await errorOf(() => recordsOf(path)),
      /checksum of the length: .* \(the file is compressed with gzip\); the file must be/,
    );
  });

  it('takes 1000 records and not one more', async (context) => {
    assert.equal(WARMUP_RECORDS_MAX, 1000);
    const records = Array.from({ length: 1001 }, () => hex('01'));
    const most = fileWith(context, tfRecordFile(records.slice(1)));
    assert.equal((await recordsOf(most)).length, 1000);
    const more = fileWith(context, tfRecordFile(records));
    assert.equal(
      await errorOf(() => recordsOf(more)),
      `MODEL_INVALID: warmup file ${more}: ` +
        'expected at most 1000 records, got more; record 1000 begins at byte 17000',
    );
  });

  it('closes the file when nobody wants the rest', async (context) => {
    const path = fileWith(context, tfRecordFile([hex('01'), hex('02')]));
    const records = readTfRecords(path);
    const open = (): boolean =>
      readdirSync('/proc/self/fd').some((fd) => {
        const link = join('/proc/self/fd', fd);
        const there = lstatSync(link, { throwIfNoEntry: false }) !== undefined;
        return there && readlinkSync(link) === path;
      });
    assert.equal((await records.next()).done, false);
    assert.ok(open());
    await records.return(undefined);
    assert.ok(!open());
    assert.equal((await records.next()).done, true);
  });
});
