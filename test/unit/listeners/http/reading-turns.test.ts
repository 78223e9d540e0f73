// Which connections are read in an event-loop iteration: each sender of large chunks once, few at a
// time, and no connection stays paused after its body is complete or it was answered.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReadingTurns, type Sender } from '../../../../ts/listeners/http/reading-turns.js';

const CHUNK = 262_144;

class Connection implements Sender {
  paused = false;
  resumed = 0;

  pauseReading(): void {
    this.paused = true;
  }
  resumeReading(): void {
    this.paused = false;
    this.resumed += 1;
  }
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('ReadingTurns', () => {
  it('pauses who sent a large chunk until the next turn', async () => {
    const [turns, one] = [new ReadingTurns(), new Connection()];
    for (let round = 1; round <= 3; round += 1) {
      turns.took(one, CHUNK);
      assert.equal(one.paused, true);
      await turn();
      assert.deepEqual([one.paused, one.resumed], [false, round]);
    }
  });

  it('lets few go on in one turn, each in its order', async () => {
    const turns = new ReadingTurns();
    const all = Array.from({ length: 40 }, () => new Connection());
    for (const one of all) turns.took(one, CHUNK);
    for (let seen = 0, round = 0; seen < all.length; round += 1) {
      await turn();
      const reading = all.filter(({ paused }) => !paused);
      assert.ok(reading.length > 0 && reading.length <= 8, `${reading.length} in turn ${round}`);
      assert.deepEqual(reading, all.slice(seen, seen + reading.length));
      for (const one of reading) turns.took(one, CHUNK);
      seen += reading.length;
    }
  });

  it('pauses those that may send when enough came in a turn', async () => {
    const turns = new ReadingTurns();
    const all = Array.from({ length: 6 }, () => new Connection());
    for (const one of all) turns.took(one, CHUNK);
    await turn();
    for (const one of all.slice(0, 4)) turns.took(one, 2 * CHUNK);
    assert.ok(all.every(({ paused }) => paused));
    await turn();
    assert.ok(all.every(({ paused }) => !paused));
  });

  it('resumes at once whose rest nobody waits for, and forgets it', async () => {
    const [turns, left, other] = [new ReadingTurns(), new Connection(), new Connection()];
    for (const one of [left, other]) turns.took(one, CHUNK);
    turns.left(left);
    assert.deepEqual([left.paused, left.resumed], [false, 1]);
    await turn();
    assert.deepEqual([left.resumed, other.resumed], [1, 1]);
    turns.left(other);
    // one iteration's share: others are paused
    for (let i = 0; i < 8; i += 1) turns.took(left, CHUNK);
    assert.equal(other.paused, false);
  });
});
