// LevelDB-style tables: blocks, footer, checksums, compression, and each kind of damage.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { readBlock } from '../../../../../ts/importers/tensorflow/checkpoint/block.js';
import { TableFile } from '../../../../../ts/importers/tensorflow/checkpoint/table.js';
import { tempFolder } from '../../../temp-folder.js';
import {
  block,
  blockEntry,
  errorOf,
  hex,
  MAGIC,
  snappyLiterals,
  table,
  uint32,
} from './support.js';
import type { Entry, TableOptions } from './support.js';

const LIMIT = 1_000_000;

const numbered = (count: number): Entry[] =>
  Array.from({ length: count }, (_, i) => [
    `key/${String(i).padStart(5, '0')}`,
    Buffer.from(`value ${i}`),
  ]);

function fileOf(context: TestContext, bytes: Uint8Array): string {
  const path = join(tempFolder(context), 'table');
  writeFileSync(path, bytes);
  return path;
}

/** The error of opening the bytes and reading every entry; the file is called "table". */
function failure(context: TestContext, bytes: Uint8Array, limit = LIMIT): string {
  const path = fileOf(context, bytes);
  return errorOf(() => [...new TableFile(path, limit).entries(limit)]).replaceAll(path, 'table');
}

test('blocks of every restart interval', () => {
  for (const interval of [1, 2, 3, 16, 1000]) {
    const found = readBlock(block(numbered(100), interval), 'b');
    assert.deepEqual(
      found.map(({ key, value }) => [key, Buffer.from(value)]),
      numbered(100),
    );
  }
  assert.deepEqual(readBlock(block([]), 'b'), []);
});

test('a damaged block is named with its byte', () => {
  const begin = 'MODEL_INVALID: b: ';
  const data = (restarts: readonly number[], ...entries: readonly Buffer[]): Buffer =>
    Buffer.concat([...entries, ...restarts.map(uint32), uint32(restarts.length)]);
  const ab = blockEntry(0, 'ab', Buffer.from('v'));
  for (const [content, said] of [
    [Buffer.alloc(0), 'expected at least 4 bytes, got 0'],
    [hex('000000'), 'expected at least 4 bytes, got 3'],
    [hex('00000000'), 'restarts: 0 in a block of 4 bytes'],
    [Buffer.concat([ab, uint32(0), uint32(900)]), 'restarts: 900 in a block of 14 bytes'],
    [Buffer.concat([ab, uint32(0), uint32(0xffffffff)]), 'restarts: 4294967295 in a block of 14 b'],
    [
      data([0], ab, blockEntry(3, 'c', ab)),
      'byte 6: shares 3 key bytes with the previous entry, which has 2',
    ],
    [
      data([0], blockEntry(1, 'c', ab)),
      'byte 0: shares 1 key bytes with the previous entry, which has 0',
    ],
    [data([0], ab, blockEntry(0, 'ab', ab)), 'byte 6: a key occurs twice'],
    [data([0], ab, blockEntry(2, '', ab)), 'byte 6: a key occurs twice'],
    [data([0], ab, blockEntry(1, 'a', ab)), 'byte 6: the keys do not ascend'],
    [data([0, 6], ab, blockEntry(1, 'c', ab)), 'byte 6: a restart shares 1 key bytes, expected 0'],
    [
      data([0, 7], ab, blockEntry(0, 'b', ab)),
      'restarts: expected 1, one for each listed entry, got 2',
    ],
    [
      data([0, 0], ab, blockEntry(0, 'b', ab)),
      'restarts: expected 1, one for each listed entry, got 2',
    ],
    [
      data([6], ab, blockEntry(0, 'b', ab)),
      'restarts: expected 1, one for each listed entry, got 1',
    ],
    [data([5], ab), 'restarts: expected 0, one for each listed entry, got 1'],
    [data([0, 0]), 'restarts: expected 0, one for each listed entry, got 2'],
    [data([0], hex('00 05 00 61')), 'byte 3: key: expected 5 bytes, got 1'],
    [data([0], hex('00 01 05 61 62')), 'byte 4: value: expected 5 bytes, got 1'],
    [data([0], hex('00 80')), 'byte 1: other key bytes: the data end inside a number'],
    [data([0], hex('ffffffffffffffffffffff')), 'byte 0: shared key bytes: a number is longer than'],
    [data([0], hex('00 ffffffffffffff7f 00')), 'byte 1: other key bytes: expected a number below'],
    [data([0], hex('00 ffff7f 00')), 'byte 0: a key of 2097151 bytes, expected at most 65536'],
  ] as const) {
    const error = errorOf(() => readBlock(content, 'b'));
    assert.ok(error.startsWith(`${begin}${said}`), `${error}; expected ${said}`);
  }
});

test('prefix compression cannot make unbounded keys of few bytes', () => {
  const parts = [blockEntry(0, 'k'.repeat(65_000), Buffer.alloc(0))];
  for (let i = 0; i < 60_000; i += 1) {
    const suffix = String.fromCharCode(0x80 + (i >> 14), 0x80 + ((i >> 7) & 127), 0x80 + (i & 127));
    parts.push(blockEntry(65_000, suffix, Buffer.alloc(0)));
  }
  const content = Buffer.concat([...parts, uint32(0), uint32(1)]);
  assert.equal(
    errorOf(() => readBlock(content, 'b')),
    'MODEL_INVALID: b: expected at most 268435456 bytes of keys',
  );
});

