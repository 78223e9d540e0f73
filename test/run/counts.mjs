// What every suite reports: passed, failed, and the names of what was skipped. Test time only.

export function noCounts() {
  return { passed: 0, failed: 0, skipped: [] };
}

// Adds `more` to `total` in place.
export function addCounts(total, more) {
  total.passed += more.passed;
  total.failed += more.failed;
  total.skipped.push(...more.skipped);
}

export function summaryLine(counts) {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped.length} skipped`;
}

// Nothing is skipped quietly: one line each.
export function printSkipped(counts) {
  for (const name of counts.skipped) process.stdout.write(`SKIPPED ${name}\n`);
}

/**
 * Ends the process with `status` when all that it printed is written. process.exit() drops what a
 * pipe has not taken yet (some 200 KB go at once), and the counts come last.
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

// The last "N passed, N failed, N skipped" of a suite's output, with the names of its SKIPPED
// lines; undefined when there is none.
export function parseSummary(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  const last = lines.at(-1);
  if (last === undefined) return undefined;
  const skipped = [...output.matchAll(/^SKIPPED (.*)$/gm)].map((match) => match[1]);
  while (skipped.length < Number(last[3])) skipped.push('unnamed');
  skipped.length = Number(last[3]);
  return { passed: Number(last[1]), failed: Number(last[2]), skipped };
}

/** Of node's TAP output: those of `files` in which a test failed, by the locations and stacks of
 * each failure; undefined where one failed that names none of them. */
export function failedFiles(tap, files) {
  const failed = new Set();
  let begins = 0;
  for (const end of tap.matchAll(/^(not )?ok \d+ - .*\n( {2}---\n(?: {2}.*\n)*? {2}\.\.\.\n)?/gm)) {
    const told = tap.slice(begins, end.index + end[0].length);
    begins = end.index + end[0].length;
    if (end[1] === undefined) continue;
    const named = files.filter((file) => told.includes(file));
    if (named.length === 0) return undefined;
    for (const file of named) failed.add(file);
  }
  return [...failed];
}

// The lines of a suite's output that say which files were run again.
export function parseAgain(output) {
  return [...output.matchAll(/^AGAIN .*$/gm)].map((match) => match[0]);
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
  return counts;
}
