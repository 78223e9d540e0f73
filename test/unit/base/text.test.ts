// Text functions and counts by name that control and hot files share.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addedCounts,
  countsByName,
  echo,
  visible,
  visibleInJson,
  visibleJson,
  visibleLines,
  visibleTexts,
} from '../../../ts/base/text.js';

/** An invisible character of each kind, and how it is shown. */
const HIDDEN = [
  ['\0', '\\u0000'],
  ['\x1b', '\\u001b'],
  ['\x7f', '\\u007f'],
  ['\x85', '\\u0085'],
  ['\xad', '\\u00ad'],
  ['\u200b', '\\u200b'],
  ['\u202e', '\\u202e'],
  ['\u2028', '\\u2028'],
  ['\u2029', '\\u2029'],
  ['\u2066', '\\u2066'],
  ['\ufeff', '\\ufeff'],
  ['\u{e0001}', '\\u{e0001}'],
] as const;

describe('shows invisible characters', () => {
  it('as escapes', () => {
    for (const [char, escape] of HIDDEN) {
      assert.equal(visible(`a${char}b`), `a${escape}b`);
      assert.equal(visibleLines(`a${char}\nb`), `a${escape}\nb`);
      assert.ok(!echo(`a${char}`).includes(char));
    }
    assert.equal(visible('a\n\r\tb'), 'a\\n\\r\\tb');
    for (const text of ['', 'a b', 'ä € 模型 🦆', '\\u0000']) assert.equal(visible(text), text);
  });

  it('in JSON, which reads back as it was', () => {
    const value = { [HIDDEN.map(([char]) => char).join('')]: ['\n\u202e', 1, null] };
    for (const text of [visibleJson(value), visibleJson(value, 2)]) {
      assert.deepEqual(JSON.parse(text), value);
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
    assert.equal(visibleInJson('"\u{e0001}"'), '"\\udb40\\udc01"');
  });

  it('in all texts of a report', () => {
    const report = { name: 'a\nb', rows: [['\u202e', 1]], 'x\x1b': { none: undefined, no: null } };
    assert.deepEqual(visibleTexts(report), {
      name: 'a\\nb',
      rows: [['\\u202e', 1]],
      'x\\u001b': { none: undefined, no: null },
    });
  });
});

describe('counts by name', () => {
  it('are read from lines, of which a name may have several', () => {
    assert.deepEqual(countsByName(Buffer.from('2 half\0' + '1 a b\0' + '40 half\0')), {
      half: 42,
      'a b': 1,
    });
    assert.deepEqual(countsByName(Buffer.alloc(0)), {});
  });

  it('are added up, whatever the names', () => {
    const odd = countsByName(Buffer.from('1 __proto__\0'));
    const sum = addedCounts([{ a: 1 }, {}, { a: 2, b: 3 }, odd, odd]);
    assert.deepEqual(Object.entries(sum), [
      ['a', 3],
      ['b', 3],
      ['__proto__', 2],
    ]);
  });
});
