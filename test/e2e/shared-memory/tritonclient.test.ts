// Triton's Python clients with system shared memory, unmodified: the steps of its examples, over
// HTTP and over both gRPC listeners. Every Python test is a test here.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { simpleModel } from './simple-model.js';

describe('tritonclient with shared memory', () => {
  const folders = new ModelFolders();
  const { python, missing } = findPython();
  let server: ServalProcess | undefined;
  before(async () => {
    if (missing !== '') return;
    folders.add(folders.models, 'simple', simpleModel());
    server = await startServer([folders.models, '--allow-client-shm=true']);
  });
  after(async () => {
    await server?.stop();
    folders.remove();
  });

  for (const suite of ['shared_memory.test_http', 'shared_memory.test_grpc']) {
    it(suite, async (context) => {
      if (server === undefined) {
        context.skip(missing);
        return;
      }
      await runPythonSuite(context, python, suite, server);
      assert.ok(server.running, server.stderr);
    });
  }
});
