// CUDA behaviour that the server relies on when a client shares device memory. Over stand-ins:
// whether they are as strict as CUDA itself; on a GPU: whether CUDA behaves like them. Test time
// only.
import { it } from 'node:test';
import { findPython, runPythonSuite } from '../e2e/support/python-suites.js';
import { cudaEnv } from './machine.js';

const { python, missing } = findPython();

it('CUDA between processes', async (context) => {
  if (missing !== '') return context.skip(missing);
  await runPythonSuite(context, python, 'cuda_shared_memory.test_runtime', undefined, cudaEnv());
});
