// zstd frames: Node's output is complete, and anything shorter or longer is not.
import assert from 'node:assert/strict';
import * as zlib from 'node:zlib';
import { test } from 'node:test';
import { hasWholeFrames } from '../../../../ts/protocols/rest/zstd-frames.js';

type Compress = (body: Buffer, options?: object) => Buffer;
const compress = (zlib as unknown as { zstdCompressSync: Compress }).zstdCompressSync;
const CHECKSUM = 201; // zstd's parameter for a checksum

const noise = (bytes: number): Buffer =>
  Buffer.from(Buffer.alloc(bytes).map((_, i) => (i * 7919) >> 3));

test('a body is whole, and no part of it is', () => {
  for (const plain of [Buffer.alloc(0), Buffer.from('abc'), Buffer.alloc(70_000), noise(300_000)]) {
    for (const checksum of [0, 1]) {
      const packed = compress(plain, { params: { [CHECKSUM]: checksum } });
      assert.ok(hasWholeFrames(packed), `${plain.length} bytes`);
      assert.ok(hasWholeFrames(Buffer.concat([packed, packed])));
      const step = Math.max(1, Math.floor(packed.length / 500));
      for (let cut = 0; cut < packed.length; cut += step) {
        assert.equal(hasWholeFrames(packed.subarray(0, cut)), false, `${plain.length}: ${cut}`);
      }
      assert.equal(hasWholeFrames(Buffer.concat([packed, Buffer.from('more')])), false);
    }
  }
});

test('frames that are skipped count, and other bytes do not', () => {
  const skipped = Buffer.from('502a4d1803000000616263', 'hex');
  assert.ok(hasWholeFrames(Buffer.concat([skipped, compress(Buffer.from('abc'))])));
  assert.equal(hasWholeFrames(skipped.subarray(0, -1)), false);
  for (const text of ['', 'abc', '{"inputs":[]}'])
    assert.equal(hasWholeFrames(Buffer.from(text)), false);
});
