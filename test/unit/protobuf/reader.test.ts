// The protobuf reader. Source: the protobuf encoding guide.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { WireReader, exactReader } from '../../../ts/protobuf/reader.js';
import { errorOf, hex, hexOf } from '../models/warmup/support.js';

const sample = (text: string): WireReader => new WireReader(hex(text), 'Sample');

/** Every number in field 1, as unsigned 64 bits. */
function numbers(text: string): bigint[] {
  const found: bigint[] = [];
  const reader = sample(text);
  while (reader.next()) {
    if (reader.field !== 1) reader.skip();
    else reader.varints(({ low, high }) => found.push(BigInt(high) * 2n ** 32n + BigInt(low)));
  }
  return found;
}

function walk(text: string): number {
  const reader = sample(text);
  let fields = 0;
  for (; reader.next(); fields += 1) reader.skip();
  return fields;
}

it('reads int64 fields, and takes the code of its errors', async () => {
  const reader = sample('08ffffffffffffffffff01 0805');
  assert.ok(reader.next());
  assert.equal(reader.int64(), -1n);
  assert.ok(reader.next());
  assert.equal(reader.int64(), 5n);
  const broken = new WireReader(hex('0a020a05'), 'M', 0, ErrorCode.MalformedBody);
  assert.ok(broken.next());
  const inner = broken.nested('Inner').again();
  assert.ok(inner.next());
  assert.match(
    await errorOf(() => inner.view()),
    /^MALFORMED_BODY: Inner: byte 2: field 1: expected 5 byt/,
  );
});

describe('wire reader', () => {
  it('reads numbers of every length, packed or not', () => {
    assert.deepEqual(numbers('0800 087f 088001 08ffffffff0f 088080808010'), [
      0n,
      127n,
      128n,
      2n ** 32n - 1n,
      2n ** 32n,
    ]);
    assert.deepEqual(numbers('0a04 00 7f 8001'), [0n, 127n, 128n]);
    assert.deepEqual(numbers('0a00'), []);
    for (let bit = 0n; bit < 64n; bit += 1n) {
      let rest = 1n << bit;
      const bytes = [];
      for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
      assert.deepEqual(numbers(`08${hexOf(Uint8Array.from([...bytes, Number(rest)]))}`), [
        1n << bit,
      ]);
    }
  });

  it('drops bits above the 64th, and takes numbers written too long', () => {
    assert.deepEqual(numbers('08 ffffffffffffffffff 01'), [2n ** 64n - 1n]);
    assert.deepEqual(numbers('08 ffffffffffffffffff 7f'), [2n ** 64n - 1n]);
    assert.deepEqual(numbers('8800 8100 88808000 01'), [1n, 1n]);
  });

  it('reads fixed-size lists, nested messages and text', () => {
    const reader = sample('0d01020304 0a0805060708 090a0b0c 12040a02c3a9');
    const runs: string[] = [];
    for (let i = 0; i < 2 && reader.next(); i += 1) runs.push(hexOf(reader.fixed(4)));
    assert.deepEqual(runs, ['01020304', '05060708090a0b0c']);
    assert.ok(reader.next());
    const inner = reader.nested('Inner');
    assert.ok(inner.next());
    assert.equal(inner.string(), 'é');
    assert.equal(inner.next() || reader.next(), false);
    assert.ok(reader.again().next());
  });

  it('passes over everything it does not know', () => {
    assert.equal(
      walk(
        '08ffffffffffffffffff01 110102030405060708 1a03010203 2501020304' +
          '33 0b 08 01 0c 12 00 34 f8ffffff0f00',
      ),
      6,
    );
    assert.equal(walk(`${'0b'.repeat(100)}${'0c'.repeat(100)}`), 1);
  });

  it('says what is broken, and where', async () => {
    const cases: readonly [string, string][] = [
      ['08', 'byte 1: field 1: the message ends inside a number'],
      ['0880', 'byte 1: field 1: the message ends inside a number'],
      ['08ffffffffffffffffffff01', 'byte 1: field 1: a number is longer than 10 bytes'],
      ['0a0501', 'byte 0: field 1: expected 5 bytes, but only 1 remain'],
      ['0a02 8080 81', 'byte 2: field 1: the message ends inside a number'],
      ['0a02 0180 01', 'byte 0: field 1: a number extends beyond its list'],
      [
        '0affffffffffffffffff01 00',
        'byte 0: field 1: expected more than 2^53 bytes, but only 1 remain',
      ],
      ['0d01', 'byte 0: field 1: expected wire type 0, got 5'],
      ['00', 'byte 0: field number 0 is not from 1 to 536870911'],
      ['8080808010', 'byte 0: field number 536870912 is not from 1 to 536870911'],
      ['1001 808080808001', 'byte 2: field number 4294967296 is not from 1 to 536870911'],
      ['1101', 'byte 0: field 2: expected 8 bytes, but only 1 remain'],
      ['1501', 'byte 0: field 2: expected 4 bytes, but only 1 remain'],
      ['1205', 'byte 0: field 2: expected 5 bytes, but only 0 remain'],
      ['16', 'byte 0: field 2: wire type 6 does not exist'],
      ['14', 'byte 0: field 2: it ends no open group'],
      ['131c', 'byte 1: field 3: it ends no open group'],
      ['130801', 'byte 3: the message ends inside a number'],
      ['13'.repeat(101), 'byte 0: field 2: groups are nested deeper than 100'],
    ];
    for (const [text, message] of cases) {
      assert.equal(await errorOf(() => numbers(text)), `MODEL_INVALID: Sample: ${message}`, text);
    }
  });

  it('counts bytes from the beginning of the outermost message', async () => {
    const reader = sample('0801 120412020880');
    assert.ok(reader.next());
    reader.varint();
    assert.ok(reader.next());
    const inner = reader.nested('Inner');
    assert.ok(inner.next());
    const innermost = inner.nested('Innermost');
    assert.ok(innermost.next());
    assert.equal(
      await errorOf(() => innermost.varint()),
      'MODEL_INVALID: Innermost: byte 7: field 1: the message ends inside a number',
    );
  });

  it('refuses a list of half elements and text that is not UTF-8', async () => {
    const broken = (text: string, read: (reader: WireReader) => unknown): Promise<string> =>
      errorOf(() => {
        const reader = sample(text);
        reader.next();
        read(reader);
      });
    assert.equal(
      await broken('0a03010203', (reader) => reader.fixed(4)),
      'MODEL_INVALID: Sample: byte 0: field 1: a list of 4-byte elements has 3 bytes',
    );
    assert.equal(
      await broken('0d01020304', (reader) => reader.fixed(8)),
      'MODEL_INVALID: Sample: byte 0: field 1: expected wire type 1, got 5',
    );
    assert.equal(
      await broken('0a02ff61', (reader) => reader.string()),
      'MODEL_INVALID: Sample: byte 2: field 1: the text is not valid UTF-8',
    );
    assert.equal(
      await broken('0801', (reader) => reader.view()),
      'MODEL_INVALID: Sample: byte 0: field 1: expected wire type 2, got 0',
    );
  });
});

