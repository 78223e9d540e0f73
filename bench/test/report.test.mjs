// Tables, the chart and the comparison with a saved run.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { drawChart, timesTarget } from '../chart.mjs';
import { timesFaster } from '../compare.mjs';
import { formatMicro, parseMicro, withVerdict } from '../micro.mjs';
import {
  compareRuns,
  formatComparison,
  formatErrors,
  formatFigure,
  formatRows,
  formatSide,
  formatUs,
} from '../report.mjs';
import { loadRun, saveRun } from '../results.mjs';

const machine = {
  cpu: 'A <CPU>',
  cpus: 2,
  kernel: '6',
  node: 'v20',
  load1: 0,
  commit: 'abc',
  time: 'now',
};

function row(id, got, { min = got, max = got, relation = '>=', limit = 0.7, ok = true } = {}) {
  return {
    id,
    title: `title ${id}`,
    reference: 'echo',
    form: 'ratio',
    target: { relation, limit },
    got,
    spread: { min, max },
    ok,
    sides: {},
    rounds: [],
    note: '',
  };
}

const failed = {
  id: 'bad',
  title: 'bad one',
  reference: 'echo',
  target: { relation: '<=', limit: 2 },
  ok: false,
  error: 'first line\nsecond line',
};

test('the table has target, figure, spread and whether the target is met', () => {
  const lines = formatRows([
    row('a', 0.75, { min: 0.7, max: 0.8 }),
    row('b', 0.5, { ok: false }),
    failed,
    { ...row('c', 1), target: null, ok: null },
  ]).split('\n');
  assert.equal(lines.length, 6);
  assert.match(lines[2], /title a +echo +>= 0\.700 +0\.750 +0\.700 \.\. 0\.800 +- +yes/);
  assert.match(lines[3], / NO /);
  assert.match(lines[4], /bad one .* ERROR +first line$/);
  assert.match(lines[5], / reported +1\.000 /);
  assert.equal(formatErrors([row('a', 1), failed]), 'bad: first line\nsecond line');
});

test('figures carry their unit', () => {
  assert.equal(formatFigure('us', 3), '+3.0 us');
  assert.equal(formatFigure('us', -3), '-3.0 us');
  assert.equal(formatFigure('s', 0.25), '0.250 s');
  assert.equal(formatFigure('MB', 76), '76.0 MB');
  assert.equal(formatFigure('kB', 14.96), '15.0 kB');
  assert.equal(formatFigure('ratio', 12.34), '12.3');
  assert.equal(formatFigure('ms', 1.234), '1.23 ms');
  assert.equal(formatFigure('count', 0), '0');
  assert.throws(() => formatFigure('kg', 1), /unknown form 'kg'/);
  assert.equal(formatUs(12.34), '12.3 us');
  assert.equal(formatUs(999.4), '999 us');
  assert.equal(formatUs(30_000), '30.0 ms');
});

test('a side shows rate or time, tail, CPU and how busy its core was', () => {
  const sample = { perSecond: 50_000, usPerRequest: 20, p50Us: 200, p99Us: 400, cpuUs: 10 };
  assert.equal(formatSide(sample), '50000/s, p50 200 us, p99 400 us, cpu 10.0 us (50 %)');
  assert.equal(formatSide({ perSecond: 10, usPerRequest: 100_000 }), '100 ms');
  assert.match(formatSide({ ...sample, busierShare: 0.6 }), /listeners 60\/40 %$/);
  assert.match(
    formatSide({ ...sample, p999Us: 1500, lateUs: 90 }),
    /p99 400 us, p99\.9 1\.50 ms, cpu .*, load late by 90\.0 us$/,
  );
  assert.equal(formatSide({ extra: 'a row 9 us' }), 'a row 9 us');
  assert.equal(formatSide(undefined), '-');
});

test('a saved run is compared row by row; only disjoint spreads count as a change', () => {
  const saved = {
    rows: [
      row('up', 0.7, { min: 0.68, max: 0.72 }),
      row('noise', 0.7, { min: 0.6, max: 0.8 }),
      row('slow', 1.1, { relation: '<=' }),
      row('gone', 1),
      failed,
    ],
  };
  const now = [
    row('up', 0.77, { min: 0.75, max: 0.8 }),
    row('noise', 0.75, { min: 0.7, max: 0.8 }),
    row('slow', 1.32, { relation: '<=' }),
    row('new', 1),
    { ...row('bad', 1) },
  ];
  const compared = compareRuns(saved, now);
  assert.deepEqual(
    compared.map(({ id, verdict }) => [id, verdict]),
    [
      ['up', 'better'],
      ['noise', 'same'],
      ['slow', 'worse'],
    ],
  );
  const text = formatComparison('base', compared);
  assert.match(text, /saved 'base'/);
  assert.match(text, /up +0\.700 +0\.770 +\+10\.0 % +better/);
});

test('the chart is scaled so that longer is better, and escapes its text', () => {
  assert.equal(timesTarget(row('a', 1.4)), 2);
  assert.equal(timesTarget(row('a', 0.75, { relation: '<=', limit: 1.5 })), 2);
  assert.equal(timesTarget(row('a', -3, { relation: '<=', limit: 25 })), Infinity);
  const svg = drawChart([row('a', 1.4), failed, { ...row('c', 1), target: null }], machine);
  assert.equal(svg.match(/<rect /g).length, 2);
  assert.match(svg, /width="280\.0" height="20"/);
  assert.match(svg, /A &lt;CPU&gt;/);
  assert.doesNotMatch(svg, /NaN|undefined/);
});

test('a run is saved and loaded again; an unknown name lists the saved ones', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-bench-test-'));
  try {
    const run = { machine, options: {}, rows: [row('a', 0.9)], micro: [] };
    const { svg } = saveRun(folder, 'base', run);
    assert.deepEqual(loadRun(folder, 'base'), run);
    assert.match(readFileSync(svg, 'utf8'), /^<svg /);
    assert.throws(() => loadRun(folder, 'nope'), /no saved run 'nope' .*saved: base/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('codec rows are JSON lines and become one table', () => {
  const rows = parseMicro('{"name":"a","gb_per_s":1.2345}\n\n{"name":"b","ns":120.4}\n');
  assert.equal(rows.length, 2);
  assert.match(formatMicro(rows), /name +gb_per_s +ns\n[- ]+\na +1\.23\nb +120$/);
  assert.throws(() => parseMicro('oops'), /codec_bench: not JSON: oops/);
});

test('a row with a target shows whether it is met', () => {
  const row = (ns) => withVerdict({ name: 'a', ns_per_call: ns, target_ns: 20 });
  assert.deepEqual([row(19.9).met, row(20).met], ['yes', 'NO']);
  assert.deepEqual(withVerdict({ name: 'b', ns_per_call: 3 }), { name: 'b', ns_per_call: 3 });
  assert.throws(() => parseMicro('oops', 'stats_bench'), /stats_bench: not JSON: oops/);
});

test('two checkouts are compared by how many times faster one is', () => {
  const old = { usPerRequest: 20, p50Us: 80 };
  const now = { usPerRequest: 10, p50Us: 100 };
  assert.equal(timesFaster({ metric: 'rate' }, { reference: old, serval: now }), 2);
  assert.equal(timesFaster({ metric: 'p50' }, { reference: old, serval: now }), 0.8);
  const tails = { reference: { p99Us: 90 }, serval: { p99Us: 30 } };
  assert.equal(timesFaster({ metric: 'p99-times' }, tails), 3);
});
