// When requests are sent and which ones count, with a fake transport.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, type HistogramData } from '../../../../ts/cli/bench/load/histogram.js';
import { Loop } from '../../../../ts/cli/bench/load/loop.js';
import type { Pacer } from '../../../../ts/cli/bench/load/pacer.js';
import {
  now,
  type LoadSchedule,
  type OnAnswer,
  type Sender,
} from '../../../../ts/cli/bench/load/sender.js';

/** Node's timers in place of a pacer thread. */
class TimerPacer {
  onDue: () => void = () => undefined;
  wakeAt(when: number): void {
    setTimeout(() => this.onDue(), Math.max(0, when - now()));
  }
}

class FakeSender implements Sender {
  onAnswer: OnAnswer = () => undefined;
  onFree: () => void = () => undefined;
  sent = 0;
  inFlight = 0;
  most = 0;
  cuts = 0;

  /** `answer`: decides the outcome of a request by its number from 1. */
  constructor(
    private readonly answer: (number: number, done: (error?: string) => void) => void,
    private readonly places = Infinity,
  ) {}

  prepare(): Promise<void> {
    return Promise.resolve();
  }
  free(): boolean {
    return this.inFlight < this.places;
  }
  send(begun: number): void {
    this.sent += 1;
    this.inFlight += 1;
    this.most = Math.max(this.most, this.inFlight);
    this.answer(this.sent, (error) => {
      this.inFlight -= 1;
      this.onAnswer(begun, error);
    });
  }
  cut(): void {
    this.cuts += 1;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

const SCHEDULE: LoadSchedule = {
  loop: 'closed',
  concurrency: 3,
  rate: 0,
  warmupMs: 20,
  measureMs: 100,
  graceMs: 20_000,
  arrivals: 'constant',
  seed: 1,
};
const countOf = (data: HistogramData): number => {
  const all = new Histogram();
  all.merge(data);
  return all.count;
};
const run = (sender: Sender, schedule: Partial<LoadSchedule>) =>
  new Loop(sender, { ...SCHEDULE, ...schedule }, new TimerPacer() as unknown as Pacer).run(now());

test('a closed loop keeps a number in flight, and responses trigger the next', async () => {
  const sender = new FakeSender((_, done) => setTimeout(done, 2));
  const { answered, failed, latencies } = await run(sender, {});
  assert.equal(sender.most, 3);
  assert.ok(answered > 0 && answered < sender.sent);
  assert.deepEqual([failed, countOf(latencies), sender.cuts], [0, answered, 1]);
  assert.equal(sender.inFlight, 0);
});

test('answers that come during the call do not keep the thread', async () => {
  const sender = new FakeSender((_, done) => done());
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const { answered } = await run(sender, { concurrency: 1 });
  clearInterval(timer);
  assert.ok(answered > 100);
  assert.ok(turns > 3, `${turns} turns`);
});

test('errors are counted, with the first of them, and have no latency', async () => {
  const sender = new FakeSender((number, done) => {
    setTimeout(() => done(number % 2 === 0 ? `error ${number}` : undefined), 1);
  });
  const { answered, failed, firstError, latencies } = await run(sender, { warmupMs: 0 });
  assert.ok(answered > 0 && failed > 0);
  assert.equal(countOf(latencies), answered);
  assert.equal(firstError, 'error 2');
});

test('an open loop sends by the clock, whatever comes back', async () => {
  const sender = new FakeSender((_, done) => setTimeout(done, 30));
  const schedule = { loop: 'open', rate: 500, measureMs: 200, warmupMs: 0 } as const;
  const { failed, latencies } = await run(sender, schedule);
  assert.equal(sender.sent, 100);
  assert.deepEqual([failed, countOf(latencies)], [0, 100]);
  assert.ok(sender.most > 5, `${sender.most} in flight`);
});

test('counts the time that a request waits for a slow server from its due time', async () => {
  // One at a time, 10 ms each, one due every 5 ms: the last one waits for half of the time.
  const sender = new FakeSender((_, done) => setTimeout(done, 10), 1);
  const schedule = { loop: 'open', rate: 200, measureMs: 200, warmupMs: 0 } as const;
  const { failed, latencies, late } = await run(sender, schedule);
  assert.deepEqual([failed, countOf(latencies), countOf(late)], [0, 40, 40]);
  assert.ok(latencies.max > 150_000, `${latencies.max} us`);
  assert.ok(late.max > 140_000, `${late.max} us`);
});

test('counts requests without a response at the end as failed', async () => {
  const sender = new FakeSender((number, done) => {
    if (number <= 10) setTimeout(done, 1);
  });
  const schedule = { loop: 'open', rate: 500, measureMs: 100, warmupMs: 0, graceMs: 1000 } as const;
  const { latencies, failed, firstError } = await run(sender, schedule);
  assert.deepEqual([countOf(latencies), failed, sender.cuts], [10, 40, 1]);
  assert.match(firstError ?? '', /no response 1\.0 s after the end/);
});

test('independent callers come at the rate that was asked for', async () => {
  const sender = new FakeSender((_, done) => done());
  const schedule = { loop: 'open', rate: 5000, measureMs: 400, warmupMs: 0 } as const;
  await run(sender, { ...schedule, arrivals: 'poisson', seed: 7 });
  // 2000 expected, give or take 45.
  assert.ok(Math.abs(sender.sent - 2000) < 300, `${sender.sent} sent`);
});
