// Version 2 checkpoints built by hand: whole and partitioned tensors, and their possible errors.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openCheckpoint } from '../../../../../ts/importers/tensorflow/checkpoint/index.js';
import { sliceKey } from '../../../../../ts/importers/tensorflow/checkpoint/ordered-code.js';
import type { Checkpoint, Slice } from '../../../../../ts/importers/tensorflow/types.js';
import { crc32c, maskCrc } from '../../../../../ts/protobuf/crc32c.js';
import { filledFolder } from '../../../temp-folder.js';
import {
  bundleEntry,
  bundleHeader,
  byKey,
  elements,
  errorOf,
  floats,
  hex,
  snappyLiterals,
  stringTensor,
  table,
} from './support.js';
import type { Entry, EntryFields } from './support.js';

const FLOAT = 1;
const STRING = 7;
const DATA = 'c.data-00000-of-00001';

const part = (start: number, length?: number): { start: number; length: number | undefined } => ({
  start,
  length,
});
const masked = (bytes: Uint8Array): number => maskCrc(crc32c(bytes));

function open(
  context: TestContext,
  entries: readonly Entry[],
  files: Record<string, Uint8Array>,
  header = bundleHeader(),
): Checkpoint {
  const index = table(byKey([['', header], ...entries]), { entriesPerBlock: 2 });
  const folder = filledFolder(context, { 'c.index': index, ...files });
  return openCheckpoint({ version: 2, prefix: join(folder, 'c') });
}

