// The small protobuf writer. Source: the protobuf encoding guide.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bytesField,
  int64sField,
  stringField,
  stringFields,
  varintField,
} from '../../../ts/protobuf/small-messages.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('wire writer', () => {
  it('leaves defaults out and keeps repeated ones', () => {
    assert.equal(
      Buffer.concat([
        stringField(1, ''),
        varintField(2, 0),
        varintField(2, false),
        int64sField(3, []),
      ]).length,
      0,
    );
    assert.deepEqual(stringFields(1, ['', 'a']), hex('0a 00 0a 01 61'));
    assert.deepEqual(bytesField(1, Buffer.alloc(0)), hex('0a 00'));
  });

  it('writes numbers, negative dims and long fields', () => {
    assert.deepEqual(varintField(1, true), hex('08 01'));
    assert.deepEqual(varintField(16, 300), hex('80 01 ac 02'));
    assert.deepEqual(int64sField(3, [-1, 4]), hex('1a 0b ff ff ff ff ff ff ff ff ff 01 04'));
    assert.deepEqual(int64sField(1, [2 ** 53]), hex('0a 08 80 80 80 80 80 80 80 10'));
    const long = stringField(1, 'é'.repeat(100));
    assert.deepEqual(long.subarray(0, 3), hex('0a c8 01'));
    assert.equal(long.length, 203);
  });
});
