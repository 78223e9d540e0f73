// Reads GoogleTest's JSON report. Test time only.
import { addFailure, noCounts } from '../run/counts.mjs';

// Report text -> counts: names of failed tests, names with reasons of skipped ones. An empty or
// broken report has no passes. `output` is what the program printed: GoogleTest 1.12 writes the
// reason of a skip only there, in the order of the tests.
export function googleTestCounts(text, output = '') {
  const counts = noCounts();
  const printed = [...output.matchAll(/: Skipped\n(.+)\n/g)].map((match) => match[1].trim());
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    return counts;
  }
  for (const suite of report.testsuites ?? []) {
    for (const test of suite.testsuite ?? []) {
      const name = `${suite.name}.${test.name}`;
      if (test.status === 'NOTRUN') counts.skipped.push(`${name}: disabled`);
      else if (test.result === 'SKIPPED') {
        counts.skipped.push(`${name}: ${printed.shift() ?? 'no reason given'}`);
      } else if ((test.failures ?? []).length === 0 && test.result === 'COMPLETED') {
        counts.passed += 1;
      } else addFailure(counts, name);
    }
  }
  return counts;
}
