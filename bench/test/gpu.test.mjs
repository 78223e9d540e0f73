// The GPU benchmark except for its models: what is measured, in which order, the report, and
// failures. The run itself: test/e2e/bench/gpu.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitCores } from '../gpu/cores.mjs';
import {
  estimateSeconds,
  fittingGroups,
  groupsOf,
  judgedRows,
  plannedRows,
  servedName,
} from '../gpu/groups.mjs';
import { KINDS } from '../gpu/kinds.mjs';
import { measureGroups, takeTurns } from '../gpu/measure.mjs';
import { MODELS } from '../gpu/models/index.mjs';
import { parseGpuOptions } from '../gpu/options.mjs';
import { joinSamples, parallelLoad } from '../gpu/parallel.mjs';
import { markdownPage, markdownTable, verdicts } from '../gpu/report.mjs';
import { configOf, expectClose, poolBytes } from '../gpu/sides.mjs';
import { testContext } from './support.mjs';

const PATHS = ['grpc', 'rest'];
const CHOSEN = { paths: PATHS, modes: ['none', 'isolated'] };
const GRPC = { ...CHOSEN, paths: ['grpc'] };
const [RESNET] = MODELS;
const GROUP = (inFlight) => {
  return { id: `resnet50-b8-x${inFlight}`, kind: 'plain', model: RESNET, batch: 8, inFlight };
};
/** The groups of plain requests. */
const plainOf = (options) => groupsOf(MODELS, { kinds: ['plain'], ...options });

test('the command line is parsed, and wrong values name their flag', () => {
  const options = parseGpuOptions([]);
  assert.deepEqual(options.batches, [1, 8, 64]);
  assert.deepEqual([options.paths, options.tiny, options.servalArgs], [PATHS, false, []]);
  assert.equal(parseGpuOptions(['--fake']).tiny, true);
  const given = ['--batches', '2,4', '--paths', 'rest', '--serval-args=--http-threads 2'];
  const { batches, paths, servalArgs } = parseGpuOptions(given);
  assert.deepEqual([batches, paths, servalArgs], [[2, 4], ['rest'], ['--http-threads', '2']]);
  assert.throws(() => parseGpuOptions(['--batches', '1,x']), /--batches: expected .* got 'x'/);
  assert.throws(() => parseGpuOptions(['--paths', 'udp']), /--paths: expected .* got 'udp'/);
  assert.deepEqual(parseGpuOptions(['--modes', 'isolated']).modes, ['isolated']);
});

test('every model is measured with every batch, one and sixteen in flight; --only selects', () => {
  const all = plainOf({ batches: [1, 8, 64] });
  assert.equal(all.length, 18);
  assert.deepEqual(
    plainOf({ batches: [1, 8], only: 'mlp-b8,bert-base-b1-x16' }).map(({ id }) => id),
    ['bert-base-b1-x16', 'mlp-b8-x1', 'mlp-b8-x16'],
  );
  const ids = (only) => plainOf({ batches: [1, 16], only }).map(({ id }) => id);
  assert.deepEqual(ids('mlp-b1-x1'), ['mlp-b1-x1']);
  assert.deepEqual(ids('mlp-b1'), ['mlp-b1-x1', 'mlp-b1-x16']);
  assert.deepEqual(ids('b1-x1,mlp-b16-x16').length, 4);
  assert.throws(() => plainOf({ batches: [1], only: 'vgg' }), /none of resnet50-b1-x1,/);
});

