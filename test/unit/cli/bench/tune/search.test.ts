// The search of `--tune` over servers that follow a formula: what it finds, what it skips, and how
// it handles failing servers, the end of its time, and lucky results.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { search, type Found, type SearchOptions } from '../../../../../ts/cli/bench/tune/search.js';
import { settingsKey } from '../../../../../ts/cli/bench/tune/words.js';
import type { TuneTrial } from '../../../../../ts/cli/bench/types.js';
import { FakeServers, lossy, mixed, parallel, serial, wide, type FakeModel } from './servers.js';

interface Ran {
  readonly found: Found;
  readonly servers: FakeServers;
  readonly best: TuneTrial;
  readonly said: readonly string[];
}

const OPTIONS = {
  path: 'grpc',
  batch: 1,
  concurrencyMax: 64,
  seconds: 2,
  warmupSeconds: 0.5,
  canBatch: true,
  budgetSeconds: 3600,
} as const;

async function ran(model: FakeModel, options: Partial<SearchOptions> = {}): Promise<Ran> {
  const servers = new FakeServers(model);
  const said: string[] = [];
  const found = await search({
    start: servers.start,
    now: servers.now,
    say: (line) => said.push(line),
    cores: model.cores,
    ...OPTIONS,
    ...options,
  });
  assert.equal(servers.openNow, 0);
  assert.equal(servers.openMost, 1);
  assert.deepEqual(said, found.steps);
  const best = found.trials[found.best ?? 0];
  assert.ok(best);
  return { found, servers, best, said };
}

