// Repetition of calls with a clock that tests move: which failures, how often, how long between.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientError } from '../../../ts/client/core/errors.js';
import { Calls, retryAfterMs, type Clock } from '../../../ts/client/core/retry.js';
import type { CallOptions, ClientOptions } from '../../../ts/client/core/types.js';

class FakeClock implements Clock {
  time = 0;
  readonly waits: number[] = [];
  chance = 1;
  now = (): number => this.time;
  random = (): number => this.chance;
  sleep = (ms: number): Promise<void> => {
    this.time += ms;
    this.waits.push(ms);
    return Promise.resolve();
  };
}

const failure = (retry?: 'unsent' | 'lost', after?: number) =>
  new ClientError('UNAVAILABLE', 'down', { retry, retryAfterMs: after });

/** Runs a call whose attempts fail with these errors in order, and then succeed. */
async function attempts(
  errors: readonly unknown[],
  options: CallOptions = {},
  { client = {}, isRepeatable = true, clock = new FakeClock() } = {} as {
    client?: ClientOptions;
    isRepeatable?: boolean;
    clock?: FakeClock;
  },
) {
  let made = 0;
  const calls = new Calls(client, clock);
  const attempt = () => {
    const error = errors[made];
    made += 1;
    return error === undefined ? Promise.resolve('done') : Promise.reject(error as Error);
  };
  const result = await calls
    .run('m', options, isRepeatable, attempt)
    .catch((error: unknown) => error);
  return { result, made, waits: clock.waits };
}

test('repeats what the server did not run, with growing waits', async () => {
  const down = [failure('unsent'), failure('unsent')];
  const { result, made, waits } = await attempts(down);
  assert.equal(result, 'done');
  assert.equal(made, 3);
  assert.deepEqual(waits, [100, 200]);
  const clock = new FakeClock();
  clock.chance = 0;
  assert.deepEqual((await attempts(down, {}, { clock })).waits, [50, 100]);
  const capped = { retries: { attempts: 5, initialMs: 1000, maxMs: 1500 } };
  const four = Array.from({ length: 4 }, () => failure('unsent'));
  assert.deepEqual((await attempts(four, capped)).waits, [1000, 1500, 1500, 1500]);
});

test('gives up after the attempts, and reports their number', async () => {
  const down = Array.from({ length: 9 }, () => failure('unsent'));
  const { result, made } = await attempts(down);
  assert.equal(made, 3);
  assert.equal((result as ClientError).attempts, 3);
  assert.equal((await attempts(down, { retries: { attempts: 1 } })).made, 1);
});

test('repeats after a lost connection only what may run twice', async () => {
  assert.equal((await attempts([failure('lost')])).result, 'done');
  const { result, made } = await attempts([failure('lost')], {}, { isRepeatable: false });
  assert.equal(made, 1);
  assert.ok(result instanceof ClientError);
  assert.equal((await attempts([failure('unsent')], {}, { isRepeatable: false })).result, 'done');
});

test('does not repeat other failures', async () => {
  const invalid = new ClientError('INVALID_ARGUMENT', 'bad', { status: 400 });
  for (const error of [failure(), invalid, new TypeError('a fault')]) {
    const { result, made } = await attempts([error]);
    assert.equal(made, 1);
    assert.equal(result, error);
  }
});

test('waits as long as the server says, but never past the deadline', async () => {
  assert.deepEqual((await attempts([failure('unsent', 700)])).waits, [700]);
  const late = await attempts([failure('unsent', 1000)], { timeoutMs: 1000 });
  assert.equal(late.made, 1);
  assert.deepEqual(late.waits, []);
  const unlimited = await attempts([failure('unsent', 100_000)], { timeoutMs: 0 });
  assert.equal(unlimited.result, 'done');
});

test('stops repeating when half of the budget is used, until calls succeed', async () => {
  const clock = new FakeClock();
  const calls = new Calls({ retries: { attempts: 2, budget: 4, budgetRatio: 0.5 } }, clock);
  const run = async (fails: number): Promise<number> => {
    let made = 0;
    const attempt = () =>
      (made += 1) <= fails ? Promise.reject(failure('unsent')) : Promise.resolve();
    await calls.run('m', {}, true, attempt).catch(() => undefined);
    return made;
  };
  // Tokens: 4, then 2 after both attempts fail.
  assert.equal(await run(9), 2);
  assert.equal(await run(9), 1);
  for (let i = 0; i < 4; i += 1) await run(0);
  // Tokens: 3, which is 2 after a failure: not more than half.
  assert.equal(await run(1), 1);
  for (let i = 0; i < 8; i += 1) await run(0);
  assert.equal(await run(1), 2);
});

test('ends at once when the signal ends the wait', async () => {
  const abort = new AbortController();
  const calls = new Calls({ retries: { initialMs: 60_000, maxMs: 60_000 } });
  const attempt = () => {
    setImmediate(() => abort.abort());
    return Promise.reject(failure('unsent'));
  };
  const options = { signal: abort.signal, timeoutMs: 0 };
  await assert.rejects(calls.run('m', options, true, attempt), {
    code: 'CANCELLED',
    message: 'm: cancelled by the caller',
    attempts: 1,
  });
});

test('reads Retry-After as seconds or as a date', () => {
  assert.equal(retryAfterMs('3'), 3000);
  assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:05 GMT', 2000), 3000);
  assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:05 GMT', 9000), 0);
  assert.equal(retryAfterMs('soon'), undefined);
  assert.equal(retryAfterMs(null), undefined);
});
