// Test files that must not share the machine with another one: suite.mjs runs them after the
// others, one at a time. Each has the reason. A file belongs here only where its assertion is about
// time or about memory of the whole machine; one that merely waits for something polls instead.
// Test time only.
export const ALONE = new Map([
  [
    'test/conformance/tabular/rules/hostile.test.ts',
    'compares how long hostile documents take with how long plain ones take',
  ],
  [
    'test/e2e/http-abort.test.ts',
    'compares the wait after an aborted request with the time of one run',
  ],
  ['test/e2e/operations/batched-answers.test.ts', 'requests must meet in one batch'],
  ['test/e2e/operations/batching.test.ts', 'requests must meet in one batch within its delay'],
  ['test/e2e/operations/cancels.test.ts', 'cancelled requests must leave before a run ends'],
  ['test/e2e/operations/queues.test.ts', 'queue timeouts and deadlines of 50 ms to 600 ms'],
  ['test/e2e/gpu/sizes.test.ts', 'compares rates of servers that run one after the other'],
  ['test/e2e/operations/versions.test.ts', 'measures the longest pause while versions change'],
  ['test/e2e/resilience/endless.test.ts', 'measures how soon endless runs end'],
  ['test/e2e/console/click-through.test.ts', 'a whole visit of the console within a limit'],
]);