/** The error of opening and reading "t", without the folder's name. */
function failure(
  context: TestContext,
  entries: readonly Entry[],
  files: Record<string, Uint8Array>,
  request?: Slice,
  header = bundleHeader(),
): string {
  const error = errorOf(() => open(context, entries, files, header).read('t', request));
  return error.replaceAll(/\/\S*\//g, '');
}

/** A [4, 2] tensor "t" of 0..7 in slices; each is stored unless it is omitted. */
function sliced(
  slices: readonly (readonly [ReturnType<typeof part>, ReturnType<typeof part>])[],
  change: (fields: EntryFields, index: number) => EntryFields | undefined = (fields) => fields,
): { entries: Entry[]; data: Buffer } {
  const entries: Entry[] = [['t', bundleEntry({ dtype: FLOAT, shape: [4, 2], slices })]];
  const parts: Buffer[] = [];
  let offset = 0;
  slices.forEach((slice, i) => {
    const [rows, columns] = slice.map(({ start, length }, axis) =>
      Array.from({ length: length ?? [4, 2][axis] ?? 0 }, (_, at) => start + at),
    );
    const values = (rows ?? []).flatMap((row) => (columns ?? []).map((column) => row * 2 + column));
    const bytes = floats(...values);
    const shape = [rows?.length ?? 0, columns?.length ?? 0];
    const fields = change(
      { dtype: FLOAT, shape, offset, size: bytes.length, crc: masked(bytes) },
      i,
    );
    if (fields !== undefined) entries.push([sliceKey('t', slice), bundleEntry(fields)]);
    parts.push(bytes);
    offset += bytes.length;
  });
  return { entries, data: Buffer.concat(parts) };
}

test('whole tensors are described, not read', (context) => {
  const data = Buffer.concat([hex('ff'), floats(1, 2, 3)]);
  const crc = masked(floats(1, 2, 3));
  const entry = bundleEntry({ dtype: FLOAT, shape: [3, 1], offset: 1, size: 12, crc });
  const checkpoint = open(
    context,
    [
      ['b/t', entry],
      ['a', entry],
    ],
    { [DATA]: data },
  );
  assert.deepEqual(checkpoint.names, ['a', 'b/t']);
  assert.ok(checkpoint.has('a') && !checkpoint.has('c') && !checkpoint.has(''));
  assert.deepEqual(checkpoint.describe('a'), { dtype: 'float', shape: [3, 1] });
  const tensor = checkpoint.read('a');
  assert.equal(tensor.dtype, 'float');
  assert.deepEqual(tensor.shape, [3, 1]);
  assert.ok(tensor.data.kind === 'file');
  assert.deepEqual(
    { ...tensor.data, path: '' },
    { kind: 'file', path: '', offset: 1, byteLength: 12, maskedCrc32c: crc },
  );
  assert.ok(tensor.data.path.startsWith('/') && tensor.data.path.endsWith(DATA));
  assert.deepEqual(checkpoint.read('a', [part(0), part(0, 1)]).data, tensor.data);
  const middle = checkpoint.read('a', [part(1, 1), part(0)]);
  assert.deepEqual(
    [middle.shape, middle.data.kind, elements(middle)],
    [[1, 1], 'bytes', floats(2).toString('hex')],
  );
  assert.match(
    errorOf(() => checkpoint.read('c')),
    /: it has no tensor 'c'$/,
  );
  assert.match(
    errorOf(() => checkpoint.describe('')),
    /: it has no tensor ''$/,
  );
});

test('a damaged tensor is found out when a slice of it is read', (context) => {
  const entry = bundleEntry({ dtype: FLOAT, shape: [3], size: 12, crc: masked(floats(1, 2, 3)) });
  const error = failure(context, [['t', entry]], { [DATA]: floats(1, 2, 4) }, [part(0, 1)]);
  assert.match(error, /^MODEL_INVALID: .*tensor 't' in c.data-00000-of-00001: checksum: stored 0x/);
});

test('slices are put together, cut, and answered as they lie', (context) => {
  for (const slices of [
    [
      [part(0, 3), part(0, 2)],
      [part(3, 1), part(0, 2)],
    ],
    [
      [part(0), part(0, 1)],
      [part(0), part(1, 1)],
    ],
    [
      [part(2, 2), part(1, 1)],
      [part(0, 2), part(0)],
      [part(2, 2), part(0, 1)],
    ],
  ] as const) {
    const { entries, data } = sliced(slices);
    const checkpoint = open(context, entries, { [DATA]: data });
    assert.deepEqual(checkpoint.names, ['t']);
    const whole = checkpoint.read('t');
    assert.deepEqual([whole.shape, whole.data.kind], [[4, 2], 'bytes']);
    assert.equal(elements(whole), floats(0, 1, 2, 3, 4, 5, 6, 7).toString('hex'));
    const cut = checkpoint.read('t', [part(1, 3), part(1, 1)]);
    assert.deepEqual([cut.shape, elements(cut)], [[3, 1], floats(3, 5, 7).toString('hex')]);
    for (const slice of slices) assert.equal(checkpoint.read('t', slice).data.kind, 'file');
    const nothing = checkpoint.read('t', [part(2, 0), part(0)]);
    assert.deepEqual([nothing.shape, elements(nothing)], [[0, 2], '']);
  }
});

test('several data files, a compressed index, scalars, no elements', (context) => {
  const fields = { dtype: FLOAT, shape: [], size: 4 };
  const entries: Entry[] = [
    ['', bundleHeader(2)],
    ['a', bundleEntry({ ...fields, crc: masked(floats(1)) })],
    ['b', bundleEntry({ ...fields, shard: 1, crc: masked(floats(2)) })],
    ['e', bundleEntry({ ...fields, shape: [0, 3], size: 0 })],
  ];
  const index = table(entries, { compression: 1, pack: snappyLiterals });
  const folder = filledFolder(context, {
    'c.index': index,
    'c.data-00000-of-00002': floats(1),
    'c.data-00001-of-00002': floats(2),
  });
  const checkpoint = openCheckpoint({ version: 2, prefix: join(folder, 'c') });
  assert.deepEqual(
    checkpoint.names.map((name) => elements(checkpoint.read(name))),
    ['0000803f', '00000040', ''],
  );
});

test('strings are read, sliced or not', (context) => {
  const values = ['a', '', 'bc', 'def'].map((text) => Buffer.from(text));
  const { bytes, crc } = stringTensor(values);
  const whole = bundleEntry({ dtype: STRING, shape: [2, 2], size: bytes.length, crc });
  const checkpoint = open(context, [['t', whole]], { [DATA]: bytes });
  assert.deepEqual(elements(checkpoint.read('t')), ['61', '', '6263', '646566']);
  assert.deepEqual(elements(checkpoint.read('t', [part(0), part(1, 1)])), ['', '646566']);
  const slices = [
    [part(0, 1), part(0)],
    [part(1, 1), part(0)],
  ] as const;
  const halves = [stringTensor(values.slice(0, 2)), stringTensor(values.slice(2))];
  const entries = slices.map(
    (slice, i): Entry => [
      sliceKey('t', slice),
      bundleEntry({
        dtype: STRING,
        shape: [1, 2],
        offset: i * (halves[0]?.bytes.length ?? 0),
        size: halves[i]?.bytes.length ?? 0,
        crc: halves[i]?.crc ?? 0,
      }),
    ],
  );
  const parts = open(
    context,
    [['t', bundleEntry({ dtype: STRING, shape: [2, 2], slices })], ...entries],
    { [DATA]: Buffer.concat(halves.map((half) => half.bytes)) },
  );
  assert.deepEqual(elements(parts.read('t')), ['61', '', '6263', '646566']);
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 1] = 0;
  assert.match(
    failure(context, [['t', whole]], { [DATA]: damaged }),
    /tensor 't' in c.data-00000-of-00001: checksum: stored/,
  );
});

