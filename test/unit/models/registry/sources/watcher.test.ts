// When scans happen, on a clock that the test advances.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watcher } from '../../../../../ts/models/registry/sources/watcher.js';
import type { Watched } from '../../../../../ts/models/registry/sources/watcher.js';
import { FakeClock, settle } from '../fakes.js';

interface Setup {
  readonly clock: FakeClock;
  readonly watcher: Watcher;
  /** "name@time" of every scan, from the start. */
  readonly looks: string[];
  readonly errors: string[];
  /** The results of scans with that name; default: nothing is pending. */
  readonly answers: Map<string, () => Promise<boolean>>;
}

function setup(every: Readonly<Record<string, number | undefined>>, settleMs = 50): Setup {
  const clock = new FakeClock();
  const beganMs = clock.nowMs();
  const [looks, errors]: [string[], string[]] = [[], []];
  const answers = new Map<string, () => Promise<boolean>>();
  const watched = Object.entries(every).map(
    ([what, everyMs]): Watched => ({
      what,
      everyMs,
      look: () => {
        looks.push(`${what}@${clock.nowMs() - beganMs}`);
        return answers.get(what)?.() ?? Promise.resolve(false);
      },
    }),
  );
  const failed = (what: string, error: unknown): void => void errors.push(`${what}: ${error}`);
  const watcher = new Watcher(watched, { clock, settleMs, failed });
  return { clock, watcher, looks, errors, answers };
}

test('each is looked at in its interval, the first time one interval from the start', async () => {
  const { clock, watcher, looks } = setup({ a: 100, b: 250, never: undefined });
  await clock.pass(1000);
  assert.deepEqual(looks, []);
  watcher.start();
  await clock.pass(500);
  assert.deepEqual(looks, ['a@1100', 'a@1200', 'b@1250', 'a@1300', 'a@1400', 'a@1500', 'b@1500']);
  await watcher.stop();
  await clock.pass(1000);
  assert.equal(looks.length, 7);
});

test('scans unsettled sources sooner, until they have settled', async () => {
  const { clock, watcher, looks, answers } = setup({ a: 1000, b: 1000, quick: 20 });
  let waits = 2;
  answers.set('a', () => Promise.resolve(waits-- > 0));
  answers.set('quick', () => Promise.resolve(true));
  watcher.start();
  await clock.pass(1100);
  assert.deepEqual(
    looks.filter((one) => !one.startsWith('quick')),
    ['a@1000', 'b@1000', 'a@1050', 'a@1100'],
  );
  const quick = looks.filter((one) => one.startsWith('quick'));
  assert.equal(quick.length, 55, 'its own interval is shorter than the time to settle');
});

test('a look that takes long delays the others; never two at once', async () => {
  const { clock, watcher, looks, answers } = setup({ a: 100, b: 100 });
  let end: (waits: boolean) => void = () => undefined;
  answers.set('a', () => new Promise((resolve) => (end = resolve)));
  watcher.start();
  await clock.pass(350);
  assert.deepEqual(looks, ['a@100']);
  let busy = false;
  const work = watcher.exclusive(() => Promise.resolve((busy = true)));
  await settle();
  assert.equal(busy, false);
  end(false);
  await work;
  assert.deepEqual(looks, ['a@100', 'b@350']);
  await clock.pass(100);
  assert.deepEqual(looks, ['a@100', 'b@350', 'a@450']);
  end(false);
});

test('a look that rejects is reported and comes again', async () => {
  const { clock, watcher, looks, errors, answers } = setup({ a: 100, b: 100 });
  answers.set('a', () => Promise.reject(new Error('odd')));
  watcher.start();
  await clock.pass(200);
  assert.deepEqual(looks, ['a@100', 'b@100', 'a@200', 'b@200']);
  assert.deepEqual(errors, ['a: Error: odd', 'a: Error: odd']);
});

test('lookNow looks at everything, and again at what has to settle', async () => {
  const { clock, watcher, looks, answers } = setup({ a: undefined, b: 10_000 });
  watcher.start();
  await watcher.lookNow();
  assert.deepEqual(looks, ['a@0', 'b@0']);
  answers.set('a', () => Promise.resolve(true));
  let done = false;
  const looked = watcher.lookNow().then(() => (done = true));
  await settle();
  assert.deepEqual(looks.slice(2), ['a@0', 'b@0']);
  await clock.pass(49);
  assert.equal(done, false);
  await clock.pass(1);
  assert.equal(done, false, 'the second look saw something new that has to settle');
  answers.set('a', () => Promise.resolve(false));
  await clock.pass(50);
  await looked;
  assert.deepEqual(looks.slice(4), ['a@50', 'a@100']);
});

test('lookNow does not wait for ever for what keeps changing', async () => {
  const { clock, watcher, looks, answers } = setup({ a: undefined });
  watcher.start();
  answers.set('a', () => Promise.resolve(true));
  const looked = watcher.lookNow();
  await settle();
  await clock.pass(200);
  await looked;
  assert.deepEqual(looks, ['a@0', 'a@50', 'a@100', 'a@150', 'a@200']);
});

test('stop ends what waits for a second look, and looks asked for later do not wait', async () => {
  const { watcher, looks, answers } = setup({ a: undefined });
  answers.set('a', () => Promise.resolve(true));
  watcher.start();
  const looked = watcher.lookNow();
  await settle();
  await watcher.stop();
  await looked;
  await watcher.lookNow();
  assert.deepEqual(looks, ['a@0', 'a@0']);
});

test('exclusive work gives its result or its error and holds up nothing behind it', async () => {
  const { watcher } = setup({});
  await assert.rejects(
    watcher.exclusive(() => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await watcher.exclusive(() => Promise.resolve(7)), 7);
});
