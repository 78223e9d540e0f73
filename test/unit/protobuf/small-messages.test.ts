// The small protobuf reader and writer. Source: the protobuf encoding guide.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import {
  WireReader,
  bytesField,
  int64sField,
  stringField,
  stringFields,
  varintField,
} from '../../../ts/protobuf/small-messages.js';

// All string fields called 1; the rest is passed over.
function read(bytes: Buffer): string[] {
  const reader = new WireReader(bytes, 'Sample');
  const texts: string[] = [];
  while (reader.next()) {
    if (reader.field === 1) texts.push(reader.string());
    else reader.skip();
  }
  return texts;
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('wire reader', () => {
  it('reads strings and passes over every wire type', () => {
    assert.deepEqual(read(Buffer.alloc(0)), []);
    assert.deepEqual(read(hex('0a 02 c3 a9')), ['é']);
    const others =
      '10 ff ff ff ff ff ff ff ff ff 01' +
      '19 0102030405060708' +
      '22 03 010203' +
      '2d 01020304' +
      '33 0b 08 01 0c 12 00 34';
    assert.deepEqual(read(hex(`0a 01 61 ${others} 0a 00`)), ['a', '']);
  });

  it('takes tags and lengths that are written too long', () => {
    assert.deepEqual(read(hex('8a 80 80 00 81 00 61')), ['a']);
  });

  it('reads numbers and nothing else as numbers', () => {
    const number = (text: string): number => {
      const reader = new WireReader(hex(text), 'Sample');
      reader.next();
      return reader.number();
    };
    assert.deepEqual(['08 00', '08 01', '08 ac 02', '08 ff ff ff ff ff ff ff 0f'].map(number), [
      0,
      1,
      300,
      2 ** 53 - 1,
    ]);
    for (const [text, message] of [
      ['0a 01 61', 'Sample: byte 0: field 1: expected wire type 0, got 2'],
      ['0d 00000000', 'Sample: byte 0: field 1: expected wire type 0, got 5'],
      ['08 80', 'Sample: byte 1: the message ends inside a number'],
    ] as const) {
      assert.throws(() => number(text), new ServalError(ErrorCode.MalformedBody, message));
    }
  });

  it('says what is broken, and where', () => {
    const cases: readonly [string, string][] = [
      ['0a', 'byte 1: the message ends inside a number'],
      ['0a 05 61', 'byte 1: field 1: 5 bytes expected, 1 are left'],
      [
        '0a ff ff ff ff ff ff ff ff ff 01 61',
        'byte 1: field 1: more than 2^53 bytes expected, 1 are left',
      ],
      ['0a 01 ff', 'byte 2: field 1: the text is not valid UTF-8'],
      ['0a 03 ed a0 80', 'byte 2: field 1: the text is not valid UTF-8'],
      ['08 01', 'byte 0: field 1: expected wire type 2, got 0'],
      ['00', 'byte 0: field number 0 is not from 1 to 536870911'],
      ['80 80 80 80 10', 'byte 0: field number 536870912 is not from 1 to 536870911'],
      ['10 ff ff ff ff ff ff ff ff ff ff 01', 'byte 1: a number is longer than 10 bytes'],
      ['19 01', 'byte 1: field 3: 8 bytes expected, 1 are left'],
      ['25 01', 'byte 1: field 4: 4 bytes expected, 1 are left'],
      ['22 05', 'byte 1: field 4: 5 bytes expected, 0 are left'],
      ['16', 'byte 0: field 2: wire type 6 does not exist'],
      ['14', 'byte 0: field 2 ends no open group'],
      ['13 1c', 'byte 1: field 3 ends no open group'],
      ['13 08 01', 'byte 3: the message ends inside a number'],
      ['13'.repeat(101), 'byte 0: groups nest deeper than 100'],
    ];
    for (const [text, message] of cases) {
      assert.throws(
        () => read(hex(text)),
        (error: unknown) => {
          assert.ok(error instanceof ServalError, String(error));
          assert.deepEqual(
            [error.code, error.message],
            [ErrorCode.MalformedBody, `Sample: ${message}`],
          );
          return true;
        },
        text,
      );
    }
  });

  it('ends with a value or a ServalError on any bytes', () => {
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = Buffer.from(Array.from({ length: random(24) }, () => random(256)));
      try {
        read(bytes);
      } catch (error) {
        assert.ok(error instanceof ServalError, bytes.toString('hex'));
      }
    }
  });
});

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
    assert.deepEqual(read(long), ['é'.repeat(100)]);
  });
});
