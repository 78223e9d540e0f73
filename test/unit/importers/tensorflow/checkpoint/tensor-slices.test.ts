// Version 1 checkpoints built by hand: single files, shards, slices over files, and damage.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openCheckpoint } from '../../../../../ts/importers/tensorflow/checkpoint/index.js';
import type { Extent } from '../../../../../ts/importers/tensorflow/checkpoint/ordered-code.js';
import type { Checkpoint, Slice } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import {
  byKey,
  elements,
  errorOf,
  floats,
  hex,
  savedSlice,
  snappyLiterals,
  table,
  tensorMetas,
} from './support.js';
import type { Entry, MetaFields, TableOptions } from './support.js';

const FLOAT = 1;

const part = (start: number, length?: number): Extent => ({ start, length });

/** A slice of floats under its own key. */
const floatSlice = (name: string, extents: readonly Extent[], ...values: number[]): Entry =>
  savedSlice(name, extents, (tensor) => tensor.bytes(5, floats(...values)));

const tFloats = (
  shape: readonly number[],
  ...slices: readonly (readonly Extent[])[]
): MetaFields => ({ name: 't', dtype: FLOAT, shape, slices });

/** One file of the checkpoint. */
const shard = (
  metas: readonly MetaFields[],
  slices: readonly Entry[],
  options: TableOptions = {},
): Buffer => table(byKey([['', tensorMetas(metas)], ...slices]), options);

function open(context: TestContext, ...shards: readonly Buffer[]): Checkpoint {
  const names = shards.map((_, i) => `s${i}`);
  const folder = filledFolder(
    context,
    Object.fromEntries(names.map((name, i) => [name, shards[i] ?? ''] as const)),
  );
  return openCheckpoint({ version: 1, files: names.map((name) => join(folder, name)) });
}

