// The counts that every suite reports: passed, failed, and the names of skipped and failed tests.
// Test time only.

// Failed tests whose names a suite repeats at its end.
const FAILURES_NAMED = 20;

export function noCounts() {
  return { passed: 0, failed: 0, skipped: [], failures: [] };
}

// Adds `more` to `total` in place.
export function addCounts(total, more) {
  total.passed += more.passed;
  total.failed += more.failed;
  total.skipped.push(...more.skipped);
  total.failures.push(...more.failures);
}

// Adds one failed test. `why` is one line: the end of a long output is all that some machines keep.
export function addFailure(counts, why) {
  counts.failed += 1;
  counts.failures.push(why);
}

export function summaryLine(counts) {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped.length} skipped`;
}

// Prints a line for each skipped test, then one for each failed test, up to FAILURES_NAMED.
export function printNames(counts) {
  for (const name of counts.skipped) process.stdout.write(`SKIPPED ${name}\n`);
  const named = counts.failures.slice(0, FAILURES_NAMED);
  for (const name of named) process.stdout.write(`FAILED ${name}\n`);
}

/**
 * Ends the process with `status` once its output is written. process.exit() drops the bytes that a
 * pipe has not accepted yet (about 200 KB fit), and the counts come last.
 */
export function exitWhenWritten(status) {
  process.exitCode = status;
  const streams = [process.stdout, process.stderr];
  let left = streams.length;
  const written = () => {
    left -= 1;
    if (left === 0) process.exit();
  };
  for (const stream of streams) stream.write('', written);
}

export function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

// The last "N passed, N failed, N skipped" of a suite's output, with the names of its SKIPPED and
// FAILED lines; undefined when there is none.
export function parseSummary(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  const last = lines.at(-1);
  if (last === undefined) return undefined;
  const skipped = [...output.matchAll(/^SKIPPED (.*)$/gm)].map((match) => match[1]);
  while (skipped.length < Number(last[3])) skipped.push('unnamed');
  skipped.length = Number(last[3]);
  const failures = [...output.matchAll(/^FAILED (.*)$/gm)].map((match) => match[1]);
  const unique = [...new Set(failures)];
  return { passed: Number(last[1]), failed: Number(last[2]), skipped, failures: unique };
}

// Counts of node's test runner, from its TAP output (v20 to v24 write the same).
export function parseTap(tap) {
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(tap)?.[1] ?? NaN);
  const counts = noCounts();
  counts.passed = count('pass');
  counts.failed = count('fail') + count('cancelled');
  if (Number.isNaN(counts.passed + counts.failed)) return undefined;
  for (const match of tap.matchAll(/^\s*ok \d+ - (.*?) # (SKIP|TO.O)(.*)$/gm)) {
    counts.skipped.push(`${match[1]}:${match[3] === '' ? ' no reason given' : match[3]}`);
  }
  for (const match of tap.matchAll(/^\s*not ok \d+ - (.*)$/gm)) counts.failures.push(match[1]);
  return counts;
}
