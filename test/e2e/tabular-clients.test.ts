// Tabular models with the official Python clients, unmodified: test/e2e/python/test_tabular.py.
// Every Python test is a test here.
import { describe, it } from 'node:test';
import { RulesServer } from '../conformance/tabular/rules/models.js';
import { findPython, runPythonSuite } from './support/python-suites.js';

describe('tritonclient and tabular models', () => {
  const { python, missing } = findPython();
  const rules = new RulesServer([], ['echo', 'string', 'date', 'two_ints', 'norm', 'pairs']);

  it('test_tabular', async (context) => {
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'test_tabular', rules.asking.server);
  });
});