describe('the search of --tune', () => {
  it('gives an instance of one thread to each core where threads do not help', async () => {
    const { best, found } = await ran(serial, { canBatch: false });
    assert.deepEqual([best.settings.instances, best.settings.threads], [8, 1]);
    assert.ok((best.best?.rowsPerSecond ?? 0) > 7.5 * (found.trials[0]?.best?.rowsPerSecond ?? 0));
    assert.ok(found.trials.every(({ settings }) => settings.maxBatchSize === undefined));
  });

  it('compares with as many requests as there are instances', async () => {
    // Sequentially they are slower: the settings only pay off together.
    const { best, found } = await ran(lossy, { canBatch: false });
    assert.deepEqual([best.settings.instances, best.settings.threads], [8, 1]);
    const gain = (best.best?.rowsPerSecond ?? 0) / (found.trials[0]?.best?.rowsPerSecond ?? 0);
    assert.ok(gain > 1.9 && gain < 2.1, `${gain}`);
  });

  it('joins requests where a run of many rows costs as much as one', async () => {
    const { best } = await ran(wide);
    const { maxBatchSize = 0, instances = 1 } = best.settings;
    assert.ok(maxBatchSize >= 8, `${maxBatchSize}`);
    assert.ok(instances * maxBatchSize >= 64);
  });

  it('leaves the defaults where nothing is better', async () => {
    const { best, found, said } = await ran(parallel, { canBatch: false });
    assert.equal(found.best, 0);
    assert.deepEqual(best.settings, {});
    assert.ok(found.trials.length > 3);
    assert.ok(!said.some((line) => line.includes('best so far')));
  });

  it('keeps p99 within the bound', async () => {
    const { best: free } = await ran(mixed);
    assert.ok((free.best?.latency.p99 ?? 0) > 4200);
    let before = free.best?.rowsPerSecond ?? 0;
    for (const latencyBound of [4000, 3000, 2400]) {
      const { best } = await ran(mixed, { latencyBound });
      assert.ok((best.best?.latency.p99 ?? Infinity) <= latencyBound, `${latencyBound}`);
      const rate = best.best?.rowsPerSecond ?? 0;
      assert.ok(rate > 3000 && rate < before, `${latencyBound}: ${rate} of ${before}`);
      before = rate;
    }
  });

  it('says so where nothing keeps the bound', async () => {
    const { found, said } = await ran(serial, { latencyBound: 10 });
    assert.equal(found.best, undefined);
    assert.ok(found.trials.length > 1);
    assert.match(said[0] ?? '', /^defaults: 1,000 rows\/s, p99 2 ms .*above the bound of 10 us$/);
  });

  it('never starts the same settings twice but to confirm, and none without sense', async () => {
    const { servers, found } = await ran(wide, { latencyBound: 20_000 });
    const keys = servers.started.map(settingsKey);
    assert.equal(new Set(keys).size, found.trials.length);
    assert.equal(keys.length, found.trials.length + 2);
    for (const { instances = 1, threads = 1, maxBatchSize = 0, ...rest } of servers.started) {
      assert.ok(instances <= 16 && threads <= 8 && maxBatchSize <= 64);
      assert.ok((rest.maxQueueDelayMicroseconds ?? 0) <= 10_000);
      assert.ok(maxBatchSize > 0 || (rest.maxQueueDelayMicroseconds ?? 0) === 0);
    }
  });

  it('gives up after one measurement what is far behind', async () => {
    const { found } = await ran(parallel, { canBatch: false });
    const slow = found.trials.find(
      ({ settings }) => settings.threads === 4 && settings.instances === undefined,
    );
    assert.equal(slow?.points.length, 1);
    assert.equal(slow?.problem, 'far behind the best');
  });

  it('goes on where a server does not start, and says why', async () => {
    const refuses = ({ maxBatchSize = 0 }: { maxBatchSize?: number | undefined }) =>
      maxBatchSize > 8 ? 'max_batch_size: too much memory' : undefined;
    const { best, found, said } = await ran({ ...wide, refuses });
    assert.equal(best.settings.maxBatchSize, 8);
    const refused = found.trials.filter(({ problem }) => problem?.includes('too much memory'));
    assert.ok(refused.length > 0);
    assert.ok(said.some((line) => line.includes('batches to 16: max_batch_size: too much memory')));
  });

  it('rejects with the reason where the defaults do not start', async () => {
    const refuses = (): string => 'no such model';
    await assert.rejects(ran({ ...serial, refuses }), /no such model/);
  });

  it('takes no settings by which requests fail', async () => {
    const model: FakeModel = {
      ...serial,
      bend: (point, { instances = 1 }) =>
        instances > 2 ? { ...point, failed: 3, firstError: 'refused' } : point,
    };
    const { best, found } = await ran(model, { canBatch: false });
    assert.ok((best.settings.instances ?? 1) <= 2);
    assert.ok(found.trials.some(({ problem }) => problem === '3 requests failed: refused'));
  });

  it('ends within its budget, with what it has', async () => {
    for (const budgetSeconds of [10, 40, 90]) {
      const { servers, said, found } = await ran(wide, { budgetSeconds });
      assert.ok(servers.seconds < budgetSeconds + 25, `${servers.seconds} of ${budgetSeconds}`);
      assert.ok(found.best !== undefined);
      assert.ok(said.some((line) => line.startsWith('out of time after')));
    }
  });

  it('ends when it is asked to', async () => {
    const lines: string[] = [];
    const isStopped = (): boolean => lines.length >= 3;
    const servers = new FakeServers(serial);
    const options = { ...OPTIONS, start: servers.start, now: servers.now, cores: 8, isStopped };
    const { trials, steps: said } = await search({ ...options, say: (line) => lines.push(line) });
    assert.equal(trials.length, 3);
    assert.equal(servers.started.length, 3);
    assert.ok(said.some((line) => line.startsWith('stopped after')));
  });

  it('does not believe what is not so when measured again', async () => {
    // One measurement of 16 instances was lucky.
    let lucky = 0;
    const model: FakeModel = {
      ...serial,
      bend: (point, { instances = 1 }) => {
        if (instances !== 16 || (lucky += 1) > 1) {
          return instances === 16 ? { ...point, answered: 0, failed: 9 } : point;
        }
        return { ...point, rowsPerSecond: 1e6, latency: { ...point.latency, p99: 100 } };
      },
    };
    const { best, said } = await ran(model, { canBatch: false });
    assert.equal(lucky > 0, true);
    assert.notEqual(best.settings.instances, 16);
    assert.ok((best.settings.instances ?? 1) > 1);
    assert.ok(said.some((line) => line.endsWith('not confirmed when measured again')));
  });

  it('compares the winner with defaults under the same load', async () => {
    // The defaults also have eight in flight; during the search something else interfered.
    const model: FakeModel = {
      ...parallel,
      bend: (point, { instances, threads }) => {
        const isPlain = instances === undefined && threads === undefined;
        const isSlow = isPlain && (point.concurrency < 8 || point.seconds === 2);
        return isSlow ? { ...point, rowsPerSecond: point.rowsPerSecond * 0.5 } : point;
      },
    };
    const { best, said } = await ran(model, { canBatch: false });
    assert.deepEqual(best.settings, {});
    assert.equal(best.best?.concurrency, 8);
    assert.ok(said.some((line) => line.endsWith('the best so far')));
  });

  it('prefers the defaults to a gain that is noise', async () => {
    const model: FakeModel = {
      ...parallel,
      bend: (point, settings) => {
        // The second measurement takes longer.
        const isLucky = settings.instances === 2 && point.seconds === 2;
        return isLucky ? { ...point, rowsPerSecond: point.rowsPerSecond * 1.1 } : point;
      },
    };
    const { best, said } = await ran(model, { canBatch: false });
    assert.deepEqual(best.settings, {});
    assert.match(said.at(-1) ?? '', /less than 3 %, keeping the defaults$/);
  });
});
