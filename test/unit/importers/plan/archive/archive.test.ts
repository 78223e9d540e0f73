// Models in folders, zips and tars: accepted files and refused ones.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { crc32 as nodesCrc32, gzipSync } from 'node:zlib';
import { ErrorCode, type ServalError } from '../../../../../ts/base/errors.js';
import { plainCrc32 } from '../../../../../ts/importers/plan/archive/crc32.js';
import { openModelFiles } from '../../../../../ts/importers/plan/archive/index.js';
import { filledFolder, tempFolder } from '../../../temp-folder.js';
import {
  archiveIn,
  tarGzOf,
  tarOf,
  zip64Sizes,
  zipOf,
  type TarEntry,
  type ZipEntry,
} from './archives.js';

const SPARK = { 'metadata/part-00000': '{"class":"x"}', 'stages/0_a/metadata/part-00000': '{}' };

async function contentOf(path: string): Promise<Record<string, string>> {
  const files = await openModelFiles(path);
  try {
    const found: Record<string, string> = {};
    for (const name of files.names) {
      const bytes = await files.read(name);
      assert.equal(files.size(name), bytes.byteLength);
      found[name] = Buffer.from(bytes).toString();
    }
    return found;
  } finally {
    await files.close();
  }
}

async function refused(path: string, pattern: RegExp): Promise<void> {
  await assert.rejects(contentOf(path), (error: ServalError) => {
    assert.equal(error.code, ErrorCode.ModelInvalid);
    assert.ok(error.message.startsWith(path), error.message);
    assert.match(error.message, pattern);
    return true;
  });
}

const zipIn = (t: TestContext, entries: readonly ZipEntry[], count?: number): string =>
  archiveIn(tempFolder(t), 'model.zip', zipOf(entries, count));
const tarIn = async (t: TestContext, entries: readonly TarEntry[]): Promise<string> =>
  archiveIn(tempFolder(t), 'model.gz', await tarGzOf(entries));

const entriesOf = (files: Record<string, string>, root = ''): { name: string; content: string }[] =>
  Object.entries(files).map(([name, content]) => ({ name: root + name, content }));

test('a folder, a zip, a tar and a tar.gz of one model are the same', async (t) => {
  const entries = entriesOf(SPARK);
  const folder = tempFolder(t);
  const paths = [
    filledFolder(t, SPARK),
    archiveIn(folder, 'a.zip', zipOf(entries)),
    archiveIn(folder, 'stored.zip', zipOf(entries.map((one) => ({ ...one, stored: true })))),
    archiveIn(folder, 'a.tar', await tarOf(entries)),
    archiveIn(folder, 'a.tar.gz', await tarGzOf(entries)),
    archiveIn(folder, 'named-wrongly.zip', await tarGzOf(entries)),
  ];
  for (const path of paths) assert.deepEqual(await contentOf(path), SPARK, path);
});

test('the folder that all files lie in is left out, but not one that is the model', async (t) => {
  assert.deepEqual(await contentOf(zipIn(t, entriesOf(SPARK, 'my/model/'))), SPARK);
  assert.deepEqual(await contentOf(await tarIn(t, entriesOf(SPARK, './out/'))), SPARK);
  const empty = { 'metadata/part-00000': '{}', 'metadata/_SUCCESS': '' };
  assert.deepEqual(await contentOf(zipIn(t, entriesOf(empty))), empty);
  assert.deepEqual(await contentOf(filledFolder(t, empty)), empty);
});

test('entries of folders, and what macOS adds, are no files', async (t) => {
  const added = [
    { name: 'm/', mode: 0o040755 },
    { name: '__MACOSX/m/._a', content: 'x' },
    { name: 'm/.DS_Store', content: 'x' },
  ];
  const path = zipIn(t, [...added, ...entriesOf(SPARK, 'm/')]);
  assert.deepEqual(await contentOf(path), SPARK);
});

test('long names of a tar are read', async (t) => {
  const name = `${'folder-'.repeat(20)}/${'n'.repeat(180)}`;
  const path = await tarIn(t, [
    { name, content: 'x' },
    { name: 'b', content: 'y' },
  ]);
  assert.deepEqual(await contentOf(path), { b: 'y', [name]: 'x' });
});

test('links inside of a folder are followed', async (t) => {
  const folder = filledFolder(t, { '..2024/a': 'x', 'b/c': 'y' });
  symlinkSync('..2024/a', join(folder, 'a'));
  symlinkSync('b', join(folder, 'link'));
  const found = await contentOf(folder);
  assert.equal(found['a'], 'x');
  assert.equal(found['link/c'], 'y');
});