describe('texts', () => {
  const read = (bytes: Uint8Array): string => {
    const reader = new WireReader(Uint8Array.from([0x0a, bytes.length, ...bytes]), 'M');
    assert.ok(reader.next());
    return reader.string();
  };

  it('are what they are, short and long, ASCII or not', () => {
    const texts = [
      '',
      'a',
      '\0\x7f',
      '\u00e4',
      'a'.repeat(24),
      'a'.repeat(25),
      `${'a'.repeat(22)}\u00e4`,
      '\u20ac'.repeat(8),
      '\u20ac'.repeat(9),
      '\ufeffa',
      '\u{1f600}',
    ];
    for (const text of texts) assert.equal(read(Buffer.from(text)), text);
  });

  it('are refused where they are not UTF-8, with the byte', async () => {
    for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80]]) {
      assert.match(
        await errorOf(() => read(Uint8Array.from(bytes))),
        /: byte 2: field 1: the text is not valid UTF-8/,
      );
    }
  });
});

// All string fields with number 1; the rest is skipped.
function textsOf(bytes: Uint8Array): string[] {
  const reader = exactReader(bytes, 'Sample');
  const texts: string[] = [];
  while (reader.next()) {
    if (reader.field === 1) texts.push(reader.string());
    else reader.skip();
  }
  return texts;
}

describe('reader of requests', () => {
  it('reads strings and passes over every wire type', () => {
    assert.deepEqual(textsOf(Buffer.alloc(0)), []);
    assert.deepEqual(textsOf(hex('0a 02 c3 a9')), ['é']);
    const others =
      '10 ff ff ff ff ff ff ff ff ff 01' +
      '19 0102030405060708' +
      '22 03 010203' +
      '2d 01020304' +
      '33 0b 08 01 0c 12 00 34';
    assert.deepEqual(textsOf(hex(`0a 01 61 ${others} 0a 00`)), ['a', '']);
  });

  it('takes tags and lengths that are written too long', () => {
    assert.deepEqual(textsOf(hex('8a 80 80 00 81 00 61')), ['a']);
  });

  it('reads numbers and nothing else as numbers', () => {
    const number = (text: string): number => {
      const reader = exactReader(hex(text), 'Sample');
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
      ['0a 05 61', 'byte 1: field 1: expected 5 bytes, but only 1 remain'],
      [
        '0a ff ff ff ff ff ff ff ff ff 01 61',
        'byte 1: field 1: expected more than 2^53 bytes, but only 1 remain',
      ],
      ['0a 01 ff', 'byte 2: field 1: the text is not valid UTF-8'],
      ['0a 03 ed a0 80', 'byte 2: field 1: the text is not valid UTF-8'],
      ['08 01', 'byte 0: field 1: expected wire type 2, got 0'],
      ['00', 'byte 0: field number 0 is not from 1 to 536870911'],
      ['80 80 80 80 10', 'byte 0: field number 536870912 is not from 1 to 536870911'],
      ['10 ff ff ff ff ff ff ff ff ff ff 01', 'byte 1: a number is longer than 10 bytes'],
      ['19 01', 'byte 1: field 3: expected 8 bytes, but only 1 remain'],
      ['25 01', 'byte 1: field 4: expected 4 bytes, but only 1 remain'],
      ['22 05', 'byte 1: field 4: expected 5 bytes, but only 0 remain'],
      ['16', 'byte 0: field 2: wire type 6 does not exist'],
      ['14', 'byte 0: field 2 ends no open group'],
      ['13 1c', 'byte 1: field 3 ends no open group'],
      ['13 08 01', 'byte 3: the message ends inside a number'],
      ['13'.repeat(101), 'byte 0: groups are nested deeper than 100'],
    ];
    for (const [text, message] of cases) {
      assert.throws(
        () => textsOf(hex(text)),
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
        textsOf(bytes);
      } catch (error) {
        assert.ok(error instanceof ServalError, bytes.toString('hex'));
      }
    }
  });
});