test('entries that do not fit their file or their shape', (context) => {
  const good = { dtype: FLOAT, shape: [3], size: 12 };
  const begin = "c.index: tensor 't': ";
  for (const [fields, said] of [
    [{ offset: 1 }, `expected 12 bytes from byte 1 of ${DATA} on, got a file of 12 bytes`],
    [{ offset: 2 ** 52 }, `expected 12 bytes from byte ${2 ** 52} of ${DATA} on, got a file of`],
    [{ offset: -1 }, ''],
    [{ size: 2 ** 53 }, ''],
    [{ size: 8 }, `[3] of float in ${DATA}: expected 12 bytes, got 8`],
    [{ shape: [2] }, `[2] of float in ${DATA}: expected 8 bytes, got 12`],
    [{ shape: [2 ** 40, 2 ** 40] }, 'shape [1099511627776,1099511627776] has more than 2^53 - 1'],
    [{ shape: [-1] }, ''],
    [{ shard: 1 }, 'data file: expected 0 to 0, got 1'],
    [{ shard: -1 }, 'data file: expected 0 to 0, got -1'],
    [{ dtype: 0 }, 'unknown data type 0'],
    [{ dtype: -5 }, 'unknown data type -5'],
    [{ dtype: 7 }, 'in c.data'],
  ] as const) {
    const error = failure(context, [['t', bundleEntry({ ...good, ...fields })]], {
      [DATA]: floats(1, 2, 3),
    });
    const expected = said === '' ? /expected a number from 0 to 2\^53 - 1, got/ : said;
    if (typeof expected === 'string') assert.ok(error.includes(expected), error);
    else assert.match(error, expected);
    assert.ok(error.startsWith('MODEL_INVALID: c.index: '), error);
    if (said.startsWith('expected')) assert.ok(error.includes(begin), error);
  }
  assert.match(failure(context, [['t', bundleEntry(good)]], {}), /cannot be read: ENOENT/);
  assert.equal(
    failure(context, [['t', bundleEntry({ ...good, dtype: 21 })]], {}),
    `UNIMPLEMENTED: ${begin}elements of data type variant are not supported`,
  );
  assert.equal(
    failure(context, [['t', bundleEntry({ ...good, dtype: 29 })]], {}),
    `UNIMPLEMENTED: ${begin}elements of data type number 29 are not supported`,
  );
  assert.equal(
    failure(context, [['t', bundleEntry({ ...good, dtype: 101 })]], { [DATA]: floats(1, 2, 3) }),
    'no error',
  );
});

