// The order of measurements, the table, the line on a terminal, the flags.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BENCH_FLAGS } from '../../../../ts/cli/bench/flags.js';
import type { Bench } from '../../../../ts/cli/bench/measure.js';
import { measureOptions, sweepOptions } from '../../../../ts/cli/bench/options.js';
import { Progress } from '../../../../ts/cli/bench/progress.js';
import { sweep } from '../../../../ts/cli/bench/sweep.js';
import { countText, tableLine, tableNotes, timeText } from '../../../../ts/cli/bench/table.js';
import type { BenchWorkload, BenchPoint } from '../../../../ts/cli/bench/types.js';
import { parseFlags } from '../../../../ts/config/command-line.js';

const flagsOf = (...args: readonly string[]) => parseFlags(args, '/', BENCH_FLAGS);
const point = (workload: BenchWorkload, more: Partial<BenchPoint> = {}): BenchPoint => ({
  ...workload,
  answered: 10,
  failed: 0,
  requestsPerSecond: 1234,
  rowsPerSecond: 1234,
  latency: { mean: 1, p50: 85, p90: 1250, p99: 150_000, p999: 2_400_000, max: 3e6 },
  clientCores: 0.5,
  ...more,
});
const WORKLOAD: BenchWorkload = {
  path: 'grpc',
  loop: 'closed',
  concurrency: 4,
  rate: 0,
  batch: 1,
  seconds: 2,
  warmupSeconds: 0.5,
};

function bench(measure: Bench['measure'], hasRows = true): Bench {
  const model = { name: 'm', version: '1', platform: 'p' };
  const paths = ['engine', 'grpc'] as const;
  return { model, server: 's', paths, hasRows, measure, close: () => Promise.resolve() };
}
const quiet = { begins: () => undefined, measured: () => undefined, skipped: () => undefined };

test('closed loops come first, and open ones at parts of what they reached', async () => {
  const workloads: BenchWorkload[] = [];
  const measured = bench((workload) => {
    workloads.push(workload);
    return Promise.resolve(point(workload, { requestsPerSecond: workload.concurrency * 111 }));
  });
  const options = sweepOptions(flagsOf('--concurrency=1,8', '--rate=50%,7', '--batch=1,2'));
  const seen: string[] = [];
  const points = await sweep(measured, options, {
    ...quiet,
    begins: ({ path, batch, concurrency, rate }, index, count) =>
      seen.push(`${index}/${count} ${path} ${batch} ${concurrency} ${rate}`),
  });
  assert.equal(points.length, 16);
  assert.deepEqual(seen.slice(0, 5), [
    '0/16 engine 1 1 0',
    '1/16 engine 1 8 0',
    '2/16 engine 1 0 440',
    '3/16 engine 1 0 7',
    '4/16 engine 2 1 0',
  ]);
  assert.equal(workloads[8]?.path, 'grpc');
});

test('a path that is refused is left out; where all are, the first says why', async () => {
  const options = sweepOptions(flagsOf('--concurrency=1', '--rate=none'));
  const skipped: string[] = [];
  const some = await sweep(
    bench((workload) =>
      workload.path === 'grpc' ? Promise.resolve(point(workload)) : Promise.reject(new Error('no')),
    ),
    options,
    { ...quiet, skipped: (path, why) => skipped.push(`${path} ${why}`) },
  );
  assert.deepEqual([some.length, skipped], [1, ['engine no']]);
  const none = sweep(
    bench(() => Promise.reject(new Error('never'))),
    options,
    quiet,
  );
  await assert.rejects(none, /never/);
  const wrong = sweepOptions(flagsOf('--paths=rest-json'));
  await assert.rejects(
    sweep(
      bench(() => Promise.reject(new Error('x'))),
      wrong,
      quiet,
    ),
    /of s, got/,
  );
});

test('a model without rows is measured as it is, unless rows are asked for', async () => {
  const batches = async (...args: string[]): Promise<readonly number[]> => {
    const options = sweepOptions(
      flagsOf('--concurrency=1', '--rate=none', '--paths=grpc', ...args),
    );
    const points = await sweep(
      bench((workload) => Promise.resolve(point(workload)), false),
      options,
      quiet,
    );
    return points.map(({ batch }) => batch);
  };
  assert.deepEqual(await batches(), [0]);
  assert.deepEqual(await batches('--batch=3'), [3]);
});

