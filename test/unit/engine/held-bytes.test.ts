// Bytes held for clients: reported to the engine when much has changed or nothing is left; garbage
// is collected once after a burst.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { LinkHeldBytes } from '../../../ts/engine/held-bytes.js';

const MIB = 1 << 20;

describe('held bytes', () => {
  const make = (fits = true) => {
    const told: number[] = [];
    let collected = 0;
    const countBytes = (change: number, refusable: boolean): boolean => {
      if (refusable && !fits) return false;
      told.push(change);
      return true;
    };
    const held = new LinkHeldBytes({ countBytes }, () => {
      collected += 1;
    });
    return { held, told, collected: () => collected };
  };

  it('tells the engine of much, and when nothing is left', () => {
    const { held, told } = make();
    for (let i = 0; i < 5; i += 1) held.change(20_000);
    assert.deepEqual(told, [80_000]);
    held.change(-100_000);
    assert.equal(
      told.reduce((sum, one) => sum + one, 0),
      0,
    );
  });

  it('asks for what is large and keeps nothing that was refused', () => {
    const { held, told } = make(false);
    assert.equal(held.take(MIB), false);
    assert.equal(held.take(1000), true);
    held.change(-1000);
    assert.deepEqual(told, []);
  });

  it('keeps small answers until the engine is full, and large ones that it knows', () => {
    let full = false;
    let told = 0;
    const held = new LinkHeldBytes({
      countBytes: (change) => {
        told += change;
        return !full;
      },
    });
    for (let i = 0; i < 10; i += 1) assert.ok(held.keep(60_000));
    full = true;
    assert.ok(held.keep(60_000)); // growth is reported when much has changed
    assert.ok(held.keep(60_000));
    assert.equal(held.keep(60_000), false);
    assert.ok(held.keep(MIB));
    full = false;
    assert.ok(held.keep(60_000));
    held.change(-13 * 60_000 - MIB);
    assert.equal(told, 0);
  });

  it('collects once, a second after a burst, and never without one', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { held, collected } = make();
      held.change(8 * MIB);
      held.change(-8 * MIB);
      mock.timers.tick(5000);
      assert.equal(collected(), 0);
      held.change(64 * MIB);
      held.change(-64 * MIB);
      mock.timers.tick(999);
      assert.equal(collected(), 0);
      mock.timers.tick(1);
      assert.equal(collected(), 1);
    } finally {
      mock.timers.reset();
    }
  });
});