test('slices that are missing, overlap, or are others', (context) => {
  const halves = [
    [part(0, 2), part(0, 2)],
    [part(2, 2), part(0, 2)],
  ] as const;
  const said = ({ entries, data }: { entries: Entry[]; data: Buffer }, request?: Slice): string =>
    failure(context, entries, { [DATA]: data }, request);
  assert.equal(said(sliced(halves)), 'no error');
  assert.equal(
    said(sliced(halves, (fields, i) => (i === 0 ? undefined : fields))),
    "MODEL_INVALID: c.index: tensor 't' slice [0+2, 0+2]: is listed, but not stored",
  );
  assert.match(said(sliced([halves[0]])), /tensor 't': its stored slices cover 4 of the 8 elem/);
  assert.equal(said(sliced([halves[0]]), [part(1, 1), part(0)]), 'no error');
  assert.match(said(sliced([halves[0]]), [part(2, 2), part(0)]), /cover 0 of the 4 elem.*none$/);
  assert.match(
    said(sliced([halves[0], [part(1, 3), part(0, 2)]])),
    /slices \[0\+2, 0\+2\] and \[1\+3, 0\+2\] overlap/,
  );
  assert.match(
    said(sliced([[part(0, 5), part(0)]], () => undefined)),
    /slice: dimension 0 of 4: 5 from 0 on/,
  );
  assert.match(
    said(sliced(halves, (fields) => ({ ...fields, shape: [1, 4] }))),
    /shape: expected \[2,2\], got \[1,4\]/,
  );
  assert.match(
    said(sliced(halves, (fields) => ({ ...fields, dtype: 3 }))),
    /data type: expected 1, got 3/,
  );
  assert.match(
    said(sliced(halves, (fields) => ({ ...fields, offset: 0 }))),
    /two of its slices share byte 0 of data file 0/,
  );
  assert.match(said(sliced(halves, (fields) => ({ ...fields, crc: 7 }))), /checksum: stored 0x00/);
  assert.match(said(sliced(halves), [part(0)]), /slice: expected 2 dimensions, got 1/);
  assert.match(said(sliced(halves), [part(3, 2), part(0)]), /slice: dimension 0 of 4: 2 from 3 on/);
});

test('headers', (context) => {
  const entry: Entry = ['t', bundleEntry({ dtype: FLOAT, shape: [1], size: 4 })];
  const said = (header: Uint8Array): string =>
    failure(context, [entry], { [DATA]: floats(1) }, undefined, header);
  assert.equal(said(bundleHeader()), 'no error');
  assert.equal(
    said(bundleHeader(0)),
    'MODEL_INVALID: c.index: data files: expected 1 to 100000, ' + 'got 0',
  );
  assert.match(said(bundleHeader(100_001)), /expected 1 to 100000, got 100001/);
  assert.match(said(bundleHeader(-1)), /expected 1 to 100000, got -1/);
  assert.equal(
    said(bundleHeader(1, 1)),
    'UNIMPLEMENTED: c.index: checkpoints in big-endian byte order are not supported',
  );
  assert.equal(
    said(bundleHeader(1, 0, 2)),
    "UNIMPLEMENTED: c.index: the checkpoint's format " +
      '(producer 1) needs 2; this reader is version 1',
  );
  assert.match(said(hex('08')), /^MODEL_INVALID: c.index: BundleHeaderProto: byte 1/);
  const bad = hex('0801 1a02 1801');
  assert.match(said(bad), /^UNIMPLEMENTED: .* excludes version 1; this reader is version 1$/);
  const headless = table([entry]);
  const folder = filledFolder(context, { 'c.index': headless });
  assert.match(
    errorOf(() => openCheckpoint({ version: 2, prefix: join(folder, 'c') })),
    /c.index: expected a header under the key ""$/,
  );
});

test('messages and names that are damaged', (context) => {
  const said = (key: string, value: Uint8Array): string => failure(context, [[key, value]], {});
  assert.match(said('t', hex('0a')), /^MODEL_INVALID: c.index: 't': BundleEntryProto: byte/);
  assert.match(said('t', hex('2080808080808080808080')), /a number is longer than 10 bytes/);
  assert.match(said('t', hex('12 02 1801')), /a stored tensor has a shape of unknown rank/);
  assert.match(said('t', hex(`12fe03${'1200'.repeat(255)}`)), /expected a rank of at most 254/);
  const extents = `3afe03${'0a00'.repeat(255)}`;
  assert.match(said('t', hex(extents)), /expected a rank of at most 254/);
  assert.match(said('t', hex('3a00'.repeat(16_385))), /expected at most 16384 slices/);
  assert.match(said('\xff', hex('')), /the name "ÿ" is not valid UTF-8/);
});