test('a folder: links that lead elsewhere, loops and pipes are refused', async (t) => {
  const outside = filledFolder(t, { 'secret/key': 'x' });
  const inner = filledFolder(t, { 'model/a': 'x' });
  const folder = join(inner, 'model');
  symlinkSync(join(outside, 'secret/key'), join(folder, 'b'));
  await refused(folder, /"b": expected a file of the model, got a link to .*secret\/key/);
  const loop = filledFolder(t, { 'model/a': 'x' });
  symlinkSync('.', join(loop, 'model', 'again'));
  await refused(join(loop, 'model'), /"again" is a link to itself/);
  const empty = tempFolder(t);
  mkdirSync(join(empty, 'x'));
  await refused(empty, /it has no files/);
  await refused(join(empty, 'missing'), /cannot be read/);
  await refused('/dev/null', /special file/);
});

test('refuses files that are not archives', async (t) => {
  const folder = filledFolder(t, { 'a.zip': 'no zip', 'b.gz': '' });
  await refused(join(folder, 'a.zip'), /got another file/);
  await refused(join(folder, 'b.gz'), /got another file/);
  await refused(archiveIn(folder, 'c.gz', gzipSync('x'.repeat(2000))), /bad archive/);
});

const BAD_NAMES: readonly (readonly [string, RegExp])[] = [
  ['../evil', /relative path|points outside/],
  ['a/../../evil', /relative path|points outside/],
  ['a\\..\\..\\evil', /relative path|points outside|characters/],
  ['/etc/passwd', /absolute/],
  ['C:/windows', /absolute/],
  ['a\0b', /characters/],
  [`${'a/'.repeat(100)}b`, /more than 64 nested folders/],
  ['n'.repeat(5000), /more than 4096 characters/],
];

for (const [name, why] of BAD_NAMES) {
  test(`the name ${JSON.stringify(name.slice(0, 20))} is refused`, async (t) => {
    await refused(zipIn(t, [{ name, content: 'x' }]), why);
    // A name ends at a NUL in a tar.
    if (!name.includes('\0')) await refused(await tarIn(t, [{ name, content: 'x' }]), why);
  });
}

test('one name twice, or as file and folder, is refused', async (t) => {
  const twice = [
    { name: 'a', content: 'x' },
    { name: './a', content: 'y' },
  ];
  const both = [
    { name: 'a', content: 'x' },
    { name: 'a/b', content: 'y' },
  ];
  for (const path of [zipIn(t, twice), await tarIn(t, twice)])
    await refused(path, /"a" occurs twice/);
  for (const entries of [both, [...both].reverse()]) {
    await refused(zipIn(t, entries), /"a" is a file and a folder/);
    await refused(await tarIn(t, entries), /"a" is a file and a folder/);
  }
});

test('refuses links, encryption, other compression and false sizes in a zip', async (t) => {
  const good: ZipEntry = { name: 'good', content: 'good' };
  const bad: readonly (readonly [ZipEntry, RegExp])[] = [
    [{ name: 'a', content: '/etc/passwd', mode: 0o120777 }, /neither a file nor a folder/],
    [{ name: 'a', content: 'x', mode: 0o010644 }, /neither a file nor a folder/],
    [{ name: 'a', content: 'x', flags: 0x801 }, /encrypted/],
    [{ name: 'a', content: 'x', flags: 0x841 }, /encryption/],
    [{ name: 'a', content: 'x', method: 93 }, /expected compression stored .*, got 93/],
    [{ name: 'a', content: 'xyz', crc: 1 }, /"a": its checksum does not match/],
    [{ name: 'a', content: 'xyz', unpackedBytes: 2 }, /too many bytes|longer than its entry/],
    [{ name: 'a', content: 'xyz', unpackedBytes: 4 }, /not enough bytes|checksum/],
    [{ name: 'a', content: 'xyz', packedBytes: 4_000_000 }, /overlap/],
    [{ name: 'a', content: 'xyz', unpackedBytes: 4_000_000_000 }, /the ratio is too high/],
    [
      {
        name: 'a',
        content: 'x',
        unpackedBytes: 0xffffffff,
        packedBytes: 0xffffffff,
        extra: zip64Sizes(1n << 60n, 1n << 52n),
      },
      /overlap/,
    ],
    [
      {
        name: 'a',
        content: 'x',
        unpackedBytes: 0xffffffff,
        packedBytes: 3,
        extra: zip64Sizes(1n << 60n, 0n),
      },
      /the ratio is too high/,
    ],
  ];
  for (const [entry, why] of bad) await refused(zipIn(t, [good, entry]), why);
});