for (const [args, expected] of [
  [['--concurrency=0'], /--concurrency: expected whole numbers from 1 to 16384/],
  [['--concurrency=1,x'], /got "x"/],
  [['--batch='], /--batch: expected/],
  [['--rate=-5'], /--rate: expected requests per second/],
  [['--rate=0'], /got "0"/],
  [['--seconds=0'], /--seconds: expected seconds from 0.05 to 3600/],
  [['--warmup-seconds=1e9'], /--warmup-seconds: expected seconds/],
  [
    ['--paths=rest'],
    /expected engine, rest-json, rest-binary, grpc, v1-json, grpc-predict, got "rest"/,
  ],
  [[`--batch=${Array.from({ length: 200 }, (_, i) => i + 1).join(',')}`], /at most 1000 meas/],
] as const) {
  test(`refused: ${args[0].slice(0, 30)}`, () => {
    assert.throws(() => sweepOptions(flagsOf(...args)), expected);
  });
}

test('paths that are asked for are told to the target, and a signature', () => {
  const plain = measureOptions('m.onnx', flagsOf());
  assert.deepEqual([plain.paths, plain.signature], [undefined, undefined]);
  const asked = flagsOf('--paths=v1-json, grpc-predict,v1-json', '--signature=s');
  const { paths, signature } = measureOptions('http://h', asked);
  assert.deepEqual([paths, signature], [['v1-json', 'grpc-predict'], 's']);
});

test('settings of servers are handed on, others are not', () => {
  const options = measureOptions('m.onnx', flagsOf('--instances=2', '--seed=3', '--header=a: b c'));
  assert.deepEqual([...options.settings.keys()], ['instances']);
  assert.deepEqual([options.seed, options.headers], [3, { a: 'b c' }]);
  assert.throws(() => measureOptions('m', flagsOf('--header=a')), /--header: expected NAME: VALUE/);
  assert.throws(() => measureOptions('m', flagsOf('--header=a: \r\nb: c')), /--header/);
  assert.throws(() => measureOptions('m', flagsOf('--tls-ca=/nowhere')), /--tls-ca: nowhere/);
});

test('reports lines in units for people', () => {
  assert.equal(timeText(4.62), '4.6 us');
  assert.deepEqual([85, 1250, 150_000, 2_400_000].map(timeText), [
    ...['85 us', '1.25 ms', '150 ms', '2.40 s'],
  ]);
  assert.deepEqual([12_345.6, 100, 12.345, 0.1].map(countText), ['12,346', '100', '12.3', '0.1']);
  const line = tableLine(point(WORKLOAD, { serverCores: 1 }));
  assert.match(line, /^grpc +4 in flight +1 +1,234 +1,234 +85 us +1\.25 ms +150 ms +2\.40 s/);
  assert.match(line, / 0\.50 +1\.00\n$/);
  const open = { ...WORKLOAD, loop: 'open', concurrency: 0, rate: 2500, batch: 0 } as const;
  assert.match(tableLine(point(open, { failed: 3 })), /2,500\/s +- .* - {2}3\n$/);
});

test('notes tell what makes numbers mean less', () => {
  const points = [
    point(WORKLOAD, { failed: 2, firstError: 'full\u001b[2J' }),
    point(WORKLOAD, { clientCores: 0.97 }),
    point({ ...WORKLOAD, loop: 'open', rate: 5 }, { lateMicroseconds: 40 }),
  ];
  const notes = tableNotes({ points }, 1);
  assert.match(notes, /Some requests failed; the first \(grpc, 4 in flight\): full/);
  assert.ok(!notes.includes('\u001b'));
  assert.match(notes, /The load, not the server, was the limit in 1 measurements \(grpc\)/);
  assert.match(notes, /In 1 open loops requests were sent late .*40 us/);
  assert.equal(tableNotes({ points: [point(WORKLOAD)] }, 1), '');
});

test('a terminal has one line of progress, and others none', () => {
  let at = 0;
  const texts: string[] = [];
  const write = (text: string): number => texts.push(text);
  const shown = new Progress({ isTTY: true, columns: 60, write }, () => at);
  shown.begins(WORKLOAD, 1, 4);
  at = 1250;
  shown.draw();
  const bar = texts.at(-1)?.split('\u001b[2K')[1] ?? '';
  assert.equal(bar, '[#########...............] 2 of 4, 7 s: grpc, 4 in flight');
  shown.end();
  assert.equal(texts.at(-1), '\r\u001b[2K');
  const unsized = new Progress({ isTTY: true, columns: 0, write }, () => at);
  unsized.begins(WORKLOAD, 0, 4);
  unsized.end();
  assert.match(texts.at(-2) ?? '', /1 of 4, 10 s: grpc, 4 in flight$/);
  const before = texts.length;
  const other = new Progress({ write }, () => at);
  other.begins(WORKLOAD, 0, 4);
  other.end();
  assert.equal(texts.length, before);
});
