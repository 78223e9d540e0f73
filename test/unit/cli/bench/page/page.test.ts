// The page of a report: one file without external resources, every number of the report, and
// escaped names.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { benchPage } from '../../../../../ts/cli/bench/page/page.js';
import type { TuneTrial } from '../../../../../ts/cli/bench/types.js';
import { closedPoint, openPoint, pathPoints, reportOf } from '../reports.js';
import { tunedReport } from '../tuned-report.js';

const NASTY = `<script>alert(1)</script>"'&\u202e\u0000`;

const figures = (page: string): readonly string[] =>
  [...page.matchAll(/<figcaption><b>([^<]*)<\/b>/g)].map(([, title]) => title ?? '');

/** Numbers in attributes and paths that no drawing may have. */
const broken = (page: string): readonly string[] =>
  page.match(/(?:NaN|Infinity|undefined|\[object)[^<]{0,40}/g) ?? [];

/** Checks that elements are closed in the element in which they were opened. */
function assertNested(page: string): void {
  const text = page.replace(/<!doctype html>/, '').replace(/<style>[^]*<\/style>/, '');
  const open: string[] = [];
  for (const [tag, slash, name, closed] of text.matchAll(
    /<(\/?)([a-z0-9]+)(?:\s[^<>]*?)?(\/?)>/g,
  )) {
    if (closed === '/' || name === 'meta' || name === 'br') continue;
    if (slash === '') open.push(name ?? '');
    else assert.equal(open.pop(), name, tag);
  }
  assert.deepEqual(open, []);
  const bare = text.replace(/<\/?[a-z0-9]+(?:\s[a-z][\w-]*="[^"<>]*")*\s*\/?>/gi, '');
  assert.doesNotMatch(bare, /[<>]/);
}

describe('benchPage', () => {
  it('is one file that nothing is fetched, run or sent by', () => {
    const page = benchPage(reportOf(pathPoints(), { tuned: tunedReport() }));
    const style = /<style>([^]*)<\/style>/.exec(page)?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
    assert.equal(
      policy?.replaceAll('&#39;', "'"),
      `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`,
    );
    assert.doesNotMatch(page, /<(?:script|link|img|iframe|form|object|base)\b/i);
    assert.doesNotMatch(page, /\s(?:style|on\w+|href|src)=/i);
    assert.doesNotMatch(page, /https?:|url\(|@import/i);
    assertNested(page);
  });

  it('escapes every text of the report', () => {
    const points = [closedPoint({ concurrency: 1, failed: 3, firstError: NASTY })];
    const trials: readonly TuneTrial[] = [{ settings: {}, why: NASTY, points, problem: NASTY }];
    const page = benchPage(
      reportOf(points, {
        serval: NASTY,
        at: NASTY,
        command: [NASTY],
        machine: { cpu: NASTY, cores: 1, memoryBytes: 1, node: NASTY },
        model: { name: NASTY, version: NASTY, platform: NASTY },
        server: NASTY,
        tuned: { trials, steps: [NASTY], config: NASTY, batchingParameters: NASTY },
      }),
    );
    assert.doesNotMatch(page, /<script/);
    assert.doesNotMatch(page, /[\u0000\u202e]/);
    assertNested(page);
    assert.equal(page.match(/&lt;script&gt;/g)?.length, 18);
  });

  it('draws latency over rate and throughput over concurrency, a series for each path', () => {
    const page = benchPage(reportOf(pathPoints()));
    assert.deepEqual(figures(page), ['Latency over rate', 'Throughput over concurrency']);
    for (const name of ['engine alone', 'gRPC', 'REST, binary', 'REST, JSON']) {
      assert.equal(page.split(`</svg>${name}</li>`).length, 3, name);
    }
    // 24 points, p50 and p99, and once in the second drawing.
    assert.equal(page.match(/<g class="point">/g)?.length, 72);
    assert.match(
      page,
      /<title>gRPC: 8 in flight\n6,838 requests\/s\np50 1.05 ms, p90 [^<]*<\/title>/,
    );
    assert.deepEqual(broken(page), []);
  });

  it('has a part for each size of requests where there are several paths', () => {
    const page = benchPage(reportOf([...pathPoints(1), ...pathPoints(8)]));
    assert.match(page, /<h3>Requests of 1 row<\/h3>/);
    assert.match(page, /<h3>Requests of 8 rows<\/h3>/);
    assert.deepEqual(figures(page).slice(-1), ['Throughput over rows per request']);
    assert.equal(figures(page).length, 5);
  });

  it('draws open loops over what was sent', () => {
    const points = [500, 1000, 2000, 4000, 8000].map((rate) => openPoint('grpc', rate));
    const page = benchPage(reportOf(points));
    assert.deepEqual(figures(page), ['Latency over rate', 'Throughput over the rate of requests']);
    assert.match(page, /8,000 \/s sent/);
    assert.deepEqual(broken(page), []);
  });

  it('keeps loops apart, in the colours of their paths', () => {
    const open = [500, 2000].flatMap((rate) => [
      openPoint('grpc', rate),
      openPoint('engine', rate),
    ]);
    const page = benchPage(reportOf([...pathPoints(), ...open]));
    assert.deepEqual(figures(page), [
      'Latency over rate, closed loop',
      'Throughput over concurrency',
      'Latency over rate, open loop',
      'Throughput over the rate of requests',
    ]);
    const colours = [...page.matchAll(/line (s\d)[^>]*>(?:<path[^>]*>)?<\/svg>gRPC</g)];
    assert.deepEqual(new Set(colours.map(([, colour]) => colour)), new Set(['s1']));
  });

  it('draws no line through one point', () => {
    assert.deepEqual(figures(benchPage(reportOf([closedPoint()]))), []);
  });

  it('has every point in its table', () => {
    const points = pathPoints();
    const page = benchPage(reportOf(points));
    const rows = page.match(/<tr>/g)?.length ?? 0;
    // Heads of two tables (one with two rows, one with a class), four paths, all points.
    assert.equal(rows, 2 + 4 + points.length);
  });

  it('takes what was not answered, nothing at all, and numbers without end', () => {
    const none = closedPoint({ answered: 0, failed: 7, firstError: 'refused', rowsPerSecond: 0 });
    const silent = { ...none, requestsPerSecond: 0, latency: { ...none.latency, p50: 0, p99: 0 } };
    for (const points of [[], [silent], [silent, closedPoint()], [closedPoint({ runUs: 1e-3 })]]) {
      const page = benchPage(reportOf(points));
      assert.deepEqual(broken(page), []);
      assertNested(page);
    }
    assert.match(benchPage(reportOf([])), /Nothing was measured/);
    const page = benchPage(reportOf([silent]));
    assert.match(page, /7 requests failed in 1 of 1 measurements; the first: refused/);
  });

  it('says where the load kept the machine busy itself', () => {
    const busy = closedPoint({ concurrency: 8, clientCores: 3.5, serverCores: 4.4 });
    assert.match(benchPage(reportOf([busy])), /machine&#39;s 8 cores were busy, up to 3.5 of them/);
    const elsewhere = closedPoint({ concurrency: 8, clientCores: 7.5, serverCores: undefined });
    assert.doesNotMatch(benchPage(reportOf([elsewhere])), /cores were busy/);
  });

  it('shows what was tuned: the best, what was tried, the configuration', () => {
    const page = benchPage(reportOf([], { tuned: tunedReport() }));
    assert.deepEqual(figures(page), ['Trials']);
    assert.match(page, /Best: <b>2 instances, 1 thread each<\/b>/);
    assert.match(page, /defaults: 2,222 \(\+80 %\)/);
    assert.match(page, /bound 3 ms/);
    assert.match(page, /no memory/);
    assert.match(page, /name: &quot;resnet50&quot;\ninstance_group/);
    assert.match(page, /Search log \(2 steps\)/);
    assert.deepEqual(broken(page), []);
    assertNested(page);
  });

  it('says when no settings keep the bound', () => {
    const report = tunedReport();
    const trials = report.trials.map((trial) => ({ ...trial, best: undefined }));
    const page = benchPage(reportOf([], { tuned: { ...report, trials, best: undefined } }));
    assert.match(page, /No settings kept the p99 bound/);
    assertNested(page);
  });
});