test('each feature of the server has its groups, and its configuration', () => {
  const all = groupsOf(MODELS, { batches: [1] });
  const idsOf = (kind) => all.filter((group) => group.kind === kind).map(({ id }) => id);
  assert.deepEqual(idsOf('graphs'), [
    ...['resnet50-graphs-b1-x1', 'bert-base-graphs-b1-x1', 'mlp-graphs-b1-x1'],
  ]);
  assert.deepEqual(idsOf('batching').at(0), 'resnet50-batching-b1-x64');
  assert.deepEqual(idsOf('shared'), ['resnet50-shared-b8-x16', 'mlp-shared-b1-x16']);
  assert.deepEqual(idsOf('processes'), ['resnet50-processes-b1-x16', 'mlp-processes-b1-x16']);
  assert.deepEqual(
    groupsOf(MODELS, { batches: [1], paths: ['rest'] }).map(({ kind }) => kind),
    Array(6).fill('plain'),
  );
  const [batching] = all.filter(({ kind }) => kind === 'batching');
  assert.match(
    configOf(batching),
    /^max_batch_size: 64\n.* count: 2 .*\ndynamic_batching \{ \}\n$/,
  );
  const [graphs] = all.filter(({ kind }) => kind === 'graphs');
  assert.match(configOf(graphs), /count: 1 .*\noptimization \{ cuda \{ graphs: true \} \}\n$/);
  const names = new Set(all.map(servedName));
  assert.equal(names.size, 3 * 4, 'plain x1 and x16, graphs and batching of each model');
  const [row] = plannedRows(batching, CHOSEN);
  assert.equal(row.id, 'resnet50-batching-b1-x64-grpc-none');
  assert.equal(row.title, 'ResNet50 b1 x64, gRPC, dynamic batching, in the server');
  assert.equal(row.reference, 'ONNX Runtime alone, I/O binding, 64 rows x 2');
  assert.deepEqual(row.target, { relation: '>=', limit: 0.8 });
});

test('a quick run fits its time: the most important groups, and an estimate of them', () => {
  const quick = parseGpuOptions(['--quick']);
  assert.deepEqual([quick.limitSeconds, quick.rounds, quick.seconds], [240, 1, 1]);
  const all = groupsOf(MODELS, quick);
  const chosen = fittingGroups(all, quick);
  const seconds = estimateSeconds(chosen, quick);
  assert.ok(seconds <= 240 && seconds > 200, `${seconds} s`);
  for (const kind of KINDS)
    assert.ok(
      chosen.some((group) => group.kind === kind),
      kind,
    );
  for (const model of MODELS)
    assert.ok(
      chosen.some((group) => group.model === model),
      model.name,
    );
  const plain = chosen.filter(({ kind, batch }) => kind === 'plain' && batch === 1);
  assert.equal(plain.length, 6);
  // 6 s for each of 6 servers; 3 s for the runtime alone, 5 warm-ups and 5 samples for each group.
  assert.equal(estimateSeconds(plain, quick), 6 * 6 + 6 * (3 + 5 + 5));
  assert.deepEqual(
    plannedRows(GROUP(1), quick).map(({ id }) => id),
    ['none', 'isolated', 'isolation'].map((mode) => `resnet50-b8-x1-grpc-${mode}`),
  );
  const one = fittingGroups(all, { ...quick, limitSeconds: 1 });
  assert.deepEqual(
    one.map(({ id }) => id),
    ['resnet50-b1-x1'],
  );
  assert.equal(parseGpuOptions(['--quick', '--limit-seconds', '100']).limitSeconds, 100);
  assert.equal(parseGpuOptions([]).limitSeconds, 1800);
});

test('several load processes run at once, and count as one load', async () => {
  const sample = (perSecond, p50Us) => {
    return { perSecond, p50Us, p99Us: 2 * p50Us, p999Us: 3 * p50Us, requests: perSecond };
  };
  const joint = joinSamples([sample(100, 30), sample(300, 10), sample(200, 20)]);
  assert.deepEqual([joint.perSecond, joint.requests, joint.p50Us], [600, 600, 20]);
  assert.deepEqual([joint.p99Us, joint.p999Us], [60, 90]);
  let running = 0;
  let most = 0;
  const load = async () => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return sample(100, 1);
  };
  assert.equal((await parallelLoad([load, load])(1)).perSecond, 200);
  assert.equal(most, 2);
});

test('nothing is batched, and there are as many instances as threads of the reference', () => {
  assert.match(configOf(GROUP(16)), /max_batch_size: 0\n.*KIND_GPU .*count: 16 /);
  assert.notEqual(servedName(GROUP(1)), servedName(GROUP(16)));
  const inputs = RESNET.inputs(RESNET.shape, 8);
  assert.ok(poolBytes([{ inFlight: 16, inputs }]) > 2 * 16 * 8 * 3 * 224 * 224 * 4);
});

