// The soak's own checks: its options, its random numbers, its requests, and its rules for a valid
// metrics page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBadRequests } from '../../soak/bad-requests.mjs';
import '../../soak/cancels.mjs'; // makes its requests when it is loaded
import { runScrapes } from '../../soak/control.mjs';
import { runInfers } from '../../soak/infers.mjs';
import { checkHistograms, checkMonotone, parseMetrics, sumOf } from '../../soak/metrics.mjs';
import { parseOptions, Random } from '../../soak/options.mjs';

const PAGE = `# HELP a_total things
# TYPE a_total counter
a_total{model="m",version="1"} 3
a_total{model="n",version="1"} 4
# TYPE h histogram
h_bucket{model="m",le="1"} 1
h_bucket{model="m",le="+Inf"} 2
h_sum{model="m"} 1.5
h_count{model="m"} 2
# TYPE up gauge
up{} 1
bare 7
`;

test('a page is samples with labels, by family', () => {
  const page = parseMetrics(PAGE);
  assert.deepEqual(
    [...page.types],
    [
      ['a_total', 'counter'],
      ['h', 'histogram'],
      ['up', 'gauge'],
    ],
  );
  assert.equal(sumOf(page, 'a_total'), 7);
  assert.equal(sumOf(page, 'a_total', { model: 'n' }), 4);
  assert.equal(sumOf(page, 'bare'), 7);
  checkHistograms(page);
  const quoted = parseMetrics('x{a="b\\"},{c",d="e"} 1\n').samples.values().next().value;
  assert.equal(quoted.labels.d, 'e');
});

test('what is no page is refused', () => {
  assert.throws(() => parseMetrics('a b c\n'), /no sample/);
  assert.throws(() => parseMetrics('a 1\na 2\n'), /a twice/);
  assert.throws(() => parseMetrics('# TYPE a gauge\n# TYPE a gauge\n'), /family a twice/);
});

test('histograms must be cumulative, ascending and whole', () => {
  const broken = (change) => parseMetrics(change(PAGE));
  assert.throws(
    () => checkHistograms(broken((t) => t.replace('le="1"} 1', 'le="1"} 3'))),
    /2 up to Infinity, 3 before/,
  );
  assert.throws(
    () => checkHistograms(broken((t) => t.replace('"} 2\nh_sum', '"} 5\nh_sum'))),
    /count 2/,
  );
  assert.throws(() => checkHistograms(broken((t) => t.replace('+Inf', '2'))), /up to 2/);
  assert.throws(
    () => checkHistograms(broken((t) => t.replace('le="1"', 'le="9"').replace('+Inf', '3'))),
    /bound 3 after 9/,
  );
});

test('counters of the models that stay never go down', () => {
  const before = parseMetrics(PAGE);
  const less = parseMetrics(PAGE.replace('version="1"} 3', 'version="1"} 2'));
  checkMonotone(before, before, ['m', 'n']);
  checkMonotone(before, less, ['n']);
  assert.throws(() => checkMonotone(before, less, ['m']), /from 3 to 2/);
  const gone = parseMetrics(PAGE.replace('h_count{model="m"} 2\n', ''));
  assert.throws(() => checkMonotone(before, gone, ['m']), /h_count.* to undefined/);
});

const NO_STATUS = 599;
const WAYS = ['overGrpc', 'overPredict', 'overStream', 'overV1', 'overV2Binary', 'overV2Json'];

test('clients make requests of every kind, and tell what they are answered', async () => {
  const connections = {
    send: async () => ({ status: NO_STATUS, body: Buffer.from('why'), headers: {} }),
    call: async () => ({ code: NO_STATUS, details: 'why' }),
    stream: async () => ({ code: NO_STATUS, details: 'why', messages: [] }),
  };
  const ways = new Set();
  for (let seed = 0; seed < 100; seed += 1) {
    const run = runInfers({ connections, random: new Random(seed), stopping: () => false }, 1);
    const { message } = await run.then(assert.fail, (error) => error);
    assert.match(message, /^over\w+ to \w+: 599 why$/);
    ways.add(message.split(' ')[0]);
  }
  assert.deepEqual([...ways].sort(), WAYS);
  for (const run of [runBadRequests, runScrapes]) {
    const wrong = run({ connections, random: new Random(1), stopping: () => false });
    await assert.rejects(wrong, /599 why/);
  }
});

test('options and seeds', () => {
  const doors = ['tls', 'plain'];
  const plain = { minutes: 5, seed: 7, doors, verbose: false, help: false };
  assert.deepEqual(parseOptions([], 7), plain);
  assert.deepEqual(parseOptions(['--door', 'plain'], 7).doors, ['plain']);
  assert.throws(() => parseOptions(['--door', 'x'], 7), /--door: expected tls, plain/);
  assert.equal(parseOptions(['--minutes', '0.5', '--seed', '9'], 7).minutes, 0.5);
  assert.throws(() => parseOptions(['--minutes', '0'], 7), /--minutes/);
  assert.throws(() => parseOptions(['--seed', 'x'], 7), /--seed/);
  const draw = (seed) => {
    const random = new Random(seed);
    return Array.from({ length: 100 }, () => random.int(1, 6));
  };
  assert.deepEqual(draw(5), draw(5));
  assert.notDeepEqual(draw(5), draw(6));
  assert.deepEqual([...new Set(draw(5))].sort(), [1, 2, 3, 4, 5, 6]);
});