/** The error of opening and reading "t", without the folder's name. */
function failure(context: TestContext, shards: readonly Buffer[], request?: Slice): string {
  return errorOf(() => open(context, ...shards).read('t', request)).replaceAll(/\/\S*\//g, '');
}

test('a single file', (context) => {
  const metas: MetaFields[] = [
    tFloats([2, 2], [part(0), part(0)]),
    { name: 'scalar', dtype: 9, shape: [], slices: [[]] },
    { name: 's', dtype: 7, shape: [2], slices: [[part(0)]] },
  ];
  const slices = [
    floatSlice('t', [part(0), part(0)], 1, 2, 3, 4),
    savedSlice('scalar', [], (tensor) => tensor.varint(10, -2)),
    savedSlice('s', [part(0)], (tensor) => tensor.string(8, 'a').string(8, '')),
  ];
  const packed = { compression: 1, pack: snappyLiterals };
  for (const options of [{}, { entriesPerBlock: 1 }, packed]) {
    const checkpoint = open(context, shard(metas, slices, options));
    assert.deepEqual(checkpoint.names, ['s', 'scalar', 't']);
    assert.deepEqual(checkpoint.describe('scalar'), { dtype: 'int64', shape: [] });
    assert.equal(elements(checkpoint.read('t')), floats(1, 2, 3, 4).toString('hex'));
    assert.equal(elements(checkpoint.read('scalar')), 'feffffffffffffff');
    assert.equal(elements(checkpoint.read('scalar', [])), 'feffffffffffffff');
    assert.deepEqual(elements(checkpoint.read('s')), ['61', '']);
    assert.deepEqual(elements(checkpoint.read('s', [part(1, 1)])), ['']);
    const column = checkpoint.read('t', [part(0), part(1, 1)]);
    assert.deepEqual([column.shape, elements(column)], [[2, 1], floats(2, 4).toString('hex')]);
  }
});

test('slices of one tensor over several files, each of which lists its own', (context) => {
  const [first, second, third] = [
    [part(0, 2), part(0)],
    [part(2, 1), part(0)],
    [part(3, 1), part(0)],
  ];
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const checkpoint = open(
    context,
    shard(
      [tFloats([4, 2], first, third)],
      [floatSlice('t', first, 0, 1, 2, 3), floatSlice('t', third, 6, 7)],
    ),
    shard(
      [{ name: 'u', dtype: FLOAT, shape: [1], slices: [[part(0)]] }],
      [floatSlice('u', [part(0)], 9)],
    ),
    shard([tFloats([4, 2], second)], [floatSlice('t', second, 4, 5)]),
  );
  assert.deepEqual(checkpoint.names, ['t', 'u']);
  assert.equal(elements(checkpoint.read('t')), floats(0, 1, 2, 3, 4, 5, 6, 7).toString('hex'));
  assert.equal(elements(checkpoint.read('t', second)), floats(4, 5).toString('hex'));
  assert.equal(
    elements(checkpoint.read('t', [part(1, 3), part(1, 1)])),
    floats(3, 5, 7).toString('hex'),
  );
  assert.equal(elements(checkpoint.read('u')), floats(9).toString('hex'));
});

test('slices that are missing, overlap or are others', (context) => {
  const half = [part(0, 2)];
  const rest = [part(2, 2)];
  const slices = [floatSlice('t', half, 1, 2), floatSlice('t', rest, 3, 4)];
  const whole = shard([tFloats([4], half, rest)], slices);
  const said = (...shards: readonly Buffer[]): string => failure(context, shards);
  assert.equal(said(whole), 'no error');
  assert.match(said(shard([tFloats([4], half)], slices)), /cover 2 of the 4 elements of \[0\+4\]/);
  assert.match(said(shard([tFloats([4])], slices)), /cover 0 of the 4 elements of \[0\+4\]: none/);
  assert.match(
    said(shard([tFloats([4], half, rest)], slices.slice(0, 1))),
    /s0: tensor 't' slice \[2\+2\]: is listed, but not stored/,
  );
  assert.match(said(whole, whole), /slices \[0\+2\] and \[0\+2\] overlap/);
  assert.match(
    said(shard([tFloats([4], half, [part(1, 3)])], slices)),
    /slices \[0\+2\] and \[1\+3\] overlap/,
  );
  assert.match(said(shard([tFloats([4], [part(0, 5)])], slices)), /dimension 0 of 4: 5 from 0 on/);
  assert.match(
    said(shard([tFloats([4], [part(0), part(0)])], slices)),
    /slice: expected 1 dimensions, got 2/,
  );
  const [key] = floatSlice('t', half, 1, 2);
  const under = (entry: Entry): string =>
    said(shard([tFloats([4], half, rest)], [[key, entry[1]], floatSlice('t', rest, 3, 4)]));
  assert.match(under(floatSlice('other', half, 1, 2)), /its entry holds slice \[0\+2\] of 'other'/);
  assert.match(under(floatSlice('t', rest, 1, 2)), /its entry holds slice \[2\+2\] of 't'/);
  assert.match(under(['', hex('')]), /slice \[0\+2\]: its entry holds no slice/);
  assert.match(under(['', hex('1205')]), /MODEL_INVALID: s0: .*SavedTensorSlices: byte 0: field 2/);
});

test('values that are too few or too many do not repeat or vanish', (context) => {
  const said = (...values: number[]): string =>
    failure(context, [shard([tFloats([3], [part(0)])], [floatSlice('t', [part(0)], ...values)])]);
  assert.equal(said(1, 2, 3), 'no error');
  assert.match(said(1), /tensor 't' slice \[0\+3\]: expected 3 values, got 1$/);
  assert.match(said(), /tensor 't' slice \[0\+3\]: expected 3 values, got/);
  assert.match(said(1, 2, 3, 4), /tensor 't' slice \[0\+3\]: expected 3 values, got more$/);
});

test('lists that contradict each other, and files that are none', (context) => {
  const t = [floatSlice('t', [part(0)], 1)];
  const meta = tFloats([1], [part(0)]);
  const good = shard([meta], t);
  assert.match(
    failure(context, [good, shard([{ ...meta, dtype: 3 }], t)]),
    /s1: tensor 't': expected float \[1\] as in another file, got int32 \[1\]/,
  );
  assert.match(
    failure(context, [good, shard([{ ...meta, shape: [2] }], t)]),
    /s1: tensor 't': expected float \[1\] as in another file, got float \[2\]/,
  );
  assert.match(failure(context, [shard([meta, meta], t)]), /s0: tensor 't' is listed twice/);
  assert.match(failure(context, [shard([{ ...meta, dtype: 0 }], t)]), /unknown data type 0/);
  assert.match(failure(context, [table(t)]), /s0: expected a list of tensors under the key ""/);
  assert.match(
    failure(context, [table([['', tensorMetas([meta], 2)], ...t])]),
    /^UNIMPLEMENTED: s0: the checkpoint's format \(producer 1\) needs 2/,
  );
  assert.match(failure(context, [table([['', hex('0a')]])]), /^MODEL_INVALID: s0: SavedTensorSl/);
  assert.match(failure(context, []), /version 1 checkpoint: expected 1 to 100000 files, got 0/);
  assert.match(failure(context, [good, Buffer.alloc(0)]), /s1: not a checkpoint table/);
  assert.match(
    failure(context, [shard([{ ...meta, shape: [2 ** 40], slices: [[part(0)]] }], t)]),
    /slice \[0\+1099511627776\]: expected 1099511627776 values, got 6 bytes for them/,
  );
});