test("the load has its own cores, none of them a hyperthread of the server's", () => {
  const list = (count) => Array.from({ length: count }, (_, i) => i);
  const twice = (cpu) => [cpu % 8, (cpu % 8) + 8];
  const { server, load, shared } = splitCores(list(16), twice);
  assert.deepEqual(
    [load, server, shared],
    [[14, 15], list(14).filter((cpu) => cpu % 8 < 6), false],
  );
  const alone = (cpu) => [cpu];
  const { server: first, load: second } = splitCores([0, 1], alone);
  assert.deepEqual([first, second], [[0], [1]]);
  assert.deepEqual(splitCores([0, 1], () => [0, 1]).server, [0]);
  assert.deepEqual(splitCores([3], alone), { server: [3], load: [3], all: [3], shared: true });
});

test('the reference is measured before each side, in each round', async () => {
  const order = [];
  const side = (name) => ({
    measure: async (seconds) => {
      order.push(`${name}${seconds}`);
      return { perSecond: order.length, cpuUs: 1 };
    },
  });
  const sides = new Map([
    ['a', side('a')],
    ['b', side('b')],
  ]);
  const options = { rounds: 2, seconds: 3, warmSeconds: 1 };
  const rounds = await takeTurns(options, side('R'), sides);
  assert.equal(order.join(' '), 'R1 a1 b1 R3 a3 R3 b3 R3 a3 R3 b3');
  assert.deepEqual(rounds[1].b, { reference: { perSecond: 10 }, serval: { perSecond: 11 } });
  order.length = 0;
  const [first] = await takeTurns({ ...options, rounds: 1, oneReference: true }, side('R'), sides);
  assert.equal(order.join(' '), 'R1 a1 b1 R3 a3 b3');
  assert.equal(first.a.reference, first.b.reference);
});

/**
 * Rounds in which Serval in the server has `none` times the reference's rate, isolated `isolated`
 * times.
 */
function rounds(none, isolated) {
  const sample = (perSecond, p50Us) => {
    return { perSecond, usPerRequest: 1e6 / perSecond, p50Us, p99Us: p50Us };
  };
  const reference = sample(1000, 100);
  const pair = (share, over) => ({ reference, serval: sample(1000 * share, 100 + over) });
  return PATHS.reduce(
    (round, path) => ({
      ...round,
      [`${path}-none`]: pair(...none),
      [`${path}-isolated`]: pair(...isolated),
    }),
    {},
  );
}

test('throughput is judged with sixteen in flight, the median with one, and isolation with both', () => {
  const many = judgedRows(GROUP(16), CHOSEN, [rounds([0.97, 900], [0.9, 990])]);
  const got = (rows) => rows.map(({ id, got: figure, ok }) => [id, Number(figure.toFixed(3)), ok]);
  assert.deepEqual(got(many), [
    ['resnet50-b8-x16-grpc-none', 0.97, true],
    ['resnet50-b8-x16-grpc-isolated', 0.9, false],
    ['resnet50-b8-x16-rest-none', 0.97, true],
    ['resnet50-b8-x16-rest-isolated', 0.9, false],
    ['resnet50-b8-x16-grpc-isolation', 0.928, null],
    ['resnet50-b8-x16-rest-isolation', 0.928, null],
  ]);
  const one = judgedRows(GROUP(1), GRPC, [rounds([0.5, 60], [0.5, 61])]);
  assert.deepEqual(got(one), [
    ['resnet50-b8-x1-grpc-none', 60, true],
    ['resnet50-b8-x1-grpc-isolated', 61, false],
    ['resnet50-b8-x1-grpc-isolation', 1, null],
  ]);
  const alone = { paths: ['rest'], modes: ['none'] };
  assert.deepEqual(
    plannedRows(GROUP(1), alone).map(({ id }) => id),
    ['resnet50-b8-x1-rest-none'],
  );
});

