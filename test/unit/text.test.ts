// Texts and counts by name that control and hot files share.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addedCounts, countsByName } from '../../ts/text.js';

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
