// Reads GoogleTest's JSON report. Test time only.

// Report text -> {passed, failed, skipped: names with reasons}. An empty or broken report has no
// passes. `output` is what the program printed: GoogleTest 1.12 writes a skip's reason only there,
// in the order of the tests.
export function googleTestCounts(text, output = '') {
  const counts = { passed: 0, failed: 0, skipped: [] };
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
      } else if ((test.failures ?? []).length > 0) counts.failed += 1;
      else if (test.result === 'COMPLETED') counts.passed += 1;
      else counts.failed += 1;
    }
  }
  return counts;
}
