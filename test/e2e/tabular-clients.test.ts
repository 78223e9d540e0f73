// Models of columns by the official Python clients, unmodified: test/e2e/python/test_tabular.py.
// Every Python test is a test here.
import { it } from 'node:test';
import { overGrpcListeners } from './support/grpc-listeners.js';
import { RulesServer } from '../conformance/tabular/rules/models.js';
import { findPython, runPythonSuite } from './support/python-suites.js';

overGrpcListeners('tritonclient and models of columns', (flags) => {
  const { python, missing } = findPython();
  const rules = new RulesServer(flags, ['echo', 'string', 'date', 'two_ints', 'norm', 'pairs']);

  it('test_tabular', async (context) => {
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'test_tabular', rules.asking.server);
  });
});
