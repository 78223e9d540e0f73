// The heap after many models changed: compacted once they rest, and never for a few.
import assert from 'node:assert/strict';
import { getHeapStatistics } from 'node:v8';
import { mock, test } from 'node:test';
import { collectGarbage, compactHeap, HeapOfModels } from '../../../../ts/base/memory/garbage.js';
import { COMPACT_AFTER_MS, COMPACT_MODELS_MIN } from '../../../../ts/base/limits.js';

test('compacts once no model changed for some time', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    let compacted = 0;
    const heap = new HeapOfModels(() => {
      compacted += 1;
    });
    heap.note(COMPACT_MODELS_MIN - 1);
    mock.timers.tick(10 * COMPACT_AFTER_MS);
    assert.equal(compacted, 0);
    heap.note(1);
    mock.timers.tick(COMPACT_AFTER_MS - 1);
    heap.note(1);
    mock.timers.tick(COMPACT_AFTER_MS - 1);
    assert.equal(compacted, 0);
    mock.timers.tick(1);
    assert.equal(compacted, 1);
    heap.note(COMPACT_MODELS_MIN - 1);
    mock.timers.tick(10 * COMPACT_AFTER_MS);
    assert.equal(compacted, 1, 'counted again from the start');
  } finally {
    mock.timers.reset();
  }
});

test('returns the rest of pages that hold a few objects', () => {
  // One in 64 stays.
  const kept: object[] = [];
  for (let i = 0; i < 640_000; i += 1) {
    const one = { text: String(i), more: [i] };
    if (i % 64 === 0) kept.push(one);
  }
  collectGarbage();
  compactHeap();
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  assert.ok(kept.length > 0);
  assert.ok(total < used + 8e6, `${total} bytes for ${used}`);
});
