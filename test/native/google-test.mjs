// Reads GoogleTest's JSON report. Test time only.

// Report text -> {passed, failed, skipped: names}. An empty or broken report has no passes.
export function googleTestCounts(text) {
  const counts = { passed: 0, failed: 0, skipped: [] };
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
      else if (test.result === 'SKIPPED') counts.skipped.push(`${name}: ${reason(test)}`);
      else if ((test.failures ?? []).length > 0) counts.failed += 1;
      else if (test.result === 'COMPLETED') counts.passed += 1;
      else counts.failed += 1;
    }
  }
  return counts;
}

function reason(test) {
  const message = (test.skipped ?? [])[0]?.message ?? '';
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').pop() ?? 'no reason given';
}