test('rows are summarized in a line for each target, and in a page', () => {
  const rows = [
    ...judgedRows(GROUP(16), CHOSEN, [rounds([0.97, 0], [0.9, 0])]),
    ...judgedRows(GROUP(1), CHOSEN, [rounds([1, 40], [1, 70])]),
  ];
  const lines = verdicts(rows);
  assert.deepEqual(lines, [
    'throughput at 16 in flight, in the server, >= 0.950: met, 2 of 2 rows; ' +
      'worst 0.970 (ResNet50 b8 x16, gRPC, in the server)',
    'p50 over the runtime alone, in the server, <= +60.0 us: met, 2 of 2 rows; ' +
      'worst +40.0 us (ResNet50 b8 x1, gRPC, in the server)',
    'throughput at 16 in flight, isolated, >= 0.950: MISSED, 0 of 2 rows; ' +
      'worst 0.900 (ResNet50 b8 x16, gRPC, isolated)',
    'p50 over the runtime alone, isolated, <= +60.0 us: MISSED, 0 of 2 rows; ' +
      'worst +70.0 us (ResNet50 b8 x1, gRPC, isolated)',
    'isolation, throughput at 16 in flight over that in the server: 0.928, median of 2 rows, ' +
      '0.928 .. 0.928',
    'isolation, p50 over that in the server: +30.0 us, median of 2 rows, +30.0 us .. +30.0 us',
  ]);
  const table = markdownTable(rows).split('\n');
  assert.equal(table.length, 2 + rows.length);
  assert.match(
    table[2],
    /^\| ResNet50 \| 8 \| 16 \| gRPC \| in the server \| 0\.970 \| 0\.970 \.\. 0\.970 \| >= 0\.950 \| yes \| .*p50.* \|$/,
  );
  const machine = {
    ...{ gpus: ['H100'], driver: '580', cpu: 'C', cpus: 2, kernel: 'k', node: 'v', commit: 'c' },
    ...{ time: 't', cores: { server: [0], load: [1] }, isFake: true },
  };
  const options = { rounds: 3, seconds: 2, servalArgs: ['--http-threads', '2'], tiny: true };
  const page = markdownPage({ machine, options, rows, verdicts: lines });
  assert.match(page, /scaled down: this is not a measurement/);
  assert.match(page, /without a GPU: this is not a measurement/);
  const real = { machine: { ...machine, isFake: false }, options: { ...options, tiny: false } };
  assert.doesNotMatch(markdownPage({ ...real, rows, verdicts: lines }), /not a measurement/);
});

test('a failure is reported in each of its rows, and the others continue', async (t) => {
  const options = { ...GRPC, rounds: 1, seconds: 1, warmSeconds: 1, limitSeconds: 100 };
  const context = testContext(t, {
    options: { ...options, tiny: true, servalArgs: [] },
    machine: { library: '/none' },
    root: '/no/checkout',
    elapsedSeconds: () => 0,
  });
  const told = [];
  const groups = plainOf({ batches: [1], only: 'mlp,resnet50-b1-x1' });
  const rows = await measureGroups({ ...context, modelsFolder: context.tempDir }, groups, (text) =>
    told.push(text),
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    groups.flatMap((group) => plannedRows(group, GRPC).map(({ id }) => id)),
  );
  assert.ok(
    rows.every(({ error }) => error.includes('/no/checkout')),
    rows[0].error,
  );
  assert.equal(told.length, 2);
  assert.deepEqual(verdicts(rows), [`NOT MEASURED: ${rows.length} of ${rows.length} rows`]);
  assert.match(markdownTable(rows), /\| ERROR \| .*no\/checkout/);
});

test('a response is compared with that of the runtime alone, relative to its largest value', () => {
  const expected = Float32Array.of(-100, 0.5);
  expectClose('y', Float32Array.of(-101, 0.9), expected);
  assert.throws(() => expectClose('y', Float32Array.of(-100, 3), expected), /y\[1\]: got 3/);
  assert.throws(() => expectClose('y', Float32Array.of(-100), expected), /1 values, expected 2/);
});