test('tables of one and many blocks, raw and Snappy', (context) => {
  const packed: TableOptions = { compression: 1, pack: snappyLiterals };
  for (const options of [{}, { entriesPerBlock: 7 }, packed, { ...packed, entriesPerBlock: 1 }]) {
    const entries = numbered(100);
    const opened = new TableFile(fileOf(context, table(entries, options)), LIMIT);
    const found = [...opened.entries(LIMIT)];
    assert.deepEqual(
      found.map(({ key, value }) => [key, Buffer.from(value)]),
      entries,
    );
    for (const [key, value] of entries) {
      assert.deepEqual(Buffer.from(opened.get(key) ?? ''), value);
      assert.equal(opened.get(`${key}x`), undefined);
    }
    assert.equal(opened.get(''), undefined);
    assert.equal(opened.get('zzz'), undefined);
  }
});

test('every truncation is an error', (context) => {
  const bytes = table(numbered(6), { entriesPerBlock: 3 });
  const path = fileOf(context, bytes);
  for (let length = 0; length < bytes.length; length += 1) {
    writeFileSync(path, bytes.subarray(0, length));
    const error = errorOf(() => [...new TableFile(path, LIMIT).entries(LIMIT)]);
    assert.ok(error.startsWith(`MODEL_INVALID: ${path}: not a checkpoint table: `), error);
  }
});

test('every changed bit of the blocks is an error', (context) => {
  const bytes = table(numbered(6), { entriesPerBlock: 3 });
  const path = fileOf(context, bytes);
  // The empty metaindex is not read, nor are the footer's zeros.
  const unread = 13 + 48;
  for (let at = 0; at < bytes.length - unread; at += 1) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    writeFileSync(path, damaged);
    const error = errorOf(() => [...new TableFile(path, LIMIT).entries(LIMIT)]);
    const inMetaindex = error === 'no error' && at >= bytes.lastIndexOf(block([]));
    assert.ok(inMetaindex || error.includes('checksum: stored 0x'), `${at}: ${error}`);
  }
});

test('damage to the footer', (context) => {
  const good = table(numbered(3));
  const footer = (text: string): Buffer =>
    Buffer.concat([good.subarray(0, -48), hex(text), Buffer.alloc(40 - hex(text).length), MAGIC]);
  const magic = Buffer.from(good);
  magic[magic.length - 1] = 0xda;
  assert.equal(
    failure(context, magic),
    'MODEL_INVALID: table: not a checkpoint table: expected ' +
      'its last 8 bytes to be 0xdb4775248b80fb57, got 0xda4775248b80fb57',
  );
  const room = good.length - 48;
  for (const [text, said] of [
    [
      '0000 ff7f 01',
      `byte 2: the index has 1 and 5 bytes from byte 16383 on: ` +
        `expected at most the ${room} bytes before the footer`,
    ],
    ['ff7f 00', 'byte 0: the metaindex has 0 and 5 bytes from byte 16383 on: expected at most'],
    ['0000 00 ff7f', 'byte 2: the index has 16383 and 5 bytes from byte 0 on: expected at most'],
    ['0000 ffffffffffffffffff01 00', 'byte 2: offset of the index: expected a number below 2^53'],
    [`0000 ${'ff'.repeat(12)}`, 'byte 2: offset of the index: a number is longer than 10 bytes'],
    [`0000 ${'00'.repeat(37)}ff`, 'no error'],
  ] as const) {
    const error = failure(context, footer(text));
    if (said === 'no error') assert.ok(error.includes('checksum'), error);
    else assert.ok(error.startsWith(`MODEL_INVALID: table: footer: ${said}`), error);
  }
});

test('blocks that lie about themselves', (context) => {
  const said = (options: TableOptions, limit = LIMIT): string =>
    failure(context, table(numbered(4), options), limit);
  assert.equal(
    said({ compression: 2 }),
    'MODEL_INVALID: table: block at byte 0: compression: ' +
      'expected 0 (none) or 1 (Snappy), got 2',
  );
  assert.ok(
    said({ compression: 1 }).startsWith('MODEL_INVALID: table: block at byte 0: Snappy: byte '),
  );
  assert.equal(
    said({}, 50),
    'MODEL_INVALID: table: block at byte 0: expected at most 50 bytes, ' +
      `got ${block(numbered(4)).length}`,
  );
  const zeros = hex(`c801 0000 ${'fe0100'.repeat(3)} 1a0100`);
  assert.equal(
    said({ compression: 1, pack: () => zeros }, 100),
    'MODEL_INVALID: table: block at ' +
      'byte 0: Snappy: byte 0: uncompressed length: expected at most 100, got 200',
  );
  assert.equal(
    said({ edit: () => Buffer.alloc(2) }),
    'MODEL_INVALID: table: block at byte 0: expected at least 4 bytes, got 2',
  );
  assert.equal(
    said({ entriesPerBlock: 2, edit: () => block(numbered(2)) }),
    'MODEL_INVALID: table: block at byte 43: the keys do not ascend',
  );
  assert.equal(
    said({ entriesPerBlock: 3, edit: () => block(numbered(1)) }),
    'MODEL_INVALID: table: block at byte 32: a key occurs twice',
  );
});

test('all blocks together have a limit', (context) => {
  const path = fileOf(context, table(numbered(100), { entriesPerBlock: 10 }));
  const opened = new TableFile(path, LIMIT);
  assert.equal(
    errorOf(() => [...opened.entries(500)]),
    `MODEL_INVALID: ${path}: expected at most 500 bytes of entries, got more`,
  );
});

test('refuses paths that are not files', (context) => {
  const folder = tempFolder(context);
  mkdirSync(join(folder, 'd'));
  const open = (name: string): string => errorOf(() => new TableFile(join(folder, name), LIMIT));
  assert.ok(
    open('none').startsWith(`MODEL_INVALID: ${join(folder, 'none')}: cannot be read: ENOENT`),
    open('none'),
  );
  assert.equal(open('d'), `MODEL_INVALID: ${join(folder, 'd')}: expected a regular file`);
});
