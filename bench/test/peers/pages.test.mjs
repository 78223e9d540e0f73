// The page of benchmarks: its tables and charts from made-up runs, and whether the page in docs
// agrees with the kept runs.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  casesOf,
  chartGroups,
  markdownTable,
  runText,
  serversOf,
  workloadTable,
} from '../../pages/benchmarks.mjs';
import { drawPeers, rateText } from '../../pages/charts.mjs';
import { pageOf } from '../../pages/page.mjs';
import { pageFiles, staleFiles } from '../../pages/write.mjs';
import { rowsOf } from '../../peers/measure.mjs';

const machine = {
  cpu: 'A <CPU>',
  cpus: 2,
  kernel: '6.1',
  node: 'v22',
  load1: 0,
  commit: 'abc',
  time: '2026-11-28T20:00:00.000Z',
};
const options = { rounds: 2, seconds: 5 };
const sample = (perSecond) => ({
  perSecond,
  usPerRequest: 1e6 / perSecond,
  p50Us: 100,
  p99Us: 2000,
  cpuUs: 10,
});

const rounds = [
  { serval: sample(50_000), a: sample(1000), echo: sample(80_000) },
  { serval: sample(60_000), a: sample(1200), echo: sample(80_000) },
];
const peersRun = {
  machine,
  options,
  servers: [{ id: 'serval', title: 'Serval', readySeconds: 0.2, memoryMb: 60 }],
  rows: rowsOf(
    { id: 'one', title: 'First | case' },
    [
      { id: 'a', title: 'Peer A' },
      { id: 'echo', title: 'echo' },
      { id: 'b', title: 'Peer B' },
    ],
    { rounds, errors: { b: new Error('no answer\nmore') } },
  ),
};

test('the first line of a run has the machine, the date and a warning on a busy machine', () => {
  assert.match(runText({ machine, options }), /2026-11-28; 2 rounds of 5 s\.$/);
  const busy = { machine: { ...machine, load1: 3.2 }, options };
  assert.match(runText(busy), /load 3\.2\): the figures are indications/);
});

test('cells do not break the table', () => {
  assert.equal(
    markdownTable([
      ['a', 'b'],
      ['x|y', 'z\nw'],
    ]),
    '| a | b |\n| --- | --- |\n| x\\|y | z w |',
  );
});

test('a row of make bench shows figure, spread, target and both sides, or why it has none', () => {
  const row = {
    title: 'T',
    reference: 'R',
    form: 'ratio',
    target: { relation: '>=', limit: 0.85 },
    got: 0.9,
    spread: { min: 0.8, max: 1 },
    ok: true,
    sides: { serval: sample(900), reference: sample(1000) },
  };
  const failed = { ...row, error: 'bad\nmore', skipped: false };
  const text = workloadTable({ rows: [row, { ...row, ok: false }, failed] });
  assert.match(
    text,
    /\| T \| R \| 0\.900 \| 0\.800 to 1\.000 \| >= 0\.850 met \| 1\.11 ms \| 1\.00 ms \|/,
  );
  assert.match(text, />= 0\.850 \*\*missed\*\*/);
  assert.match(text, /failed: bad \|/);
});

test('rates have three digits', () => {
  assert.deepEqual([58_432, 999.6, 12.345].map(rateText), ['58,400', '1,000', '12.3']);
});

test('a case lists Serval, its peers and its references; failures are named', () => {
  const [one] = casesOf(peersRun);
  assert.deepEqual(
    serversOf(one).map(({ title, kind }) => [title, kind]),
    [
      ['Serval', 'serval'],
      ['Peer A', 'peer'],
      ['echo', 'floor'],
    ],
  );
  const page = pageOf({ peers: peersRun });
  assert.match(
    page,
    /\| Serval \| 55,000 \| 50,000 to 60,000 \| 100 us \| 2\.00 ms \| 10\.0 us \|  \|/,
  );
  assert.match(page, /\| Peer A \| 1,100 \| .* \| 50 \|/);
  assert.match(page, /\| \*echo\* \|/);
  assert.match(page, /Not measured: Peer B: no answer\n/);
  assert.doesNotMatch(page, /undefined|NaN/);
});

test('the chart has a bar for each measured server, and escapes its text', () => {
  const svg = drawPeers(chartGroups(peersRun), machine);
  assert.equal(svg.match(/<rect x=/g).length, 3);
  assert.match(svg, /A &lt;CPU&gt;/);
  assert.match(svg, /55,000\/s/);
  assert.doesNotMatch(svg, /undefined|NaN/);
});

test('without kept runs the page says so; with them it has their charts', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const none = pageFiles(folder);
  assert.deepEqual(Object.keys(none), ['docs/reference/benchmarks.md']);
  assert.equal(none['docs/reference/benchmarks.md'].match(/No run is kept yet/g).length, 2);
  writeFileSync(join(folder, 'peers.json'), JSON.stringify(peersRun));
  assert.deepEqual(Object.keys(pageFiles(folder)), [
    'docs/reference/benchmarks.md',
    'docs/images/benchmarks-peers.svg',
  ]);
  assert.deepEqual(staleFiles({ LICENSE: 'other', 'no/such': '' }), ['LICENSE', 'no/such']);
});

test('docs/reference/benchmarks.md and its charts agree with bench/results', () => {
  const stale = staleFiles(pageFiles());
  assert.deepEqual(stale, [], 'stale: run node bench/pages/write.mjs');
});