test('a zip: a bomb, files that overlap and wrong counts are refused', async (t) => {
  const bomb = { name: 'bomb', content: Buffer.alloc(32 * 1024 * 1024) };
  await refused(zipIn(t, [bomb]), /inflate to 33554432: the ratio is too high/);
  const content = Buffer.alloc(20_000, 'ab');
  const first = { name: 'a', content, stored: true };
  const others = Array.from({ length: 40 }, (_, i) => ({
    ...first,
    name: `a${i}`,
    overlaps: true,
  }));
  await refused(zipIn(t, [first, ...others]), /overlap/);
  await refused(zipIn(t, [{ name: 'a', content: 'x' }], 2), /bad zip/);
  await refused(zipIn(t, []), /it has no files/);
});

test('a zip that is cut anywhere is refused', async (t) => {
  const folder = tempFolder(t);
  const bytes = zipOf(entriesOf(SPARK));
  for (let length = 4; length < bytes.byteLength; length += 7) {
    const path = archiveIn(folder, `cut${length}.zip`, bytes.subarray(0, length));
    await refused(path, /bad zip|no files|got another/);
  }
});

test('a tar: links, devices and sparse files are refused', async (t) => {
  const types = ['symlink', 'link', 'character-device', 'block-device', 'fifo'] as const;
  for (const type of types) {
    const path = await tarIn(t, [{ name: 'a', type, linkname: '/etc/passwd' }]);
    await refused(path, new RegExp(`"a": expected a file, got a ${type}`));
  }
  const tar = await tarOf([{ name: 'a', content: 'x' }]);
  tar[156] = 'S'.charCodeAt(0);
  let sum = 8 * 32;
  for (let i = 0; i < 512; i += 1) sum += i >= 148 && i < 156 ? 0 : (tar[i] as number);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  await refused(archiveIn(tempFolder(t), 'a.tar', tar), /"a": expected a file, got a/);
});

test('a tar: a bomb, and one that is cut or damaged, is refused', async (t) => {
  const folder = tempFolder(t);
  const big = 'x'.repeat(40 * 1024 * 1024);
  await refused(
    archiveIn(folder, 'b.gz', await tarGzOf([{ name: 'a', content: big }])),
    /inflate to/,
  );
  await refused(archiveIn(folder, 'zeros.gz', gzipSync(Buffer.alloc(40 * 1024 * 1024))), /inflate/);
  const packed = archiveIn(folder, 'c.gz', await tarGzOf(entriesOf(SPARK)));
  truncateSync(packed, 60);
  await refused(packed, /bad archive/);
  const tar = await tarOf(entriesOf(SPARK));
  await refused(archiveIn(folder, 'd.tar', tar.subarray(0, 600)), /bad archive|end is missing/);
  const damaged = Buffer.from(tar);
  damaged[1030] = 0xff;
  await refused(archiveIn(folder, 'e.tar', damaged), /bad archive/);
});

test('a tar that claims a huge file is refused before it is read', async (t) => {
  const path = await tarIn(t, [{ name: 'a', content: 'x' }]);
  const tar = await tarOf([{ name: 'a', content: 'x' }]);
  tar.write('77777777777\0', 124, 'latin1');
  let sum = 8 * 32;
  for (let i = 0; i < 512; i += 1) sum += i >= 148 && i < 156 ? 0 : (tar[i] as number);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  await refused(archiveIn(tempFolder(t), 'a.tar', tar), /at most 2147483647 bytes/);
  assert.deepEqual(await contentOf(path), { a: 'x' });
});

test('a file that is not there is named', async (t) => {
  for (const path of [
    zipIn(t, entriesOf(SPARK)),
    await tarIn(t, entriesOf(SPARK)),
    filledFolder(t, SPARK),
  ]) {
    const files = await openModelFiles(path);
    await assert.rejects(files.read('nope'), /"nope" not found/);
    assert.throws(() => files.size('nope'), /"nope" not found/);
    await files.close();
  }
});

test('the plain CRC-32 is the one of zip', () => {
  assert.equal(plainCrc32(Buffer.from('123456789')), 0xcbf43926);
  const bytes = Buffer.from(Array.from({ length: 999 }, (_, i) => (i * 7919) & 0xff));
  assert.equal(plainCrc32(bytes), nodesCrc32(bytes));
});
